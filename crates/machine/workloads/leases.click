// UDHCP of the NetTM paper: see elements/Leases.c
FromDevice(in) -> Leases -> Discard;
