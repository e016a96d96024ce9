// The way of packets through a translator between two Ethernets, without ARP: what hand-written C does as well.
define($EXTERNAL 198.51.100.0/32, $CAPACITY 1048576);

nat :: Nat($EXTERNAL, CAPACITY $CAPACITY);

FromDevice(in0) -> HostEtherFilter(02:00:00:00:00:01, DROP_OTHER false) -> inside :: Classifier(12/0800, -)
    -> Strip(14) -> CheckIPHeader -> [0] nat;
FromDevice(in1) -> HostEtherFilter(02:00:00:00:00:01, DROP_OTHER false) -> outside :: Classifier(12/0800, -)
    -> Strip(14) -> CheckIPHeader -> [1] nat;
inside[1] -> Discard;
outside[1] -> Discard;

nat[1] -> DropBroadcasts -> DecIPTTL -> EtherEncap(0x0800, 02:00:00:08:00:00, 02:00:00:09:00:00) -> Queue(1024) -> ToDevice(out0);
nat[0] -> DropBroadcasts -> DecIPTTL -> EtherEncap(0x0800, 02:00:00:08:00:01, 02:00:00:09:00:01) -> Queue(1024) -> ToDevice(out1);
