/*
 * RegexFilter(EXPRESSION, [keyword OFFSET]) -- lets packets pass in which a regular expression is found
 *
 * Others leave by output 1, if that is connected, and are dropped otherwise. Expressions are Perl's without back-references and looking around; they are of bytes,
 * `.` is any, `^` and `$` are the ends of what is searched. The time of a search grows with the packet's length and nothing else.
 *
 *   OFFSET   where the search begins, 0
 *
 * Example: web requests, behind Ethernet, IP and TCP headers without options:
 *
 *     -> RegexFilter("^(GET|HEAD|POST) /[^ ]* HTTP/1", OFFSET 54) ->
 *
 * See also: StringSwitch, Classifier.
 */
#include <netvm.h>

ELEMENT(RegexFilter, "1/1-2", "a/ah");
PARAM(string, expression, "EXPRESSION", REQUIRED);
PARAM(u32, offset, "OFFSET", KEYWORD(0));
REGEX(wanted, expression);

enum { NOT_FOUND };

void packet(int port)
{
    if (regex_found(wanted, offset, packet_length()))
        emit(0);
    if (NOUTPUTS > 1)
        emit(1);
    drop(NOT_FOUND);
}
