// Rules for IP packets, from one Ethernet to another.
FromDevice(in0) -> ip :: Classifier(12/0800, -) -> Strip(14) -> CheckIPHeader -> IPFilter($RULES)
    -> EtherEncap(0x0800, 02:00:00:08:00:00, 02:00:00:09:00:00) -> Queue(1024) -> ToDevice(out0);
ip[1] -> Discard;
