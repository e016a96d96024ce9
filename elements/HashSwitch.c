/*
 * HashSwitch(OFFSET, LENGTH) -- sends packets with the same bytes to the same output
 *
 * The output is the sum of the LENGTH bytes from OFFSET, modulo the number of outputs; where there are 2, 4 or 8, the sum's next four bits are added to it first, by exclusive
 * or. Packets that end before leave by output 0.
 *
 * Example: packets with the same IP destination stay together:
 *
 *     CheckIPHeader -> h :: HashSwitch(16, 4);  h[0] -> first;  h[1] -> second;
 *
 * See also: Switch, RoundRobinSwitch.
 */
#include <netvm.h>

ELEMENT(HashSwitch, "1/1-", "h/h");
PARAM(u32, first_byte, "OFFSET", REQUIRED);
PARAM(u32, nbytes, "LENGTH", REQUIRED);
REQUIRE(nbytes > 0, "LENGTH is 0");

static u32 hash_bytes(void)
{
    const u8 *bytes = header_array(u8, first_byte, nbytes);
    u32 sum = 0;

    for (u32 i = 0; i < nbytes; i++)
        sum += bytes[i];
    return NOUTPUTS == 2 || NOUTPUTS == 4 || NOUTPUTS == 8 ? sum ^ sum >> 4 : sum;
}

void push(int port)
{
    if (packet_length() < nbytes || packet_length() - nbytes < first_byte)
        emit(0);
    emit(hash_bytes() % (u32) NOUTPUTS);
}
