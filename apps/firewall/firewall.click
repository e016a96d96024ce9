// firewall.click: a firewall that remembers connections, between two Ethernets
//
// README.md has its picture and says what it does. Adapt it with NAME=VALUE behind the file's name:
//   FROM_INSIDE, FROM_OUTSIDE   who may begin a connection: the arguments of an IPFilter, the first one that fits decides, others are dropped
//   TIMEOUT, TCP_TIMEOUT, CONNECTIONS   of connections, as in elements/Connections.c
//   CAPACITY                    packets that wait for a port at most

define($FROM_INSIDE allow all,
       $FROM_OUTSIDE allow icmp type echo || tcp dst port 22 || tcp dst port 443 || udp dst port 443,
       $TIMEOUT 300s, $TCP_TIMEOUT 7440s, $CONNECTIONS 262144, $CAPACITY 1000);

// A side. Input: frames that leave there. Outputs: IP packets; ARP.
elementclass Side { $device |
    FromDevice($device) -> class :: Classifier(12/0800, 12/0806, -);
    class[0] -> check :: CheckIPHeader(14, BADSRC 255.255.255.255) -> [0] output;
    class[1] -> [1] output;
    class[2] -> Discard;
    input -> Queue($CAPACITY) -> ToDevice($device);
}

inside :: Side(inside);
outside :: Side(outside);
known :: Connections(TIMEOUT $TIMEOUT, TCP_TIMEOUT $TCP_TIMEOUT, CAPACITY $CONNECTIONS);

inside[0] -> [0] known [0] -> outside;
outside[0] -> [1] known [1] -> inside;
known[2] -> from_inside :: IPFilter($FROM_INSIDE) -> [2] known;
known[3] -> from_outside :: IPFilter($FROM_OUTSIDE) -> [3] known;

// Hosts find each other as if the firewall were not there.
inside[1] -> outside;
outside[1] -> inside;
