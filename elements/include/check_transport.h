/*
 * check_transport.h -- the body of CheckICMPHeader, CheckTCPHeader and CheckUDPHeader
 *
 * The class that includes this has declared
 *
 *   verbose           are packets told that are not valid?
 *   TRANSPORT         the protocol's name, a text
 *
 * and defines, behind it, `check`, which says what is wrong with a packet.
 */

enum fault { VALID, BAD_PROTOCOL, BAD_LENGTH, BAD_CHECKSUM, FAULTS };

static enum fault check(void);

static void print_class(void)
{
    print("Check" TRANSPORT "Header: ");
}

static void print_fault(enum fault fault)
{
    switch (fault) {
    case BAD_PROTOCOL: print("not " TRANSPORT); break;
    case BAD_LENGTH: print("bad packet length"); break;
    default: print("bad " TRANSPORT " checksum"); break;
    }
}

#include "faults.h"

void packet(int port)
{
    enum fault fault = check();

    if (fault == VALID)
        emit(0);
    count_fault(fault);
    if (NOUTPUTS > 1)
        emit(1);
    switch (fault) {
    case BAD_PROTOCOL: drop(BAD_PROTOCOL);
    case BAD_LENGTH: drop(BAD_LENGTH);
    default: drop(BAD_CHECKSUM);
    }
}
