/*
 * digest.c -- checksums, CRCs and the hash of the standalone runtime
 *
 * RFC 1071 and 1624; CRC-32 of IEEE 802.3, CRC-32C of RFC 3720, CRC-16 of X.25, a bit at a time; MurmurHash3_x86_32 (public domain) with seed 0.
 */
#include <netvm.h>

static u16 fold(u64 sum)
{
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (u16) sum;
}

static u16 ones_sum(u32 offset, u32 length)
{
    const u8 *bytes = nv_header(offset, length);
    u64 sum = 0;

    for (u32 i = 0; i < length; i++)
        sum += i % 2 ? bytes[i] : (u64) bytes[i] << 8;
    return fold(sum);
}

u16 checksum(u32 offset, u32 length)
{
    return (u16) ~ones_sum(offset, length);
}

bool checksum_ok(u32 offset, u32 length)
{
    return ones_sum(offset, length) == 0xffff;
}

u16 checksum_update(u16 sum, u16 before, u16 after)
{
    return (u16) ~fold((u64) (u16) ~sum + (u16) ~before + after);
}

static u32 reflected(u32 polynomial, u32 crc, u32 offset, u32 length)
{
    const u8 *bytes = nv_header(offset, length);

    for (u32 i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return crc;
}

u32 crc32(u32 offset, u32 length)
{
    return ~reflected(0xedb88320, 0xffffffff, offset, length);
}

u32 crc32c(u32 offset, u32 length)
{
    return ~reflected(0x82f63b78, 0xffffffff, offset, length);
}

u16 crc16(u32 offset, u32 length)
{
    return (u16) ~reflected(0x8408, 0xffff, offset, length);
}

static u32 rotate(u32 x, int n)
{
    return x << n | x >> (32 - n);
}

u32 nv_hash(const u32 *words, size_t count)
{
    u32 h = 0;

    for (size_t i = 0; i < count; i++)
        h = rotate(h ^ rotate(words[i] * 0xcc9e2d51, 15) * 0x1b873593, 13) * 5 + 0xe6546b64;
    h ^= (u32) count * 4;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}
