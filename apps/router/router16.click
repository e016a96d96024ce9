// router16.click: an IPv4 router with sixteen ports, eth0 to eth15
//
// README.md has its picture and says what it does. Adapt it with NAME=VALUE behind the file's name:
//   NETn, MACn, MTUn   a port's address with its network, its Ethernet address, and the longest IP packet that leaves there
//   ROUTES             more routes, usually "FILE routes.txt": ADDR/LEN GATEWAY OUTPUT a line (output 1 is eth0), what `ip route` prints, CSV or MRT
//   CAPACITY           packets that wait for a port at most
//   ERRORS             ICMP errors a second at most

define($ROUTES "0.0.0.0/0 17", $CAPACITY 1000, $ERRORS 1000,
       $NET0 10.0.0.1/24, $MAC0 02:00:00:00:00:00, $MTU0 1500,
       $NET1 10.0.1.1/24, $MAC1 02:00:00:00:00:01, $MTU1 1500,
       $NET2 10.0.2.1/24, $MAC2 02:00:00:00:00:02, $MTU2 1500,
       $NET3 10.0.3.1/24, $MAC3 02:00:00:00:00:03, $MTU3 1500,
       $NET4 10.0.4.1/24, $MAC4 02:00:00:00:00:04, $MTU4 1500,
       $NET5 10.0.5.1/24, $MAC5 02:00:00:00:00:05, $MTU5 1500,
       $NET6 10.0.6.1/24, $MAC6 02:00:00:00:00:06, $MTU6 1500,
       $NET7 10.0.7.1/24, $MAC7 02:00:00:00:00:07, $MTU7 1500,
       $NET8 10.0.8.1/24, $MAC8 02:00:00:00:00:08, $MTU8 1500,
       $NET9 10.0.9.1/24, $MAC9 02:00:00:00:00:09, $MTU9 1500,
       $NET10 10.0.10.1/24, $MAC10 02:00:00:00:00:0a, $MTU10 1500,
       $NET11 10.0.11.1/24, $MAC11 02:00:00:00:00:0b, $MTU11 1500,
       $NET12 10.0.12.1/24, $MAC12 02:00:00:00:00:0c, $MTU12 1500,
       $NET13 10.0.13.1/24, $MAC13 02:00:00:00:00:0d, $MTU13 1500,
       $NET14 10.0.14.1/24, $MAC14 02:00:00:00:00:0e, $MTU14 1500,
       $NET15 10.0.15.1/24, $MAC15 02:00:00:00:00:0f, $MTU15 1500);

AddressInfo(eth0 $NET0 $MAC0, eth1 $NET1 $MAC1, eth2 $NET2 $MAC2, eth3 $NET3 $MAC3, eth4 $NET4 $MAC4, eth5 $NET5 $MAC5, eth6 $NET6 $MAC6, eth7 $NET7 $MAC7, eth8 $NET8 $MAC8, eth9 $NET9 $MAC9, eth10 $NET10 $MAC10, eth11 $NET11 $MAC11, eth12 $NET12 $MAC12, eth13 $NET13 $MAC13, eth14 $NET14 $MAC14, eth15 $NET15 $MAC15);

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
eth4 :: Port(eth4, 5, $NET4, $MTU4);
eth5 :: Port(eth5, 6, $NET5, $MTU5);
eth6 :: Port(eth6, 7, $NET6, $MTU6);
eth7 :: Port(eth7, 8, $NET7, $MTU7);
eth8 :: Port(eth8, 9, $NET8, $MTU8);
eth9 :: Port(eth9, 10, $NET9, $MTU9);
eth10 :: Port(eth10, 11, $NET10, $MTU10);
eth11 :: Port(eth11, 12, $NET11, $MTU11);
eth12 :: Port(eth12, 13, $NET12, $MTU12);
eth13 :: Port(eth13, 14, $NET13, $MTU13);
eth14 :: Port(eth14, 15, $NET14, $MTU14);
eth15 :: Port(eth15, 16, $NET15, $MTU15);

