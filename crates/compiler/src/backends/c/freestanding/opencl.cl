/* What compilers of OpenCL C lack of C, and what differs: packets lie in global memory,
   constants in constant memory. */
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef int int32_t;
typedef ulong uint64_t;
typedef long int64_t;
#define UINT32_MAX 0xffffffffu
#define NV_PACKET __global
#define NV_OPENCL
#define NV_INLINE static inline
#define NV_RARELY(c) (c)
#define NV_MOSTLY(c) (c)
#define NV_MASK(w) ((w) >= 64 ? ~0ul : (1ul << ((w) & 63)) - 1)
/* Sums and products of numbers of 32 bits. */
#define __int128 long

#define NVB(p, i, n, by) ((i) < (n) ? (ulong)(p)[i] << ((by) & 63) : 0)
#define nv_be(p, n) \
    (NVB(p, 0, n, 8 * (n) - 8) | NVB(p, 1, n, 8 * (n) - 16) | NVB(p, 2, n, 8 * (n) - 24) | NVB(p, 3, n, 8 * (n) - 32) | \
     NVB(p, 4, n, 8 * (n) - 40) | NVB(p, 5, n, 8 * (n) - 48) | NVB(p, 6, n, 8 * (n) - 56) | NVB(p, 7, n, 0))
#define nv_le(p, n) \
    (NVB(p, 0, n, 0) | NVB(p, 1, n, 8) | NVB(p, 2, n, 16) | NVB(p, 3, n, 24) | NVB(p, 4, n, 32) | NVB(p, 5, n, 40) | NVB(p, 6, n, 48) | NVB(p, 7, n, 56))
#define nv_put_be(p, n, v) do { for (uint at_ = 0; at_ < (n); at_++) (p)[at_] = (uchar)((ulong)(v) >> 8 * ((n) - 1 - at_)); } while (0)
#define nv_put_le(p, n, v) do { for (uint at_ = 0; at_ < (n); at_++) (p)[at_] = (uchar)((ulong)(v) >> 8 * at_); } while (0)
#define memset(p, byte, n) do { for (uint at_ = 0; at_ < (n); at_++) (p)[at_] = (byte); } while (0)

NV_INLINE ulong nv_turned(ulong v)
{
    v = (v & 0x00ff00ff00ff00fful) << 8 | (v >> 8 & 0x00ff00ff00ff00fful);
    v = (v & 0x0000ffff0000fffful) << 16 | (v >> 16 & 0x0000ffff0000fffful);
    return v << 32 | v >> 32;
}
#define __builtin_bswap64 nv_turned

NV_INLINE long nv_signed(ulong v, uint w)
{
    return (long)(v << (64 - w)) >> (64 - w);
}

NV_INLINE ulong nv_shl(ulong v, uint w, uint by)
{
    return by < w ? v << by & NV_MASK(w) : 0;
}

NV_INLINE ulong nv_shr(ulong v, uint w, uint by)
{
    return by < w ? v >> by : 0;
}

NV_INLINE ulong nv_sar(ulong v, uint w, uint by)
{
    return (ulong)(nv_signed(v, w) >> (by < 63 ? by : 63)) & NV_MASK(w);
}

NV_INLINE ulong nv_rol(ulong v, uint w, uint by)
{
    by %= w;
    return by ? (v << by | v >> (w - by)) & NV_MASK(w) : v;
}

NV_INLINE ulong nv_clamp(long v, uint w)
{
    const long most = (long)(NV_MASK(w) >> 1), least = -most - 1;
    return (ulong)(v > most ? most : v < least ? least : v) & NV_MASK(w);
}

NV_INLINE ulong nv_clz(ulong v, uint w)
{
    return v ? clz(v) - (64 - w) : w;
}

NV_INLINE ulong nv_find_bit(ulong v, uint w)
{
    return v ? 63 - clz(v) : NV_MASK(w);
}

NV_INLINE uint nv_murmur(const uint *words, uint n)
{
    uint h = 0;
    for (uint i = 0; i < n; i++) {
        uint k = words[i] * 0xcc9e2d51u;
        k = (k << 15 | k >> 17) * 0x1b873593u;
        h ^= k;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= n * 4;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

NV_INLINE uint nv_fold(uint sum)
{
    return (sum + (sum << 16 | sum >> 16)) >> 16;
}

NV_INLINE uint nv_sum(__global const uchar *p, uint len)
{
    ulong sum = 0;
    for (uint i = 0; i < len; i++)
        sum += (ulong)p[i] << (i % 2 ? 0 : 8);
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint)sum;
}

NV_INLINE int nv_sum_right(__global const uchar *p, uint len)
{
    return nv_sum(p, len) == 0xffff;
}

/* What the host tells of a packet and hears of it, as in netvm.h. */
enum netvm_end { NETVM_SENT, NETVM_DROPPED, NETVM_TRAPPED };
enum { NETVM_LONGEST = 65535 };
#define NETVM_NONE 0xffffffffu
#define NETVM_NOWHERE 0xffffffffu
#define NETVM_ROUNDS 0xfffffffeu
#define NETVM_DISCARDED 0xfffffffdu

struct netvm_packet {
    __global uchar *buffer;
    uint size, at, len, wire_len, input;
    ulong time_ns, number;
    enum netvm_end end;
    uint element, value, site;
};
