/*
 * Typed -- handlers of every type that they may have
 */
#include <netvm.h>

ELEMENT(Typed, "1/1", "a/a");

static u8 v_u8 = 200;
static u16 v_u16 = 60000;
static u32 v_u32 = 4000000000u;
static u64 v_u64 = 18000000000000000000ull;
static i8 v_i8 = -100;
static i16 v_i16 = -30000;
static i32 v_i32 = -2000000000;
static i64 v_i64 = -9000000000000000000ll;
static bool v_bool = true;
static int v_int = -7;
static unsigned v_unsigned = 7;
static size_t v_size_t = 5000000000ull;
static uint8_t v_uint8_t = 201;
static uint16_t v_uint16_t = 60001;
static uint32_t v_uint32_t = 4000000001u;
static uint64_t v_uint64_t = 18000000000000000001ull;
static int8_t v_int8_t = -101;
static int16_t v_int16_t = -30001;
static int32_t v_int32_t = -2000000001;
static int64_t v_int64_t = -9000000000000000001ll;
static be16 v_be16 = htons(258);
static be32 v_be32 = htonl(0x0a010203);
static be64 v_be64 = htonll(0x0102030405060708ull);
static mac_t v_mac_t = { { 0x20, 1, 0x0d, 0xb8, 1, 2 } };
static in6_t v_in6_t = { { 0x20, 1, 0x0d, 0xb8, 1, 2 } };

void packet(int port)
{
    emit(0);
}

READ(u8_h, u8, v_u8);
WRITE(u8_h, u8, v_u8);
READ(u16_h, u16, v_u16);
WRITE(u16_h, u16, v_u16);
READ(u32_h, u32, v_u32);
WRITE(u32_h, u32, v_u32);
READ(u64_h, u64, v_u64);
WRITE(u64_h, u64, v_u64);
READ(i8_h, i8, v_i8);
WRITE(i8_h, i8, v_i8);
READ(i16_h, i16, v_i16);
WRITE(i16_h, i16, v_i16);
READ(i32_h, i32, v_i32);
WRITE(i32_h, i32, v_i32);
READ(i64_h, i64, v_i64);
WRITE(i64_h, i64, v_i64);
READ(bool_h, bool, v_bool);
WRITE(bool_h, bool, v_bool);
READ(int_h, int, v_int);
WRITE(int_h, int, v_int);
READ(unsigned_h, unsigned, v_unsigned);
WRITE(unsigned_h, unsigned, v_unsigned);
READ(size_t_h, size_t, v_size_t);
WRITE(size_t_h, size_t, v_size_t);
READ(uint8_t_h, uint8_t, v_uint8_t);
WRITE(uint8_t_h, uint8_t, v_uint8_t);
READ(uint16_t_h, uint16_t, v_uint16_t);
WRITE(uint16_t_h, uint16_t, v_uint16_t);
READ(uint32_t_h, uint32_t, v_uint32_t);
WRITE(uint32_t_h, uint32_t, v_uint32_t);
READ(uint64_t_h, uint64_t, v_uint64_t);
WRITE(uint64_t_h, uint64_t, v_uint64_t);
READ(int8_t_h, int8_t, v_int8_t);
WRITE(int8_t_h, int8_t, v_int8_t);
READ(int16_t_h, int16_t, v_int16_t);
WRITE(int16_t_h, int16_t, v_int16_t);
READ(int32_t_h, int32_t, v_int32_t);
WRITE(int32_t_h, int32_t, v_int32_t);
READ(int64_t_h, int64_t, v_int64_t);
WRITE(int64_t_h, int64_t, v_int64_t);
READ(be16_h, be16, v_be16);
WRITE(be16_h, be16, v_be16);
READ(be32_h, be32, v_be32);
WRITE(be32_h, be32, v_be32);
READ(be64_h, be64, v_be64);
WRITE(be64_h, be64, v_be64);
READ(mac_t_h, mac_t, v_mac_t);
WRITE(mac_t_h, mac_t, v_mac_t);
READ(in6_t_h, in6_t, v_in6_t);
WRITE(in6_t_h, in6_t, v_in6_t);
