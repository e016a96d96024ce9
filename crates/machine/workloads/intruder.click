// Intruder2 of the NetTM paper: a short section for the flow, the search without one, and a short section for what was found: see elements/Fragments.c
FromDevice(in) -> Fragments(0) -> search :: RegexFilter("attack[0-9]|exploit/[a-z]+|\x90\x90\x90\x90", OFFSET 42) -> Fragments(1) -> Discard;
search[1] -> Fragments(0) -> Discard;
