//! What C programs usually have and elements do not, with what to write instead. Words of the
//! language itself are the parser's.

/// Functions of the C library.
#[rustfmt::skip]
const FUNCTIONS: &[(&[&str], &str)] = &[
    (&["malloc", "calloc", "realloc", "free", "alloca"], "there is no heap: what lasts is in `static` variables and in entries of tables"),
    (&["memcpy", "memmove"], "assign structs as a whole; packet_copy, packet_read and packet_write copy bytes of the packet"),
    (&["memset", "bzero"], "assign a value as a whole: `x = (struct t) { 0 };`"),
    (&["memcmp", "bcmp"], "write equal(a, b), which compares values of one type"),
    (&["strcmp", "strncmp", "strlen"], "strings are parameters: text_is(parameter, \"text\") compares one"),
    (&["strstr", "memmem", "strchr", "memchr"], "declare STRINGS(words, \"text\"); and write strings_find(words, offset, length)"),
    (&["printf", "fprintf", "puts", "putchar", "sprintf", "snprintf", "printk"], "write print(\"...\"), and print_uint and its kin for values"),
    (&["exit", "abort", "assert"], "drop(REASON) ends the packet, and counts it"),
    (&["offsetof"], "an offset is the sum of the sizes before it: structs are packed"),
    (&["rand", "random", "srand", "srandom"], "write random32()"),
    (&["time", "gettimeofday", "clock_gettime", "clock"], "write now(), the packet's time in nanoseconds"),
    (&["__builtin_expect", "__builtin_expect_with_probability", "likely", "unlikely"], "write the condition alone"),
    (&["sleep", "usleep", "nanosleep"], "hold the packet with packet_hold, and set a timer"),
];

/// What to write in the place of a function of the C library.
pub(super) fn instead(function: &str) -> Option<&'static str> {
    let of_compiler = || function.starts_with("__builtin_").then_some("write it out: functions of compilers are not there");
    FUNCTIONS.iter().find(|(names, _)| names.contains(&function)).map(|(_, help)| *help).or_else(of_compiler)
}
