// intruder.click: looks for attacks in messages whose fragments come in any order
//
// README.md says what it does. Adapt it with NAME=VALUE behind the file's name:
//   PORT                 of UDP, to which the fragments go
//   MESSAGES, TIMEOUT    those of Reassembler, in elements/Reassembler.c
//   OWN                  one more signature

define($PORT 7000, $MESSAGES 4096, $TIMEOUT 10s, $OWN "netvm-intruder-test-signature");

FromDevice(in)
    -> class :: Classifier(12/0800, -)
    -> check :: CheckIPHeader(14)
    -> fragments :: Reassembler($PORT, MESSAGES $MESSAGES, TIMEOUT $TIMEOUT);
out :: Queue -> ToDevice(out);
fragments[0] -> out;
class[1] -> out;
check[1] -> out;

// Whole messages; those with attacks are written to another device, in frames of the experimental type.
fragments[1] -> search :: SignatureSearch(OWN $OWN);
search[0] -> alert :: LastAlert -> EtherEncap(0x88b5, 02:00:00:00:00:01, 02:00:00:00:00:02) -> Queue -> ToDevice(alerts);
search[1] -> Discard;
