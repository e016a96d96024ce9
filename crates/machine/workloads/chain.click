// Nine elements one behind the other, the slowest of them a search: in the place of NetVMSnort in figure 14 and table 1 of the NetVM paper.
FromDevice(in)
    -> Classifier(12/0800)
    -> Strip(14)
    -> CheckIPHeader
    -> IPFilter(allow udp || tcp)
    -> Unstrip(14)
    -> Fragments(0)
    -> search :: RegexFilter("attack[0-9]|exploit/[a-z]+|\x90\x90\x90\x90", OFFSET 42)
    -> Paint(1)
    -> Fragments(1)
    -> Discard;
search[1] -> Discard;
