/*
 * StoreData(OFFSET, DATA [, MASK]) -- puts bytes into packets
 *
 * The bytes of DATA replace those of the packet from OFFSET on, as far as the packet has them. DATA is a string, or bytes in hexadecimal: `\<00 0a>`.
 *
 * With MASK, as long as DATA, only the bits that are 1 in it are changed.
 *
 * See also: StoreIPAddress.
 */
#include <netvm.h>

ELEMENT(StoreData, "1/1", "a/a");
PARAM(u32, start, "OFFSET", REQUIRED);
PARAM_LIST_AS(BYTES, u8, data, "DATA", REQUIRED);
PARAM_LIST_AS(BYTES, u8, mask, "MASK", OPTIONAL(0));
REQUIRE(mask_count == 0 || mask_count == data_count, "MASK is not as long as DATA");

static u32 least(u32 a, u32 b)
{
    return a < b ? a : b;
}

static void store_masked(u32 length)
{
    for (u32 i = 0; i < length; i++) {
        u8 *byte = header(u8, start + i);

        *byte = (u8) ((*byte & ~mask[i]) | (data[i] & mask[i]));
    }
}

void packet(int port)
{
    if (packet_length() > start && mask_count > 0)
        store_masked(least(data_count, packet_length() - start));
    else if (packet_length() > start)
        packet_write(start, data, least(data_count, packet_length() - start));
    emit(0);
}
