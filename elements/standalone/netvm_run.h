/*
 * netvm_run.h -- what a generated application calls to run its elements without netvm
 */
#ifndef NETVM_RUN_H
#define NETVM_RUN_H

#include <stdio.h>

#include <netvm.h>

/* A packet of those bytes (zeros if null), with room to grow at both ends. */
struct nv_packet *nv_packet_new(const void *bytes, u32 length, u32 wire, u64 time);
void nv_packet_free(struct nv_packet *packet);
struct nv_packet *nv_packet_copy(const struct nv_packet *packet);
/* Zeros; ends the program if there is no memory. */
void *nv_allocate(size_t size);

/* Makes the application of its instances known and runs their init handlers. */
void nv_start(struct nv_element *const *elements, size_t count);
/* Sets the clock, runs the timers that are due, and hands the packet to that input; returns when it and all that came of it is done. */
void nv_deliver(struct nv_element *to, int port, struct nv_packet *packet);
/* The packet waits before an input that pulls. */
void nv_put_before(struct nv_element *to, int input, struct nv_packet *packet);
/* A packet is asked for at that output; what the pull handler emits there leaves by it. */
void nv_request(struct nv_element *to, int port);
/* Sets the clock and runs the timers that are due. */
void nv_advance(u64 time);
/* Of those elements, the one with the timer that is due first, and which timer; null if none is due at that time. Sets the clock. */
struct nv_element *nv_take_timer(struct nv_element *const *elements, size_t count, u64 time, int *timer);
/* What the element does when that timer is due. */
void nv_timer_run(struct nv_element *element, int timer);
/* What the handler of that name prints, to be freed; null if there is none. */
char *nv_read_handler(struct nv_element *element, const char *name);
bool nv_write_handler(struct nv_element *element, const char *name, const char *text);

/* Where elements print from now on; standard error at first, and for a null pointer. */
void nv_print_to(FILE *stream);
/* A file for what an element prints; - is standard output. Ends the program if it cannot be written. */
FILE *nv_print_file(const char *path);

/* A packet of a capture. */
struct nv_record { u64 time; u32 captured, wire; };
typedef void nv_record_taker(void *to, const struct nv_record *record, const void *bytes);

/* Gives all packets of a pcap file in this machine's byte order (-: standard input) to a function; false and a line on standard error if it is not one. */
bool nv_read_records(const char *path, nv_record_taker *take, void *to);
/* That of the capture read last; Ethernet at first. */
u32 nv_link_type(void);
/* A new pcap file of packets of that many bytes at most, its times in nano- or microseconds; - is standard output. Null and a line on standard error if it cannot be
 * written. */
FILE *nv_create_capture(const char *path, u32 link, u32 longest, bool micro);
/* Writes so many bytes of the packet, which was so long on the wire. */
void nv_write_record(FILE *file, const struct nv_packet *packet, u32 captured, u32 wire, bool micro);
bool nv_close_record_file(FILE *file);

/* Reads a pcap file in this machine's byte order, giving each packet to that input; false and a line on standard error if it is not one. */
bool nv_read_capture(const char *path, struct nv_element *to, int port);
/* Opens a pcap file; nv_capture_packet is then the handler of an element that writes its packets there. */
bool nv_open_capture(const char *path, u32 link_type);
void nv_capture_packet(int port);
bool nv_close_capture(void);

#endif
