/*
 * Finder([WANTED texts]) -- where packets have texts and an expression, summed up
 */
#include <netvm.h>

ELEMENT(Finder, "1/1", "a/a");
PARAM_LIST(string, wanted, "WANTED", KEYWORD("E @"));
STRINGS_OF(words, wanted);
STRINGS(literals, "@", "E");
REGEX(expression, "[E@]+");

static i32 word_at, word_end, literal_at, expression_at, expression_end;
static u32 seen;

static u32 times(u32 n)
{
    return n * seen;
}

READ(seen, u32, seen);
READ(word_at, i32, word_at);
READ(word_end, i32, word_end);
READ(literal_at, i32, literal_at);
READ(expression_at, i32, expression_at);
READ(expression_end, i32, expression_end);
READ_WITH(times, u32, u32, times);

void packet(int port)
{
    seen += wanted_count;
    word_at += strings_at(words, 15, packet_length());
    word_end += strings_end(words, 15, packet_length());
    literal_at += strings_at(literals, 3, packet_length());
    expression_at += regex_at(expression, 1, packet_length());
    expression_end += regex_end(expression, 1, packet_length());
    emit(0);
}
