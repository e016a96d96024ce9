
/* Internet checksums (RFC 1071, RFC 1624). */

/* The one's complement sum of the halves of a word: in its upper half, carries and all, once it is added to itself turned around. */
NV_INLINE uint32_t nv_fold(uint32_t sum)
{
    return (sum + (sum << 16 | sum >> 16)) >> 16;
}

NV_INLINE uint32_t nv_fold_long(uint64_t sum)
{
    return nv_fold((uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32));
}

/* The one's complement sum of 20 bytes, in 64 bits. */
NV_INLINE uint64_t nv_sum_20(const uint8_t *p)
{
    uint64_t sum, longs;
    uint32_t word;
    memcpy(&sum, p, 8);
    memcpy(&longs, p + 8, 8);
    memcpy(&word, p + 16, 4);
    sum += longs;
    sum += sum < longs;
    sum += word;
    return sum + (sum < word);
}

/* The one's complement sum of big-endian words (RFC 1071); the order of bytes does not matter but for the result. An IPv4 header without options is the
   usual case. */
NV_INLINE uint32_t nv_sum(const uint8_t *p, uint32_t len)
{
    uint64_t sum = 0;
    uint32_t word;
    uint16_t half, result;
    if (len == 20) {
        sum = nv_sum_20(p);
    } else {
        for (; len >= 4; p += 4, len -= 4) {
            memcpy(&word, p, 4);
            sum += word;
        }
        if (len >= 2) {
            memcpy(&half, p, 2);
            sum += half;
            p += 2, len -= 2;
        }
        if (len) {
            uint8_t last[2] = { *p, 0 };
            memcpy(&half, last, 2);
            sum += half;
        }
    }
    result = (uint16_t)nv_fold_long(sum);
    return (uint32_t)nv_be((const uint8_t *)&result, 2);
}

/* Whether the sum of some bytes is right. That of a header without options is, if it is a multiple of 65,535 and not 0: then so is 2^64 - 1, and the quotient is what
   its inverse makes of it. */
NV_INLINE int nv_sum_right(const uint8_t *p, uint32_t len)
{
    if (len != 20)
        return nv_sum(p, len) == 0xffff;
    const uint64_t sum = nv_sum_20(p), ones = 0x0001000100010001ull;
    return ~(sum * ones) < ones;
}

/* A checksum (RFC 1624) whose complement becomes so much more, of 1 to 65,535. It is not 65,535 then. */
NV_INLINE uint32_t nv_less(uint32_t checksum, uint32_t by)
{
    const uint32_t sum = checksum + (0xffff - by);
    return sum >= 0xffff ? sum - 0xffff : sum;
}
