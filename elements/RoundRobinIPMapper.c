/*
 * RoundRobinIPMapper(PATTERN, ...) -- patterns that IPRewriters take in turn
 *
 * Has no inputs and outputs. An IPRewriter, TCPRewriter or UDPRewriter that has its name as INPUT gives each new flow the next PATTERN, SADDR SPORT DADDR DPORT FOUT ROUT; one of which
 * nothing is free is left out. Each input takes its own turns.
 *
 * Example: connections to 1.0.0.1 are spread over two servers:
 *
 *     rr :: RoundRobinIPMapper(- - 10.0.0.2 - 0 1, - - 10.0.0.3 - 0 1);  rw :: IPRewriter(rr, drop);
 *
 * See also: SourceIPHashMapper, IPRewriter.
 */
#include <netvm.h>

ELEMENT(RoundRobinIPMapper, "0/0", "a/a");
CONFIG(MAPPER, patterns);
