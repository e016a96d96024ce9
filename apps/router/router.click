// router.click: an IPv4 router with four ports, eth0 to eth3
//
// README.md has its picture and says what it does. Adapt it with NAME=VALUE behind the file's name:
//   NETn, MACn, MTUn   a port's address with its network, its Ethernet address, and the longest IP packet that leaves there
//   ROUTES             more routes, usually "FILE routes.txt": ADDR/LEN GATEWAY OUTPUT a line (output 1 is eth0), what `ip route` prints, CSV or MRT
//   CAPACITY           packets that wait for a port at most
//   ERRORS             ICMP errors a second at most

define($ROUTES "0.0.0.0/0 5", $CAPACITY 1000, $ERRORS 1000,
       $NET0 10.0.0.1/24, $MAC0 02:00:00:00:00:00, $MTU0 1500,
       $NET1 10.0.1.1/24, $MAC1 02:00:00:00:00:01, $MTU1 1500,
       $NET2 10.0.2.1/24, $MAC2 02:00:00:00:00:02, $MTU2 1500,
       $NET3 10.0.3.1/24, $MAC3 02:00:00:00:00:03, $MTU3 1500);

AddressInfo(eth0 $NET0 $MAC0, eth1 $NET1 $MAC1, eth2 $NET2 $MAC2, eth3 $NET3 $MAC3);

// A port. Input: packets that leave there, with the next hop as destination annotation. Outputs: IP packets that came in; errors about those that left.
elementclass Port { $device, $color, $net, $mtu |
    FromDevice($device)
        -> host :: HostEtherFilter($device:eth)
        -> class :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
    out :: Queue($CAPACITY) -> ToDevice($device);

    class[0] -> ARPResponder($device:ip $device:eth) -> out;
    class[1] -> [1] arp :: ARPQuerier($net, $device:eth) -> out;
    class[2] -> Paint($color) -> Strip(14) -> [0] output;
    class[3] -> Discard;

    input -> DropBroadcasts
        -> redirect :: PaintTee($color)
        -> options :: IPGWOptions($device:ip)
        -> FixIPSrc($device:ip)
        -> ttl :: DecIPTTL
        -> mtu :: IPFragmenter($mtu)
        -> [0] arp;
    redirect[1] -> redirects :: ICMPError($device:ip, redirect, host) -> [1] output;
    options[1] -> ICMPError($device:ip, parameterproblem) -> [1] output;
    ttl[1] -> ICMPError($device:ip, timeexceeded) -> [1] output;
    mtu[1] -> ICMPError($device:ip, unreachable, needfrag, PMTU $mtu) -> [1] output;
}

eth0 :: Port(eth0, 1, $NET0, $MTU0);
eth1 :: Port(eth1, 2, $NET1, $MTU1);
eth2 :: Port(eth2, 3, $NET2, $MTU2);
eth3 :: Port(eth3, 4, $NET3, $MTU3);

// Where packets go: 0 is this router, 1 to 4 its ports; 5 is known to lead nowhere, and 6 must not be forwarded (RFC 1812, 5.3.7).
routes :: RadixIPLookup(
    0.0.0.0/0 5,
    0.0.0.0/8 6, 127.0.0.0/8 6, 224.0.0.0/3 6, 255.255.255.255/32 0,
    eth0:ip/32 0, eth0:bcast/32 0, eth0:ipnet 1,
    eth1:ip/32 0, eth1:bcast/32 0, eth1:ipnet 2,
    eth2:ip/32 0, eth2:bcast/32 0, eth2:ipnet 3,
    eth3:ip/32 0, eth3:bcast/32 0, eth3:ipnet 4,
    $ROUTES);

// What comes in.
check :: CheckIPHeader(INTERFACES $NET0 $NET1 $NET2 $NET3);
martians :: IPFilter(deny src net 127.0.0.0/8 || src net 0.0.0.0/8 || src net 224.0.0.0/3, allow all);
check -> martians -> routes;
eth0[0] -> check; routes[1] -> eth0;
eth1[0] -> check; routes[2] -> eth1;
eth2[0] -> check; routes[3] -> eth2;
eth3[0] -> check; routes[4] -> eth3;

// ICMP errors, not too many of them (RFC 1812, 4.3.2.8).
errors :: RatedSplitter($ERRORS);
errors[0] -> routes;
errors[1] -> Discard;
eth0[1] -> errors;
eth1[1] -> errors;
eth2[1] -> errors;
eth3[1] -> errors;
routes[5] -> ICMPError(eth0:ip, unreachable, net) -> errors;
routes[6] -> Discard;

// Packets for this router: it answers to ping, and says that nobody listens.
routes[0] -> local :: IPClassifier(icmp type echo, udp, icmp, tcp, -);
local[0] -> ICMPPingResponder -> routes;
local[1] -> ICMPError(eth0:ip, unreachable, port, BADADDRS eth0:bcast eth1:bcast eth2:bcast eth3:bcast) -> errors;
local[2] -> Discard;
local[3] -> Discard;
local[4] -> ICMPError(eth0:ip, unreachable, protocol, BADADDRS eth0:bcast eth1:bcast eth2:bcast eth3:bcast) -> errors;
