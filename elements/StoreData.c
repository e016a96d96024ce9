/*
 * StoreData(OFFSET, DATA) -- puts bytes into packets
 *
 * The bytes of DATA replace those of the packet from OFFSET on, as far as the packet has them. DATA is a string, or bytes in hexadecimal: `\<00 0a>`.
 *
 * See also: StoreIPAddress.
 */
#include <netvm.h>

ELEMENT(StoreData, "1/1", "a/a");
PARAM(u32, start, "OFFSET", REQUIRED);
PARAM_LIST_AS(BYTES, u8, data, "DATA", REQUIRED);

static u32 least(u32 a, u32 b)
{
    return a < b ? a : b;
}

void packet(int port)
{
    if (packet_length() > start)
        packet_write(start, data, least(data_count, packet_length() - start));
    emit(0);
}
