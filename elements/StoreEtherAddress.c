/*
 * StoreEtherAddress(ADDR, OFFSET) -- puts an Ethernet address into packets
 *
 * ADDR is stored at OFFSET, which may be the word dst, 0, or src, 6: the places in an Ethernet header at the packet's head. Packets that end before leave by output 1 if that is connected, and
 * are dropped otherwise.
 *
 * Example: `StoreEtherAddress(1:1:1:1:1:1, src)`
 *
 * Handlers: addr (read), ADDR. In Click the address may be one of an annotation; that is left out.
 *
 * See also: EtherRewrite, EtherEncap, StoreIPAddress.
 */
#include <netvm.h>

ELEMENT(StoreEtherAddress, "1/1-2", "a/ah");
PARAM(mac_t, addr, "ADDR", REQUIRED);
PARAM_AS(ETHER_PLACE, u32, offset, "OFFSET", REQUIRED);

enum { TOO_SHORT };

void packet(int port)
{
    if (packet_length() < sizeof(mac_t) || offset > packet_length() - sizeof(mac_t)) {
        if (NOUTPUTS > 1)
            emit(1);
        drop(TOO_SHORT);
    }
    *header(mac_t, offset) = addr;
    emit(0);
}

static void print_addr(void)
{
    print_mac(addr);
}

READ_CALL(addr, text, print_addr);
