//! Link types: what the first byte of a packet belongs to.
//!
//! A [`LinkType`] is the number that capture files carry (LINKTYPE_ in the registry), made
//! canonical: raw IP is 101 whichever of the platform numbers 12, 14 or 101 a file has. Names are
//! those that libpcap prints.
//!
//! Source: the registry at <https://www.tcpdump.org/linktypes.html>; names as of libpcap 1.10.3.
//! Leaves out: DLT_ numbers of other platforms that mean something else there (15 and 16 of
//! BSD/OS).

use std::fmt;

/// The kind of header that packets begin with; compare with the constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(u32);

impl LinkType {
    /// BSD loopback: a 4-byte address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const EN10MB: Self = Self(1);
    /// PPP, with or without HDLC-like address and control bytes.
    pub const PPP: Self = Self(9);
    /// PPP in HDLC-like framing.
    pub const PPP_SERIAL: Self = Self(50);
    /// Raw IPv4 or IPv6.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: a 4-byte address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// The link type for the number that a capture file carries; platform numbers of raw IP (12,
    /// 14) and of LLC over ATM (11) become the registered ones.
    #[inline]
    pub fn from_file(number: u32) -> Self {
        match number {
            11 => Self(100),
            12 | 14 => Self::RAW,
            _ => Self(number),
        }
    }

    /// The number to write into a capture file.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    /// The name libpcap prints and accepts, such as `EN10MB`; `None` where libpcap 1.10.3 has none.
    pub fn name(self) -> Option<&'static str> {
        let at = NAMES.binary_search_by_key(&self.0, |&(number, _)| u32::from(number)).ok()?;
        NAMES.get(at).map(|&(_, name)| name)
    }

    /// The link type with this name, in any case, with or without `DLT_` before it.
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = match name.split_at_checked(4) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("DLT_") => rest,
            _ => name,
        };
        let found = NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(bare));
        found.map(|&(number, _)| Self(u32::from(number)))
    }

    /// The longest packet, in bytes, that a capture of this type may hold; beyond it a length is
    /// damage.
    ///
    /// libpcap's limits: 256 KiB but for D-Bus (128 MiB), Elektrobit (8 MiB) and USBPcap (1 MiB).
    pub fn max_packet(self) -> u32 {
        match self.name() {
            Some("DBUS") => 128 << 20,
            Some("EBHSCR") => 8 << 20,
            Some("USBPCAP") => 1 << 20,
            _ => 256 << 10,
        }
    }
}

/// The name, or `link type N`.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

