/* What netvm.h declares besides the names that the front end knows. */
#define NETVM_H
struct ip_prefix { be32 addr; be32 mask; };
struct ip6_prefix { in6_t addr; in6_t mask; };
enum rewrite_kind { REWRITE_DROP, REWRITE_PASS, REWRITE_KEEP, REWRITE_PATTERN };
struct rewrite_spec {
    u32 kind;
    u32 forward, reply;
    be32 saddr, daddr;
    u16 sport_first, sport_last;
    be16 dport;
    bool sequential;
    bool random;
    u32 pattern;
    be32 saddr_last;
};
struct rewrite_mapper { u32 first; u32 count; u32 first_node; u32 nodes; };
struct rewrite_node { u32 place; u32 choice; };
