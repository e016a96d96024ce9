// forward.click: translation of TCP and UDP between two Ethernets, and nothing else
//
// What a packet meets on its way through nat.click if nothing is wrong with it: no ARP, no ICMP, no fragments, no hairpinning, no packets for this
// machine. Packets that need more are dropped and counted. This is what to measure a table or an engine with; README.md says how to run it.
//
// All that does not depend on the mapping stands before its lookup.

define($INSIDE inside, $OUTSIDE outside,            // devices that packets come from
       $TO_INSIDE inside, $TO_OUTSIDE outside,      // and go to
       $MAC 02:00:00:00:00:01,                      // this machine's address on the former
       $EXTERNAL 198.51.100.0/32, $TIMEOUT 300s, $CAPACITY 1048576, $QUEUE 1024);

// IP packets for this machine, ready to be sent on.
elementclass Arriving { $device |
    FromDevice($device)
        -> HostEtherFilter($MAC, DROP_OTHER true)
        -> ip :: Classifier(12/0800, -)
        -> Strip(14)
        -> CheckIPHeader(BADSRC 255.255.255.255)
        -> DropBroadcasts
        -> DecIPTTL
        -> output;
    ip[1] -> Discard;
}

nat :: Napt($EXTERNAL, TIMEOUT $TIMEOUT, CAPACITY $CAPACITY);

Arriving($INSIDE) -> [0] nat;
Arriving($OUTSIDE) -> [1] nat;
nat[0] -> EtherEncap(0x0800, 02:00:00:08:00:01, 02:00:00:09:00:01) -> Queue($QUEUE) -> ToDevice($TO_OUTSIDE);
nat[1] -> EtherEncap(0x0800, 02:00:00:08:00:00, 02:00:00:09:00:00) -> Queue($QUEUE) -> ToDevice($TO_INSIDE);
