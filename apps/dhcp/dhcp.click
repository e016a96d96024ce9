// dhcp.click: a DHCP server for the hosts of one Ethernet, and behind relays
//
// README.md says what it does. Adapt it with NAME=VALUE behind the file's name:
//   NET, MAC           the server's address with its network, and its Ethernet address
//   FIRST, LAST        the addresses that are leased
//   ROUTERS, DNS, DOMAIN   what clients are told, addresses separated by spaces
//   MACS, HOSTS        reservations: Ethernet addresses, and the address of each
//   LEASE, PING, OFFER, DECLINED   times, those of DhcpServer in elements/DhcpServer.c
//   GATEWAY            the router to relays on other networks

define($NET 10.0.0.1/16, $MAC 02:00:00:00:00:01,
       $FIRST 10.0.1.0, $LAST 10.0.200.255,
       $ROUTERS 10.0.0.1, $DNS 10.0.0.1, $DOMAIN example.net, $MACS "", $HOSTS "",
       $LEASE 1h, $PING 500ms, $OFFER 60s, $DECLINED 600s,
       $GATEWAY 10.0.0.1, $QUEUE 1000);

AddressInfo(lan $NET $MAC);

FromDevice(lan)
    -> HostEtherFilter($MAC)
    -> class :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
out :: Queue($QUEUE) -> ToDevice(lan);

class[0] -> ARPResponder(lan:ip lan:eth) -> out;
class[1] -> [1] arp :: ARPQuerier($NET, lan:eth) -> out;
class[3] -> Discard;

hops :: StaticIPLookup(lan:ipnet 0, 0.0.0.0/0 $GATEWAY 0) -> arp;

// Clients without an address send from 0.0.0.0.
class[2] -> Strip(14)
    -> CheckIPHeader(BADSRC 255.255.255.255)
    -> kind :: IPClassifier(udp dst port 67, dst host lan:ip && icmp type echo-reply, dst host lan:ip && icmp type echo, -);
kind[0] -> CheckUDPHeader -> [0] server :: DhcpServer($NET, lan:eth, $FIRST, $LAST, LEASE $LEASE, PING $PING, OFFER $OFFER, DECLINED $DECLINED,
                                                      ROUTERS $ROUTERS, DNS $DNS, DOMAIN $DOMAIN, MACS $MACS, HOSTS $HOSTS);
kind[1] -> CheckICMPHeader -> [1] server;
kind[2] -> CheckICMPHeader -> ICMPPingResponder -> hops;
kind[3] -> Discard;

server[0] -> out;
server[1] -> hops;
