/*
 * StringSwitch(TEXT, ..., TEXT) -- sorts packets by the texts that are in them
 *
 * A packet in which the first TEXT is leaves by output 0, one with the second by output 1, and so on; one without any by the last output, whose number is that
 * of the texts. If there are several, the one counts that ends first, of those that end together the longest. How long a search takes does not depend on how many
 * texts there are.
 *
 * Example: requests of one kind go their own way:
 *
 *     s :: StringSwitch("GET /", "HEAD /");  s[0] -> pages;  s[1] -> pages;  s[2] -> rest;
 *
 * See also: RegexFilter, Classifier. Source: Aho, Corasick: Efficient string matching, CACM 18 (1975).
 */
#include <netvm.h>

ELEMENT(StringSwitch, "1/1-", "h/h");
CONFIG(STRINGS, texts);

void push(int port)
{
    int found = strings_find(texts, 0, packet_length());

    emit(found < 0 ? texts_count : found);
}
