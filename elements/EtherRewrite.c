/*
 * EtherRewrite(SRC, DST) -- gives frames other addresses
 *
 * The Ethernet header is at the packet's head; its type stays. Source and destination become SRC and DST.
 *
 * Handlers: src, dst (read), the addresses. In FastClick they can be written; that is left out.
 *
 * See also: StoreEtherAddress, EtherEncap, EtherMirror. Source: the manual of FastClick's element.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherRewrite, "1/1", "a/a");
PARAM(mac_t, source, "SRC", REQUIRED);
PARAM(mac_t, destination, "DST", REQUIRED);

void packet(int port)
{
    struct ether *ether = header(struct ether, 0);

    ether->dst = destination;
    ether->src = source;
    emit(0);
}

static void print_source(void)
{
    print_mac(source);
}

static void print_destination(void)
{
    print_mac(destination);
}

READ_CALL(src, text, print_source);
READ_CALL(dst, text, print_destination);
