
/* Searching the packet: the coprocessors `stringmatching` and `regexp`. The image of the automata is in dfa.bin: 256 arcs a node, big-endian
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

/* An automaton of an expression: behind the plain nodes is the one that no match comes from, then those at which one is known, of what was read before the last byte. A bit of `ends` says
   whether there is one if the packet ends at the node. */
struct nv_side {
    uint32_t root, dead;
    const uint8_t *ends;
};

/* Forward to the end of the match, and back to where it begins; by the byte behind the match, or 256 if there is none, where that begins. */
struct nv_expression {
    struct nv_side forward, back;
    uint32_t start, price;
    const uint32_t *starts;
};

/* A unit with its registers and the matches that nobody has taken yet. */
struct nv_unit {
    const struct nv_group *groups;
    const struct nv_expression *expressions;
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
__attribute__((unused)) static int nv_keep(struct nv_unit *u, const struct nv_group *g, uint32_t at, const uint8_t *packet, uint32_t end)
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

/* What a search is paid for, and where it is done; not NV_DONE if it is not. */
static enum nv_how nv_admit(const struct nv_unit *u, const struct nv_run *r, uint32_t *start, uint32_t *len, int shown, const uint32_t *price, uint32_t *budget)
{
    const uint32_t rest = *start < r->len ? r->len - *start : 0;
    *len = rest < u->registers[2] ? rest : u->registers[2];
    if (price && shown && !nv_pay(budget, (uint64_t)*price * *len))
        return NV_NO_BUDGET;
    if (!price || !shown)
        return !u->loaded ? NV_NOT_LOADED : !price ? NV_NO_GROUP : NV_NOT_SHOWN;
    *start = *len ? *start : 0;
    return NV_DONE;
}

__attribute__((unused)) static enum nv_how nv_search(struct nv_unit *u, const struct nv_run *r, uint32_t start, int shown, uint32_t *budget)
{
    const struct nv_group *g = u->loaded && u->registers[0] < u->count ? &u->groups[u->registers[0]] : 0;
    uint32_t len;
    const enum nv_how how = nv_admit(u, r, &start, &len, shown, g ? &g->price : 0, budget);
    if (how != NV_DONE)
        return how;
    u->next = u->left = 0;
    const uint8_t *graph = nv_dfa + ((size_t)g->root << 10), *packet = nv_p(r) + start;
    for (uint32_t node = 0, i = 0; i < len; i++) {
        node = nv_walk(graph, node, packet[i]);
        if (NV_RARELY(node >= g->first) && !nv_keep(u, g, node - g->first, packet, i + 1))
            break;
    }
    u->registers[0] = u->left;
    return NV_DONE;
}

/* An operation of a unit of `stringmatching`: reset, match, match_with_offset, get_result. */
__attribute__((unused)) static enum nv_how nv_invoke(struct nv_unit *u, const struct nv_run *r, uint32_t operation, int shown, uint32_t *budget)
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

NV_INLINE int nv_ends_at(const struct nv_side *s, uint32_t node)
{
    return s->ends[node / 8] >> node % 8 & 1;
}

/* Where the first match ends; all ones if there is none. */
static uint32_t nv_end_of(const struct nv_expression *x, const uint8_t *packet, uint32_t len)
{
    const uint8_t *graph = nv_dfa + ((size_t)x->forward.root << 10);
    uint32_t node = x->start, end = UINT32_MAX;
    for (uint32_t i = 0; i < len; i++) {
        node = nv_walk(graph, node, packet[i]);
        if (node == x->forward.dead)
            return end;
        if (node > x->forward.dead)
            end = i;
    }
    return nv_ends_at(&x->forward, node) ? len : end;
}

/* Where a match begins that ends there. */
static uint32_t nv_start_of(const struct nv_expression *x, const uint8_t *packet, uint32_t len, uint32_t end)
{
    const uint8_t *graph = nv_dfa + ((size_t)x->back.root << 10);
    uint32_t node = x->starts[end < len ? packet[end] : 256], start = end;
    for (uint32_t i = end; i > 0; i--) {
        node = nv_walk(graph, node, packet[i - 1]);
        if (node == x->back.dead)
            return start;
        if (node > x->back.dead)
            start = i;
    }
    return nv_ends_at(&x->back, node) ? 0 : start;
}

/* An operation of a unit of `regexp`: reset, match, match_with_offset, get_result, after which the match stays. */
__attribute__((unused)) static enum nv_how nv_express(struct nv_unit *u, const struct nv_run *r, uint32_t operation, int shown, uint32_t *budget)
{
    if (operation == 0)
        u->left = 0;
    if (operation == 1 || operation == 2) {
        const struct nv_expression *x = u->loaded && u->registers[0] < u->count ? &u->expressions[u->registers[0]] : 0;
        uint32_t start = operation == 1 ? 0 : u->registers[1], len;
        const enum nv_how how = nv_admit(u, r, &start, &len, shown, x ? &x->price : 0, budget);
        if (how != NV_DONE)
            return how;
        const uint8_t *packet = nv_p(r) + start;
        const uint32_t end = nv_end_of(x, packet, len);
        u->registers[0] = u->left = end != UINT32_MAX;
        if (u->left)
            u->found[0] = (struct nv_found){ 0, end, end - nv_start_of(x, packet, len, end) };
    }
    if (operation > 2) {
        const int is_there = u->registers[0] > 0 && u->left > 0;
        u->registers[0] -= (uint32_t)is_there;
        u->registers[1] = 0, u->registers[2] = is_there ? u->found[0].end : 0, u->registers[3] = is_there ? u->found[0].len : 0;
    }
    return NV_DONE;
}
