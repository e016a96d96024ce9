/*
 * IP6Print([LABEL, keywords CONTENTS, NBYTES]) -- prints IPv6 packets for people
 *
 * A line a packet, the header of which must be marked; packets leave unchanged.
 *
 *   CONTENTS  true: the packet's bytes from its head on, 24 a line; false by default
 *   NBYTES    how many of them at most, 1,500
 *
 * See also: IPPrint, Print.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IP6Print, "1/1", "a/a");
PARAM(string, label, "LABEL", OPTIONAL(""));
PARAM(bool, contents, "CONTENTS", KEYWORD(false));
PARAM(u32, nbytes, "NBYTES", KEYWORD(1500));

enum { A_LINE = 24 };

static void print_header(void)
{
    const struct ip6 *ip6 = header(struct ip6, network_offset());

    if (!text_is(label, "")) {
        print_text(label);
        print(": ");
    }
    print_ip6(ip6->src);
    print(" -> ");
    print_ip6(ip6->dst);
    print(" plen ");
    print_uint(ntohs(ip6->length));
    print(", next ");
    print_uint(ip6->next_header);
    print(", hlim ");
    print_uint(ip6->hop_limit);
    print("\n");
}

static void print_contents(void)
{
    u32 length = packet_length() < nbytes ? packet_length() : nbytes;

    for (u32 i = 0; i < length; i += A_LINE) {
        print("  ");
        print_bytes(i, length - i < A_LINE ? length - i : A_LINE);
        print("\n");
    }
}

void packet(int port)
{
    print_header();
    if (contents)
        print_contents();
    emit(0);
}
