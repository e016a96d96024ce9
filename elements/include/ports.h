/*
 * ports.h -- patterns with a source port, or an identifier in its place, for rewriter.h
 */

/* ---- Choosing ---- */

static u32 first_try(const struct rewrite_spec *spec)
{
    u32 own = ntohs(this_flow.sport), first = spec->sport_first, count = spec->sport_last - first + 1u;

    if (spec->sequential)
        return next_port[spec->pattern % PATTERNS] % count;
    if (!spec->random && own >= first && own <= spec->sport_last)
        return own - first;
    return random32() % count;
}

/* Finds a source port that is free; ports after the first tried are tried in order. */
static bool choose_port(const struct rewrite_spec *spec)
{
    u32 count = spec->sport_last - spec->sport_first + 1u, first = first_try(spec);

    for (u32 i = 0; i < count && i < MOST_TRIES; i++) {
        u32 chosen = (first + i) % count;

        rewritten.sport = htons((u16) (spec->sport_first + chosen));
        if (is_free()) {
            next_port[spec->pattern % PATTERNS] = chosen + 1;
            return true;
        }
    }
    return false;
}

static bool apply_pattern(const struct rewrite_spec *spec)
{
    if (spec->saddr != htonl(0))
        rewritten.saddr = spec->saddr;
    if (spec->daddr != htonl(0))
        rewritten.daddr = spec->daddr;
    if (spec->dport != htons(0))
        rewritten.dport = spec->dport;
    rewritten.sport = spec->sport_first != 0 ? htons(spec->sport_first) : rewritten.sport;
    return spec->sport_first == spec->sport_last || choose_port(spec);
}

/* ---- For people ---- */

static void print_ports(u32 first, u32 last)
{
    if (last == 0) {
        print("-");
        return;
    }
    print_uint(first);
    if (last != first) {
        print("-");
        print_uint(last);
    }
}

static void print_pattern(const struct rewrite_spec *spec)
{
    print_address(spec->saddr);
    print(" ");
    print_ports(spec->sport_first, spec->sport_last);
    print(" ");
    print_address(spec->daddr);
    print(" ");
    print_ports(ntohs(spec->dport), ntohs(spec->dport));
}
