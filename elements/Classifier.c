/*
 * Classifier(PATTERN, ..., PATTERN) -- sorts packets by their bytes
 *
 * There is one output per pattern; a packet leaves by the output of the first pattern that it matches, and is dropped if there is none. A pattern is
 * a list of clauses with spaces between them, all of which must hold, or "-", which every packet matches:
 *
 *   OFFSET/VALUE         the bytes from OFFSET (decimal) are VALUE (hexadecimal, an even number of digits; ? is any digit)
 *   OFFSET/VALUE%MASK    they are in the bits that are 1 in MASK
 *   !CLAUSE              the clause does not hold
 *
 * Example: ARP requests, ARP replies, IP and all else, on Ethernet:
 *
 *     Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -)
 *
 * Handlers: program (read), the patterns as steps that compare four bytes, OFFSET/VALUE%MASK, and say what is next, [OUTPUT] or [X] for none.
 * pattern0, pattern1 and so on (read), the patterns; they cannot be changed while the element runs.
 *
 * See also: IPClassifier, IPFilter.
 */
#include <netvm.h>

ELEMENT(Classifier, "1/-", "h/h");
CONFIG(CLASSIFIER, classify);

enum { NO_PATTERN };

void push(int port)
{
    int output = classify();

    if (output < 0)
        drop(NO_PATTERN);
    emit(output);
}

READ_CALL(program, text, classify_program);
