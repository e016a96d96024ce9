/*
 * frame_check.h -- Click's checksum of whole packets, for SetCRC32 and CheckCRC32
 *
 * The polynomial of Ethernet, most significant bits first, beginning with ones, and not turned round at the end: not the frame check sequence of IEEE 802.3, which is crc32(). It stands behind
 * the packet, least significant byte first, as Click has it on most machines.
 */
#pragma once

enum { CHECK_BYTES = 4 };

static u32 frame_check(u32 length)
{
    static const u32 remainders[16] = {
        0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b, 0x1a864db2, 0x1e475005,
        0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61, 0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd,
    };
    u32 sum = 0xffffffff;

    for (u32 i = 0; i < length; i++) {
        u32 byte = *header(u8, i);

        sum = sum << 4 ^ remainders[sum >> 28 ^ byte >> 4];
        sum = sum << 4 ^ remainders[sum >> 28 ^ (byte & 15)];
    }
    return sum << 24 | (sum << 8 & 0xff0000) | (sum >> 8 & 0xff00) | sum >> 24;
}