impl fmt::Debug for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Numbers and names, ascending by number.
#[rustfmt::skip]
const NAMES: &[(u16, &str)] = &[
    (0, "NULL"), (1, "EN10MB"), (6, "IEEE802"), (7, "ARCNET"), (8, "SLIP"), (9, "PPP"), (10, "FDDI"),
    (19, "ATM_CLIP"), (50, "PPP_SERIAL"), (51, "PPP_ETHER"), (99, "SYMANTEC_FIREWALL"), (100, "ATM_RFC1483"),
    (101, "RAW"), (102, "SLIP_BSDOS"), (103, "PPP_BSDOS"), (104, "C_HDLC"), (105, "IEEE802_11"), (107, "FRELAY"),
    (108, "LOOP"), (109, "ENC"), (113, "LINUX_SLL"), (114, "LTALK"), (117, "PFLOG"), (119, "PRISM_HEADER"),
    (122, "IP_OVER_FC"), (123, "SUNATM"), (127, "IEEE802_11_RADIO"), (129, "ARCNET_LINUX"), (130, "JUNIPER_MLPPP"),
    (131, "JUNIPER_MLFR"), (132, "JUNIPER_ES"), (133, "JUNIPER_GGSN"), (134, "JUNIPER_MFR"), (135, "JUNIPER_ATM2"),
    (136, "JUNIPER_SERVICES"), (137, "JUNIPER_ATM1"), (138, "APPLE_IP_OVER_IEEE1394"), (139, "MTP2_WITH_PHDR"),
    (140, "MTP2"), (141, "MTP3"), (142, "SCCP"), (143, "DOCSIS"), (144, "LINUX_IRDA"), (163, "IEEE802_11_RADIO_AVS"),
    (164, "JUNIPER_MONITOR"), (165, "BACNET_MS_TP"), (166, "PPP_PPPD"), (167, "JUNIPER_PPPOE"),
    (168, "JUNIPER_PPPOE_ATM"), (169, "GPRS_LLC"), (170, "GPF_T"), (171, "GPF_F"), (174, "JUNIPER_PIC_PEER"),
    (175, "ERF_ETH"), (176, "ERF_POS"), (177, "LINUX_LAPD"), (178, "JUNIPER_ETHER"), (179, "JUNIPER_PPP"),
    (180, "JUNIPER_FRELAY"), (181, "JUNIPER_CHDLC"), (182, "MFR"), (183, "JUNIPER_VP"), (184, "A429"),
    (185, "A653_ICM"), (186, "USB_FREEBSD"), (187, "BLUETOOTH_HCI_H4"), (188, "IEEE802_16_MAC_CPS"),
    (189, "USB_LINUX"), (190, "CAN20B"), (191, "IEEE802_15_4_LINUX"), (192, "PPI"), (193, "IEEE802_16_MAC_CPS_RADIO"),
    (194, "JUNIPER_ISM"), (195, "IEEE802_15_4"), (196, "SITA"), (197, "ERF"), (198, "RAIF1"), (199, "IPMB_KONTRON"),
    (200, "JUNIPER_ST"), (201, "BLUETOOTH_HCI_H4_WITH_PHDR"), (202, "AX25_KISS"), (209, "IPMB_LINUX"),
    (215, "IEEE802_15_4_NONASK_PHY"), (216, "LINUX_EVDEV"), (219, "MPLS"), (220, "USB_LINUX_MMAPPED"), (221, "DECT"),
    (222, "AOS"), (223, "WIHART"), (224, "FC_2"), (225, "FC_2_WITH_FRAME_DELIMS"), (226, "IPNET"),
    (227, "CAN_SOCKETCAN"), (228, "IPV4"), (229, "IPV6"), (230, "IEEE802_15_4_NOFCS"), (231, "DBUS"),
    (232, "JUNIPER_VS"), (233, "JUNIPER_SRX_E2E"), (234, "JUNIPER_FIBRECHANNEL"), (235, "DVB_CI"), (236, "MUX27010"),
    (237, "STANAG_5066_D_PDU"), (238, "JUNIPER_ATM_CEMIC"), (239, "NFLOG"), (240, "NETANALYZER"),
    (241, "NETANALYZER_TRANSPARENT"), (242, "IPOIB"), (243, "MPEG_2_TS"), (244, "NG40"), (245, "NFC_LLCP"),
    (246, "PFSYNC"), (247, "INFINIBAND"), (248, "SCTP"), (249, "USBPCAP"), (250, "RTAC_SERIAL"),
    (251, "BLUETOOTH_LE_LL"), (253, "NETLINK"), (254, "BLUETOOTH_LINUX_MONITOR"), (255, "BLUETOOTH_BREDR_BB"),
    (256, "BLUETOOTH_LE_LL_WITH_PHDR"), (257, "PROFIBUS_DL"), (258, "PKTAP"), (259, "EPON"), (260, "IPMI_HPM_2"),
    (261, "ZWAVE_R1_R2"), (262, "ZWAVE_R3"), (263, "WATTSTOPPER_DLM"), (264, "ISO_14443"), (265, "RDS"),
    (266, "USB_DARWIN"), (267, "OPENFLOW"), (268, "SDLC"), (269, "TI_LLN_SNIFFER"), (271, "VSOCK"),
    (272, "NORDIC_BLE"), (273, "DOCSIS31_XRA31"), (274, "ETHERNET_MPACKET"), (275, "DISPLAYPORT_AUX"),
    (276, "LINUX_SLL2"), (278, "OPENVIZSLA"), (279, "EBHSCR"), (280, "VPP_DISPATCH"), (281, "DSA_TAG_BRCM"),
    (282, "DSA_TAG_BRCM_PREPEND"), (283, "IEEE802_15_4_TAP"), (284, "DSA_TAG_DSA"), (285, "DSA_TAG_EDSA"),
    (286, "ELEE"), (287, "Z_WAVE_SERIAL"), (288, "USB_2_0"), (289, "ATSC_ALP"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for &(number, name) in NAMES {
            let link = LinkType::from_file(u32::from(number));
            assert_eq!((link.number(), link.name()), (u32::from(number), Some(name)));
            assert_eq!(LinkType::from_name(name), Some(link));
        }
    }

    #[test]
    fn raw_ip_has_one_canonical_number() {
        for number in [12, 14, 101] {
            assert_eq!(LinkType::from_file(number), LinkType::RAW);
        }
        assert_eq!(LinkType::RAW.number(), 101);
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        assert_eq!(LinkType::from_name("dlt_en10mb"), Some(LinkType::EN10MB));
        assert_eq!(LinkType::from_name("linux_sll2"), Some(LinkType::LINUX_SLL2));
        assert_eq!(LinkType::from_name("DLT_"), None);
        assert_eq!(LinkType::from_name("é"), None);
        assert_eq!(LinkType::from_file(65_000).to_string(), "link type 65000");
    }
}
