// count.click: what flows through a wire, by protocol, flow and port
//
// README.md says what it does. Adapt it with NAME=VALUE behind the file's name:
//   FLOWS     flows that are counted at most
//   SERVICE   packets that are counted by themselves: a pattern of IPClassifier

define($FLOWS 1048576, $SERVICE tcp dst port 80);

FromDevice(in)
    -> all :: Counter
    -> class :: Classifier(12/0800, 12/86dd, 12/0806, -);
class[0] -> ip :: Counter
    -> check :: CheckIPHeader(14)
    -> flows :: FlowCount($FLOWS)
    -> ports :: PortCount
    -> service :: IPClassifier($SERVICE, -);
service[0] -> matching :: Counter -> out :: Queue -> ToDevice(out);
service[1] -> out;
class[1] -> ip6 :: Counter -> out;
class[2] -> arp :: Counter -> out;
class[3] -> other :: Counter -> out;
check[1] -> bad :: Counter -> out;

// The report, at the end.
DriverManager(wait,
    print "packets   $(all.count), bytes $(all.byte_count)",
    print "IPv4      $(ip.count), of which damaged $(bad.count)",
    print "IPv6      $(ip6.count)",
    print "ARP       $(arp.count)",
    print "other     $(other.count)",
    print "matching  $(matching.count): $SERVICE",
    print "flows     $(flows.flows)",
    print "\nflows with most bytes: bytes, packets, protocol, source, destination\n$(flows.top)",
    print "ports with most bytes: port, packets, bytes\n$(ports.top)");
