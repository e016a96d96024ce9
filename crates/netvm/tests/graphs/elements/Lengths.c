/*
 * Lengths -- passes the first of every three packets of a length, and promises what it does not keep
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Lengths, "1/1", "a/a");
FLOW_STATE(ADDRESSES);

TABLE_EXACT(lengths, u32, u32, 65536, 0);

void packet(int port)
{
    u32 length = packet_length();
    u32 *count = table_insert(lengths, &length);

    if (count) {
        *count += 1;
        if (*count % 3 != 1)
            return;
    }
    emit(0);
}
