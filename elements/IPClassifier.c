/*
 * IPClassifier(PATTERN, ..., PATTERN) -- sorts IP packets by tcpdump-like patterns
 *
 * There is one output per pattern; a packet leaves by the output of the first pattern that it matches, and is dropped if there is none. The IP
 * header must be marked. Patterns are built with and, or, not, parentheses and `a ? b : c` from
 *
 *   ip proto PROTO, tcp, udp, icmp              the protocol
 *   [src|dst] host ADDR, [src|dst] net ADDR/LEN  addresses
 *   [src|dst] [tcp|udp] port PORT               ports, by number or name; also with < > <= >= !=
 *   ip ttl|tos|dscp|id|vers|hl VALUE            fields of the IP header
 *   ip frag, ip unfrag                          fragments or not
 *   tcp opt syn|fin|ack|rst|psh|urg             flags, also alone: syn
 *   icmp type TYPE                              by number or name
 *   ip[POS:LEN] VALUE, transp[POS:LEN] VALUE    any bytes
 *   true, false, -, any, all
 *
 * Most take a mask: `ip tos & 0xe0 0xc0`. Words that repeat may be left out: `src port 80 or 81`. Ports, flags and types are looked at in first
 * fragments only.
 *
 * Example: `IPClassifier(dst tcp port www, udp, -)`
 *
 * Handlers: program (read), the patterns as steps that compare four bytes, OFFSET/VALUE%MASK, and say what is next, [OUTPUT] or [X] for none; offsets from 256 are
 * the IP header's, those from 512 are behind it. pattern0, pattern1 and so on (read), the arguments; they cannot be changed while the element runs.
 *
 * See also: IPFilter, Classifier, CheckIPHeader, MarkIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPClassifier, "1/-", "h/h");
CONFIG(IPCLASSIFIER, classify);

enum { NO_PATTERN };

void push(int port)
{
    int output = classify();

    if (output < 0)
        drop(NO_PATTERN);
    emit(output);
}

READ_CALL(program, text, classify_program);
