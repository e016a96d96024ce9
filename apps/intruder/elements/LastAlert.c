/*
 * LastAlert -- keeps which message had an attack last
 *
 * For messages from output 0 of SignatureSearch; they leave unchanged.
 *
 * Handlers: last (read): flow and number of that message.
 *
 * It is an element of its own, as few messages have an attack: SignatureSearch then keeps nothing but sums, and runs on all threads at once. See also: SignatureSearch.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(LastAlert, "1/1", "a/a");

struct key { be32 flow; be16 message; };

static struct key last;

void packet(int port)
{
    last = *header(struct key, 0);
    emit(0);
}

static void print_last(void)
{
    print_uint(ntohl(last.flow));
    print(" ");
    print_uint(ntohs(last.message));
}

READ_CALL(last, text, print_last);
