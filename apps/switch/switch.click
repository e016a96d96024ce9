// switch.click: a learning Ethernet switch with four ports, eth0 to eth3
//
// README.md has its picture and says what it does. Adapt it with NAME=VALUE behind the file's name:
//   TIMEOUT    how long an address is known after its last frame
//   STATIONS   addresses that are known at most
//   CAPACITY   frames that wait for a port at most

define($TIMEOUT 300s, $STATIONS 8192, $CAPACITY 1000);

// Frames for the neighbour only, which bridges do not forward (IEEE 802.1D, 7.12.6), end here.
elementclass Port { $device |
    FromDevice($device) -> class :: Classifier(0/0180c200000?, -);
    class[0] -> Discard;
    class[1] -> output;
    input -> Queue($CAPACITY) -> ToDevice($device);
}

switch :: EtherSwitch(TIMEOUT $TIMEOUT, CAPACITY $STATIONS);
eth0 :: Port(eth0) -> [0] switch [0] -> eth0;
eth1 :: Port(eth1) -> [1] switch [1] -> eth1;
eth2 :: Port(eth2) -> [2] switch [2] -> eth2;
eth3 :: Port(eth3) -> [3] switch [3] -> eth3;
