/*
 * SourceIPHashMapper(NODES SEED, PATTERN ID, ...) -- patterns that IPRewriters take by the packets' sources
 *
 * Has no inputs and outputs. An IPRewriter, TCPRewriter or UDPRewriter that has its name as INPUT gives flows of one source the same PATTERN, SADDR SPORT DADDR DPORT FOUT ROUT.
 * It does so by consistent hashing: each pattern has NODES places on a circle, which SEED and its ID decide; if one is added or taken away, most sources stay with theirs.
 *
 * Example: `sh :: SourceIPHashMapper(5 0xbadbeef, - - 10.0.0.2 - 0 1 1, - - 10.0.0.3 - 0 1 2);  rw :: IPRewriter(sh, drop);`
 *
 * See also: RoundRobinIPMapper, IPRewriter.
 */
#include <netvm.h>

ELEMENT(SourceIPHashMapper, "0/0", "a/a");
CONFIG(MAPPER, patterns);
