/* A program for a processor without an operating system: packets go in, what becomes of each comes out. Made by netvm. */
#ifndef NETVM_H
#define NETVM_H

#include <stddef.h>
#include <stdint.h>

/* The longest packet that there may be; bytes before a packet with which programs that put headers in front need move nothing; a buffer that holds whatever
   a program makes of a packet, and what it may bring back. */
enum { NETVM_LONGEST = 65535, NETVM_HEADROOM = 128, NETVM_BUFFER = NETVM_LONGEST + 1025 };

/* What became of a packet. */
enum netvm_end { NETVM_SENT, NETVM_DROPPED, NETVM_TRAPPED };

/* A packet in a buffer. Programs that make packets longer may end with a trap "no room" if it has fewer than NETVM_BUFFER bytes. */
struct netvm_packet {
    uint8_t *buffer;
    uint32_t size;     /* bytes of the buffer */
    uint32_t at;       /* where the packet begins */
    uint32_t len;      /* its bytes */
    uint32_t wire_len; /* what it had on the wire, at least len */
    uint32_t input;    /* the input port by which it comes */
    uint64_t time_ns;  /* when it came, since 1970 */
    /* Written by netvm_run, with at, len, wire_len and time_ns. */
    enum netvm_end end;
    uint32_t value;    /* sent: the output port; dropped: the reason; trapped: the kind (low byte) and detail */
    uint32_t site;     /* trapped: the instruction of NetIL */
};

/* Runs the program for each packet, one after the other. Not for several processors at once: they would share data memory. */
void netvm_run(struct netvm_packet *packets, size_t count);

/* Data memory, and its bytes. */
uint8_t *netvm_data(void);
uint32_t netvm_data_size(void);

#endif
