// router6.click: an IPv6 router with four ports, eth0 to eth3
//
// README.md has its picture and says what it does. Adapt it with NAME=VALUE behind the file's name:
//   NETn, MACn        a port's address with its network, and its Ethernet address
//   HOPSn, ETHERSn    the neighbours there: IPv6 addresses, and their Ethernet addresses in the same order
//   ROUTES            more routes, usually "FILE routes.txt": ADDR/LEN GATEWAY OUTPUT a line (output 1 is eth0), what `ip -6 route` prints, CSV or MRT
//   MTU               the longest IPv6 packet
//   CAPACITY, ERRORS  packets that wait for a port at most; ICMPv6 errors a second at most

define($ROUTES ::0/0 5, $MTU 1500, $CAPACITY 1000, $ERRORS 1000,
       $NET0 2001:db8:0::1/64, $MAC0 02:00:00:00:00:00, $HOPS0 2001:db8:0::2, $ETHERS0 02:00:00:00:0a:02,
       $NET1 2001:db8:1::1/64, $MAC1 02:00:00:00:00:01, $HOPS1 2001:db8:1::2, $ETHERS1 02:00:00:00:0b:02,
       $NET2 2001:db8:2::1/64, $MAC2 02:00:00:00:00:02, $HOPS2 2001:db8:2::2, $ETHERS2 02:00:00:00:0c:02,
       $NET3 2001:db8:3::1/64, $MAC3 02:00:00:00:00:03, $HOPS3 2001:db8:3::2, $ETHERS3 02:00:00:00:0d:02);

AddressInfo(eth0 $NET0 $MAC0, eth1 $NET1 $MAC1, eth2 $NET2 $MAC2, eth3 $NET3 $MAC3);

// A port. Input: packets that leave there, with the next hop as destination annotation. Outputs: IPv6 packets that came in; errors about those that left.
elementclass Port { $device, $hops, $ethers |
    FromDevice($device)
        -> host :: HostEtherFilter($device:eth)
        -> class :: Classifier(12/86dd, -);
    class[0] -> Strip(14) -> [0] output;
    class[1] -> Discard;

    input -> DropBroadcasts
        -> hops :: DecIP6HLIM
        -> mtu :: CheckLength($MTU)
        -> EtherHop6($device:eth, $hops, $ethers)
        -> Queue($CAPACITY)
        -> ToDevice($device);
    hops[1] -> ICMP6Error($device:ip6, 3) -> [1] output;
    mtu[1] -> ICMP6Error($device:ip6, 2, MTU $MTU) -> [1] output;
}

eth0 :: Port(eth0, $HOPS0, $ETHERS0);
eth1 :: Port(eth1, $HOPS1, $ETHERS1);
eth2 :: Port(eth2, $HOPS2, $ETHERS2);
eth3 :: Port(eth3, $HOPS3, $ETHERS3);

// Where packets go: 0 is this router, 1 to 4 its ports; 5 is known to lead nowhere, and 6 must not be forwarded.
routes :: LookupIP6Route(
    ::0/0 5,
    ::0/128 6, ::1/128 6, fe80::0/10 6, ff00::0/8 6,
    eth0:ip6/128 0, eth0:ip6net 1,
    eth1:ip6/128 0, eth1:ip6net 2,
    eth2:ip6/128 0, eth2:ip6net 3,
    eth3:ip6/128 0, eth3:ip6net 4,
    $ROUTES);

// What comes in; nothing from addresses that mean something on a link only (RFC 4291, 2.5.6).
source :: Classifier(8/fe80%ffc0, -);
source[0] -> Discard;
source[1] -> check :: CheckIP6Header(::1 ::0) -> routes;
eth0[0] -> source; routes[1] -> eth0;
eth1[0] -> source; routes[2] -> eth1;
eth2[0] -> source; routes[3] -> eth2;
eth3[0] -> source; routes[4] -> eth3;

// ICMPv6 errors, not too many of them (RFC 4443, 2.4 f).
errors :: RatedSplitter($ERRORS);
errors[0] -> routes;
errors[1] -> Discard;
eth0[1] -> errors;
eth1[1] -> errors;
eth2[1] -> errors;
eth3[1] -> errors;
routes[5] -> ICMP6Error(eth0:ip6, 1) -> errors;
routes[6] -> Discard;
routes[0] -> local :: Discard;
