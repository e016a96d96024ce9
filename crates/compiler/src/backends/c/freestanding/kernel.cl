
/* A work item is a packet: its bytes, how many there are and were, when it came, and the number
   of the first of them all; what becomes of it are seven words: where it begins, its length here
   and on the wire, the end, and as in netvm.h element, value and site. */
__kernel void netvm(__global uchar *bytes, __global const ulong *offsets, __global const uint *lengths, __global const uint *wire_lengths,
                    __global const ulong *times, uint count, uint input, ulong first, __global uint *results)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    struct netvm_packet packet;
    packet.buffer = bytes + offsets[i], packet.size = lengths[i], packet.at = 0, packet.len = lengths[i];
    packet.wire_len = wire_lengths[i], packet.input = input, packet.time_ns = times[i], packet.number = first + i;
    nv_arrive(&packet);
    __global uint *result = results + 7 * i;
    result[0] = packet.at, result[1] = packet.len, result[2] = packet.wire_len, result[3] = packet.end;
    result[4] = packet.element, result[5] = packet.value, result[6] = packet.site;
}
