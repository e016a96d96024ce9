// classifier.click: what applications use a wire, and how much of it
//
// README.md says what it does. Adapt it with NAME=VALUE behind the file's name:
//   FLOWS, HEADS, TIMEOUT, OTHER   those of AppClassifier, in elements/AppClassifier.c

define($FLOWS 65536, $HEADS 8192, $TIMEOUT 300s, $OTHER "");

FromDevice(in)
    -> class :: Classifier(12/0800, -)
    -> check :: CheckIPHeader(14)
    -> ip :: IPClassifier(tcp, -)
    -> apps :: AppClassifier(CAPACITY $FLOWS, HEADS $HEADS, TIMEOUT $TIMEOUT, OTHER $OTHER)
    -> protocols :: ProtocolCount
    -> out :: Queue
    -> ToDevice(out);
class[1] -> out;
check[1] -> out;
ip[1] -> out;
