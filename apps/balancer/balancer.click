// balancer.click: spreads the connections to one address over several servers
//
// README.md has its picture and says what it does. Adapt it with NAME=VALUE behind the file's name:
//   SERVICE, FRONT_MAC  the address that clients talk to, and this machine's Ethernet address on their side
//   BACK_MAC, SERVERS   its Ethernet address on the servers' side, and the servers' Ethernet addresses, separated by spaces
//   SIZE, TIMEOUT, CONNECTIONS   those of Maglev, in elements/Maglev.c
//   CAPACITY            frames that wait for the servers' side at most

define($SERVICE 192.0.2.80, $FRONT_MAC 02:00:00:00:00:01, $BACK_MAC 02:00:00:00:00:02,
       $SERVERS 02:00:00:00:0b:01 02:00:00:00:0b:02 02:00:00:00:0b:03 02:00:00:00:0b:04,
       $SIZE 65537, $TIMEOUT 300s, $CONNECTIONS 1048576, $CAPACITY 1000);

FromDevice(front)
    -> HostEtherFilter($FRONT_MAC)
    -> class :: Classifier(12/0800, 12/0806 20/0001, -);
front :: Queue($CAPACITY) -> ToDevice(front);
class[1] -> ARPResponder($SERVICE $FRONT_MAC) -> front;
class[2] -> Discard;

class[0] -> check :: CheckIPHeader(14, BADSRC 255.255.255.255)
    -> service :: IPClassifier(dst host $SERVICE && (tcp || udp || icmp), -)
    -> balancer :: Maglev($BACK_MAC, $SERVERS, SIZE $SIZE, TIMEOUT $TIMEOUT, CONNECTIONS $CONNECTIONS)
    -> Queue($CAPACITY)
    -> ToDevice(back);
service[1] -> Discard;
