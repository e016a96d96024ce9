// nat.click: a NAT router, hosts of private addresses behind a few public ones
//
// README.md has its picture, what it does and which choices of RFC 4787, 5382 and 5508 it makes. Adapt it with NAME=VALUE behind the file's name:
//   EXTERNAL           the addresses that the inside gets outside: ADDR or ADDR/LEN, all of them; they are this machine's
//   INSIDE, INSIDE_MAC    this machine's address inside with its network, and its Ethernet address there
//   OUTSIDE, OUTSIDE_MAC  the same outside
//   GATEWAY            the next router outside
//   TIMEOUT, TCP_TIMEOUT, CAPACITY   those of Nat, in elements/Nat.c
//   FLOWS, HOSTS, LIMIT  flows and hosts inside that are counted at most, and the packets a second above which a host raises an alarm, those of FlowStats
//   MTU                the longest IP packet on both sides

define($EXTERNAL 192.0.2.16/28,
       $INSIDE 10.0.0.1/8, $INSIDE_MAC 02:00:00:00:00:01,
       $OUTSIDE 192.0.2.1/27, $OUTSIDE_MAC 02:00:00:00:00:02, $GATEWAY 192.0.2.2,
       $TIMEOUT 300s, $TCP_TIMEOUT 7440s, $CAPACITY 1048576,
       $FLOWS 65536, $HOSTS 16384, $LIMIT 0,
       $MTU 1500, $QUEUE 1000, $ERRORS 1000);

AddressInfo(inside $INSIDE $INSIDE_MAC, outside $OUTSIDE $OUTSIDE_MAC);

// A side. Input: packets that leave there. Outputs: IP packets that came in; ICMP errors.
elementclass Side { $device, $net, $answers |
    FromDevice($device)
        -> HostEtherFilter($device:eth)
        -> class :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
    out :: Queue($QUEUE) -> ToDevice($device);

    class[0] -> ARPResponder($answers $device:eth) -> out;
    class[1] -> [1] arp :: ARPQuerier($net, $device:eth) -> out;
    class[2] -> Strip(14) -> CheckIPHeader(INTERFACES $net) -> [0] output;
    class[3] -> Discard;

    input -> DropBroadcasts
        -> FixIPSrc($device:ip)
        -> ttl :: DecIPTTL
        -> mtu :: IPFragmenter($MTU)
        -> arp;
    ttl[1] -> ICMPError($device:ip, timeexceeded) -> [1] output;
    mtu[1] -> ICMPError($device:ip, unreachable, needfrag, PMTU $MTU) -> [1] output;
}

inside :: Side(inside, $INSIDE, inside:ip);
outside :: Side(outside, $OUTSIDE, outside:ip $EXTERNAL);
nat :: Nat($EXTERNAL, TIMEOUT $TIMEOUT, TCP_TIMEOUT $TCP_TIMEOUT, CAPACITY $CAPACITY);
stats :: FlowStats(FLOWS $FLOWS, HOSTS $HOSTS, LIMIT $LIMIT);
stats[0] -> [0] nat;
stats[1] -> inside;

// From inside: everybody else, this machine, other hosts inside.
inside -> from_inside :: IPClassifier(not dst net inside:ipnet, dst host inside:ip, -);
from_inside[0] -> [0] stats;
from_inside[1] -> here :: ICMPPingResponder;
from_inside[2] -> Discard;

// From outside: hosts inside; this machine, which has an address there as well.
outside -> from_outside :: IPClassifier(not dst host outside:ip, -);
from_outside[0] -> [1] nat;
from_outside[1] -> here;

// What is translated, by its new destination. From inside to an external address: as if it came from outside.
nat[0] -> to_outside :: StaticIPLookup(outside:ipnet 0, 0.0.0.0/0 $GATEWAY 0, $EXTERNAL 1) -> outside;
to_outside[1] -> [1] nat;
nat[1] -> [1] stats;

// Errors are translated as those of others are: about what was to leave inside as if they came from there, and likewise outside.
inside[1] -> inside_errors :: RatedSplitter($ERRORS) -> [0] nat;
outside[1] -> outside_errors :: RatedSplitter($ERRORS) -> [1] nat;
inside_errors[1] -> Discard;
outside_errors[1] -> Discard;

// Answers of this machine.
here -> back :: StaticIPLookup(inside:ipnet 0, outside:ipnet 1, 0.0.0.0/0 $GATEWAY 1);
back[0] -> inside;
back[1] -> outside;
