/* The image of the automata that program.c searches packets with, in static memory. A board with a DFA
   unit loads dfa.bin into its low-latency memory. Made by netvm. */
__asm__(".section .rodata\n"
        ".balign 8\n"
        ".globl nv_dfa\n"
        "nv_dfa:\n"
        ".incbin \"dfa.bin\"\n"
        ".previous\n");
