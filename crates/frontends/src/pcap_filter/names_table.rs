//! Well-known names of services and IP protocols (IANA registries), for machines without
//! `/etc/services` and `/etc/protocols`.

/// Service name, port, and the IP protocol it is registered for (0: TCP and UDP).
#[rustfmt::skip]
pub(crate) const SERVICES: &[(&str, u16, u8)] = &[
    ("tcpmux", 1, 6), ("echo", 7, 0), ("discard", 9, 0), ("systat", 11, 6), ("daytime", 13, 0), ("netstat", 15, 6),
    ("qotd", 17, 6), ("chargen", 19, 0), ("ftp-data", 20, 6), ("ftp", 21, 6), ("ssh", 22, 6), ("telnet", 23, 6),
    ("mail", 25, 6), ("smtp", 25, 6), ("time", 37, 0), ("whois", 43, 6), ("tacacs", 49, 0), ("domain", 53, 0),
    ("bootps", 67, 17), ("bootpc", 68, 17), ("tftp", 69, 17), ("gopher", 70, 6), ("finger", 79, 6), ("http", 80, 6),
    ("www", 80, 6), ("kerberos", 88, 0), ("krb5", 88, 0), ("iso-tsap", 102, 6), ("pop-3", 110, 6), ("pop3", 110, 6),
    ("portmapper", 111, 0), ("sunrpc", 111, 0), ("auth", 113, 6), ("ident", 113, 6), ("nntp", 119, 6),
    ("ntp", 123, 17), ("epmap", 135, 6), ("loc-srv", 135, 6), ("netbios-ns", 137, 17), ("netbios-dgm", 138, 17),
    ("netbios-ssn", 139, 6), ("imap", 143, 6), ("imap2", 143, 6), ("snmp", 161, 0), ("snmp-trap", 162, 0),
    ("snmptrap", 162, 0), ("xdmcp", 177, 17), ("bgp", 179, 6), ("ptp-event", 319, 17), ("ptp-general", 320, 17),
    ("ldap", 389, 0), ("svrloc", 427, 0), ("https", 443, 0), ("microsoft-ds", 445, 6), ("kpasswd", 464, 0),
    ("smtps", 465, 6), ("submissions", 465, 6), ("isakmp", 500, 17), ("biff", 512, 17), ("exec", 512, 6),
    ("login", 513, 6), ("who", 513, 17), ("shell", 514, 6), ("syslog", 514, 0), ("printer", 515, 6),
    ("talk", 517, 17), ("ntalk", 518, 17), ("route", 520, 17), ("uucp", 540, 6), ("klogin", 543, 6),
    ("kshell", 544, 6), ("dhcpv6-client", 546, 17), ("dhcpv6-server", 547, 17), ("rtsp", 554, 0), ("nntps", 563, 6),
    ("submission", 587, 6), ("asf-rmcp", 623, 17), ("ipp", 631, 6), ("ldaps", 636, 0), ("ldp", 646, 0),
    ("tinc", 655, 0), ("kerberos-adm", 749, 6), ("netconf-ssh", 830, 6), ("domain-s", 853, 0), ("rsync", 873, 6),
    ("ftps-data", 989, 6), ("ftps", 990, 6), ("telnets", 992, 6), ("imaps", 993, 6), ("pop3s", 995, 6),
    ("socks", 1080, 6), ("rmiregistry", 1099, 6), ("openvpn", 1194, 0), ("ms-sql-s", 1433, 6), ("ms-sql-m", 1434, 17),
    ("l2f", 1701, 17), ("l2tp", 1701, 17), ("radius", 1812, 0), ("radacct", 1813, 0), ("radius-acct", 1813, 0),
    ("mqtt", 1883, 6), ("ssdp", 1900, 17), ("cisco-sccp", 2000, 6), ("nfs", 2049, 0), ("gtp-c", 2123, 17),
    ("gtp-u", 2152, 17), ("dict", 2628, 6), ("iscsi-target", 3260, 6), ("mysql", 3306, 6), ("ms-wbt-server", 3389, 6),
    ("stun", 3478, 0), ("distcc", 3632, 6), ("svn", 3690, 6), ("bfd-control", 3784, 17), ("diameter", 3868, 6),
    ("lisp-data", 4341, 17), ("ipsec-nat-t", 4500, 17), ("iax", 4569, 17), ("ipfix", 4739, 0), ("vxlan", 4789, 17),
    ("sip", 5060, 0), ("sip-tls", 5061, 0), ("xmpp-client", 5222, 6), ("xmpp-server", 5269, 6), ("mdns", 5353, 17),
    ("llmnr", 5355, 0), ("postgres", 5432, 6), ("postgresql", 5432, 6), ("amqps", 5671, 6), ("amqp", 5672, 6),
    ("coap", 5683, 0), ("x11", 6000, 6), ("geneve", 6081, 17), ("sflow", 6343, 17), ("gnutella-svc", 6346, 0),
    ("redis", 6379, 6), ("mysql-proxy", 6446, 6), ("syslog-tls", 6514, 6), ("ircd", 6667, 6), ("babel", 6696, 17),
    ("http-alt", 8080, 6), ("webcache", 8080, 6), ("secure-mqtt", 8883, 6), ("git", 9418, 6),
    ("zabbix-agent", 10050, 6), ("zabbix-trapper", 10051, 6),
];

/// Protocol name and number.
#[rustfmt::skip]
pub(crate) const PROTOCOLS: &[(&str, u8)] = &[
    ("ip", 0), ("hopopt", 0), ("icmp", 1), ("igmp", 2), ("ggp", 3), ("ipencap", 4), ("st", 5), ("tcp", 6), ("egp", 8),
    ("igp", 9), ("pup", 12), ("udp", 17), ("hmp", 20), ("xns-idp", 22), ("rdp", 27), ("iso-tp4", 29), ("dccp", 33),
    ("xtp", 36), ("ddp", 37), ("ipv6", 41), ("ipv6-route", 43), ("ipv6-frag", 44), ("idrp", 45), ("rsvp", 46),
    ("gre", 47), ("esp", 50), ("ah", 51), ("skip", 57), ("ipv6-icmp", 58), ("ipv6-nonxt", 59), ("ipv6-opts", 60),
    ("rspf", 73), ("vmtp", 81), ("eigrp", 88), ("ospf", 89), ("ax.25", 93), ("ipip", 94), ("etherip", 97),
    ("encap", 98), ("pim", 103), ("ipcomp", 108), ("vrrp", 112), ("l2tp", 115), ("isis", 124), ("sctp", 132),
    ("fc", 133), ("mobility-header", 135), ("udplite", 136), ("mpls-in-ip", 137), ("manet", 138), ("hip", 139),
    ("shim6", 140), ("wesp", 141), ("rohc", 142), ("ethernet", 143),
];
