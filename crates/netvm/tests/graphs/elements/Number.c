/*
 * Number() -- writes into the first four bytes of each packet how many came before it
 *
 * Handler reset: the next packet is the first one again.
 */
#include <netvm.h>

ELEMENT(Number, "1/1", "h/h");

static u32 number;

void packet(int port)
{
    *header(be32, 0) = htonl(number);
    number += 1;
    emit(0);
}

static void begin_again(void)
{
    number = 0;
}

WRITE_CALL(reset, none, begin_again);