// Where packets go: 0 is this router, 1 to 16 its ports; 17 is known to lead nowhere, and 18 must not be forwarded (RFC 1812, 5.3.7).
routes :: RadixIPLookup(
    0.0.0.0/0 17,
    0.0.0.0/8 18, 127.0.0.0/8 18, 224.0.0.0/3 18, 255.255.255.255/32 0,
    eth0:ip/32 0, eth0:bcast/32 0, eth0:ipnet 1,
    eth1:ip/32 0, eth1:bcast/32 0, eth1:ipnet 2,
    eth2:ip/32 0, eth2:bcast/32 0, eth2:ipnet 3,
    eth3:ip/32 0, eth3:bcast/32 0, eth3:ipnet 4,
    eth4:ip/32 0, eth4:bcast/32 0, eth4:ipnet 5,
    eth5:ip/32 0, eth5:bcast/32 0, eth5:ipnet 6,
    eth6:ip/32 0, eth6:bcast/32 0, eth6:ipnet 7,
    eth7:ip/32 0, eth7:bcast/32 0, eth7:ipnet 8,
    eth8:ip/32 0, eth8:bcast/32 0, eth8:ipnet 9,
    eth9:ip/32 0, eth9:bcast/32 0, eth9:ipnet 10,
    eth10:ip/32 0, eth10:bcast/32 0, eth10:ipnet 11,
    eth11:ip/32 0, eth11:bcast/32 0, eth11:ipnet 12,
    eth12:ip/32 0, eth12:bcast/32 0, eth12:ipnet 13,
    eth13:ip/32 0, eth13:bcast/32 0, eth13:ipnet 14,
    eth14:ip/32 0, eth14:bcast/32 0, eth14:ipnet 15,
    eth15:ip/32 0, eth15:bcast/32 0, eth15:ipnet 16,
    $ROUTES);

// What comes in.
check :: CheckIPHeader(INTERFACES $NET0 $NET1 $NET2 $NET3 $NET4 $NET5 $NET6 $NET7 $NET8 $NET9 $NET10 $NET11 $NET12 $NET13 $NET14 $NET15);
martians :: IPFilter(deny src net 127.0.0.0/8 || src net 0.0.0.0/8 || src net 224.0.0.0/3, allow all);
check -> martians -> routes;
eth0[0] -> check; routes[1] -> eth0;
eth1[0] -> check; routes[2] -> eth1;
eth2[0] -> check; routes[3] -> eth2;
eth3[0] -> check; routes[4] -> eth3;
eth4[0] -> check; routes[5] -> eth4;
eth5[0] -> check; routes[6] -> eth5;
eth6[0] -> check; routes[7] -> eth6;
eth7[0] -> check; routes[8] -> eth7;
eth8[0] -> check; routes[9] -> eth8;
eth9[0] -> check; routes[10] -> eth9;
eth10[0] -> check; routes[11] -> eth10;
eth11[0] -> check; routes[12] -> eth11;
eth12[0] -> check; routes[13] -> eth12;
eth13[0] -> check; routes[14] -> eth13;
eth14[0] -> check; routes[15] -> eth14;
eth15[0] -> check; routes[16] -> eth15;

// ICMP errors, not too many of them (RFC 1812, 4.3.2.8).
errors :: RatedSplitter($ERRORS);
errors[0] -> routes;
errors[1] -> Discard;
eth0[1] -> errors;
eth1[1] -> errors;
eth2[1] -> errors;
eth3[1] -> errors;
eth4[1] -> errors;
eth5[1] -> errors;
eth6[1] -> errors;
eth7[1] -> errors;
eth8[1] -> errors;
eth9[1] -> errors;
eth10[1] -> errors;
eth11[1] -> errors;
eth12[1] -> errors;
eth13[1] -> errors;
eth14[1] -> errors;
eth15[1] -> errors;
routes[17] -> ICMPError(eth0:ip, unreachable, net) -> errors;
routes[18] -> Discard;

// Packets for this router: it answers to ping, and says that nobody listens.
routes[0] -> local :: IPClassifier(icmp type echo, udp, icmp, tcp, -);
local[0] -> ICMPPingResponder -> routes;
local[1] -> ICMPError(eth0:ip, unreachable, port, BADADDRS eth0:bcast eth1:bcast eth2:bcast eth3:bcast eth4:bcast eth5:bcast eth6:bcast eth7:bcast eth8:bcast eth9:bcast eth10:bcast eth11:bcast eth12:bcast eth13:bcast eth14:bcast eth15:bcast) -> errors;
local[2] -> Discard;
local[3] -> Discard;
local[4] -> ICMPError(eth0:ip, unreachable, protocol, BADADDRS eth0:bcast eth1:bcast eth2:bcast eth3:bcast eth4:bcast eth5:bcast eth6:bcast eth7:bcast eth8:bcast eth9:bcast eth10:bcast eth11:bcast eth12:bcast eth13:bcast eth14:bcast eth15:bcast) -> errors;
