// count.click: apps/count without its report, which compiled C alone does not have
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
