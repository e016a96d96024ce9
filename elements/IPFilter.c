/*
 * IPFilter(ACTION PATTERN, ..., ACTION PATTERN) -- lets IP packets pass or not, by tcpdump-like patterns
 *
 * The first filter whose pattern a packet matches decides: ACTION is `allow` (output 0), `deny` or `drop`, or the number of an output. A packet that
 * matches none is dropped. Patterns are those of IPClassifier; the IP header must be marked.
 *
 * Example: `IPFilter(allow tcp && dst port www, allow icmp, deny all)`
 *
 * Handlers: program (read), the patterns as steps that compare four bytes, OFFSET/VALUE%MASK, and say what is next, [OUTPUT] or [X] for none; offsets from 256 are
 * the IP header's, those from 512 are behind it. pattern0, pattern1 and so on (read), the arguments; they cannot be changed while the element runs.
 *
 * See also: IPClassifier, Classifier, CheckIPHeader, MarkIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPFilter, "1/-", "h/h");
CONFIG(IPFILTER, classify);

enum { DENIED };

void push(int port)
{
    int output = classify();

    if (output < 0)
        drop(DENIED);
    emit(output);
}

READ_CALL(program, text, classify_program);
