/*
 * Clash([COUNT port]) -- names that the header and C have as well, for members and other things
 */
#include <netvm.h>

ELEMENT(Clash, "1/1", "a/a");
PARAM(u16, count, "COUNT", KEYWORD(9));

struct udp {
    be16 sport, dport;
};

struct own {
    be16 sport;
    u32 text[2], errno;
};

enum { id = 1, mask = 3 };

static be16 sport;
static u32 addr, text, errno, data, byte;
static struct own own;
static struct ip_prefix net;

static u32 first(void)
{
    return own.errno + own.text[id] + count;
}

READ(sport, be16, sport);
READ(addr, u32, addr);
READ(text, u32, text);
WRITE(text, u32, text);
READ(errno, u32, errno);
READ(data, u32, data);
READ(byte, u32, byte);
READ_CALL(first, u32, first);

void packet(int port)
{
    const struct udp *udp = header(struct udp, 34);
    const mac_t *mac = header(mac_t, 0);
    if (mac->byte[0] == 0xff)
        drop(id);
    sport = own.sport = udp->sport;
    net.addr = htonl(addr);
    net.mask = htonl(mask);
    addr += ntohl(net.addr) + ntohl(net.mask);
    byte += mac->byte[5];
    own.text[id] += ntohs(udp->dport) == count;
    own.errno = errno += 2;
    text = errno * mask;
    data++;
    emit(0);
}
