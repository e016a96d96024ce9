
/* Searching the packet: the coprocessor `stringmatching`. The image of the automata is in dfa.bin: 256 arcs a node, big-endian
   words with the next node's number; nodes of a group at which strings end have the highest numbers. Where there is a DFA unit, it
   makes the walk: nv_walk is its command. */
extern const uint8_t nv_dfa[];

enum { NV_MATCHES = 1600 };
enum nv_how { NV_DONE, NV_NO_BUDGET, NV_NOT_SHOWN, NV_NO_GROUP, NV_NOT_LOADED };

/* Strings that end at a node: some of its own, and those of the next shorter ends, all ones if there are none. */
struct nv_ends {
    uint32_t from, count, shorter;
};

/* A string: its text is there if the packet may differ from it in case. */
struct nv_string {
    uint32_t number, len;
    const uint8_t *text;
};

struct nv_group {
    uint32_t root, first, price;
    const struct nv_ends *ends;
    const struct nv_string *strings;
};

struct nv_found {
    uint32_t number, end, len;
};

/* A unit with its registers and the matches that nobody has taken yet. */
struct nv_unit {
    const struct nv_group *groups;
    uint32_t count;
    int loaded;
    uint32_t registers[4];
    uint32_t next, left;
    struct nv_found found[NV_MATCHES];
};

NV_INLINE uint32_t nv_walk(const uint8_t *graph, uint32_t node, uint8_t byte)
{
    return (uint32_t)nv_be(graph + ((size_t)node << 10) + 4 * (size_t)byte, 4);
}

/* Keeps the strings that end at a node; false if no more are kept. */
static int nv_keep(struct nv_unit *u, const struct nv_group *g, uint32_t at, const uint8_t *packet, uint32_t end)
{
    do {
        const struct nv_ends *ends = &g->ends[at];
        for (uint32_t i = 0; i < ends->count; i++) {
            const struct nv_string *s = &g->strings[ends->from + i];
            if (s->text && memcmp(s->text, packet + end - s->len, s->len) != 0)
                continue;
            u->found[u->left++] = (struct nv_found){ s->number, end, s->len };
            if (u->left == NV_MATCHES)
                return 0;
        }
        at = ends->shorter;
    } while (at != UINT32_MAX);
    return 1;
}

static enum nv_how nv_search(struct nv_unit *u, const struct nv_run *r, uint32_t start, int shown, uint32_t *budget)
{
    const struct nv_group *g = u->loaded && u->registers[0] < u->count ? &u->groups[u->registers[0]] : 0;
    const uint32_t rest = start < r->len ? r->len - start : 0, len = rest < u->registers[2] ? rest : u->registers[2];
    if (g && shown && !nv_pay(budget, (uint64_t)g->price * len))
        return NV_NO_BUDGET;
    if (!g || !shown)
        return !u->loaded ? NV_NOT_LOADED : !g ? NV_NO_GROUP : NV_NOT_SHOWN;
    u->next = u->left = 0;
    const uint8_t *graph = nv_dfa + ((size_t)g->root << 10), *packet = nv_p(r) + (len ? start : 0);
    for (uint32_t node = 0, i = 0; i < len; i++) {
        node = nv_walk(graph, node, packet[i]);
        if (NV_RARELY(node >= g->first) && !nv_keep(u, g, node - g->first, packet, i + 1))
            break;
    }
    u->registers[0] = u->left;
    return NV_DONE;
}

/* An operation of a unit: reset, match, match_with_offset, get_result. */
static enum nv_how nv_invoke(struct nv_unit *u, const struct nv_run *r, uint32_t operation, int shown, uint32_t *budget)
{
    if (operation == 1 || operation == 2)
        return nv_search(u, r, operation == 1 ? 0 : u->registers[1], shown, budget);
    if (operation == 0) {
        u->next = u->left = 0;
        return NV_DONE;
    }
    struct nv_found f = { 0, 0, 0 };
    const int is_there = u->registers[0] > 0 && u->left > 0;
    if (is_there)
        f = u->found[u->next++], u->left--;
    u->registers[0] = is_there ? u->registers[0] - 1 : 0;
    u->registers[1] = f.number, u->registers[2] = f.end, u->registers[3] = f.len;
    return NV_DONE;
}
