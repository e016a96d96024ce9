//! Packets by which a filter puts its terms in order.

use crate::frontends::pcap_filter;
use runtime::io::{Capture, LinkType, ReadError};

/// The first packets of a capture, apart by link type: [`crate::Filter::with_profile`] takes them
/// for an example of what the filter will see.
///
/// A profile never changes which packets are selected, only how soon that is found out.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    of: Vec<(LinkType, pcap_filter::Profile)>,
}

impl Profile {
    /// Reads packets until there are enough.
    ///
    /// ```
    /// use netvm::io::{Capture, LinkType};
    /// # let bytes = {
    /// #     let mut bytes: Vec<u8> = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65535, 1].map(u32::to_be_bytes).concat();
    /// #     bytes.extend([0, 0, 4, 4].map(u32::to_be_bytes).concat());
    /// #     bytes.extend([0; 4]);
    /// #     bytes
    /// # };
    /// let profile = netvm::Profile::of(&mut Capture::from_bytes(bytes)?)?;
    /// let mut filter = netvm::Filter::new("ip and less 100", &netvm::engines::AUTO)?.with_profile(profile);
    /// filter.prepare(LinkType::EN10MB)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The capture is damaged before there are enough.
    pub fn of(capture: &mut Capture) -> Result<Self, ReadError> {
        let mut profile = Self::default();
        let mut left = pcap_filter::Profile::PACKETS;
        while let Some(burst) = capture.next_burst(left)?.filter(|_| left > 0) {
            let link = burst.link_type();
            burst.packets().iter().enumerate().for_each(|(i, packet)| profile.add(link, packet, burst.wire_len(i)));
            left = left.saturating_sub(burst.len());
        }
        Ok(profile)
    }

    /// Adds a packet with its length on the wire; nothing once there are enough of its link type.
    pub fn add(&mut self, link: LinkType, packet: &[u8], wire_len: u32) {
        self.packets(link).add(packet, wire_len);
    }

    /// True if there are no packets, which then order nothing.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    fn packets(&mut self, link: LinkType) -> &mut pcap_filter::Profile {
        let known = self.of.iter().position(|(other, _)| *other == link);
        let at = known.unwrap_or_else(|| {
            self.of.push((link, pcap_filter::Profile::default()));
            self.of.len() - 1
        });
        &mut self.of[at].1
    }

    /// Those of a link type, if there are any.
    pub(crate) fn of_link(&self, link: LinkType) -> Option<&pcap_filter::Profile> {
        self.of.iter().find(|(other, _)| *other == link).map(|(_, packets)| packets)
    }
}
