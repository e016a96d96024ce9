/*
 * Align(MODULUS, OFFSET) -- asks for packets at certain addresses
 *
 * Packets leave unchanged: programs may read numbers at any address, so nothing has to be moved. It is there because configurations name it.
 */
#include <netvm.h>

ELEMENT(Align, "1/1", "a/a");
PARAM(u32, modulus, "MODULUS", REQUIRED);
PARAM(u32, offset, "OFFSET", REQUIRED);

void packet(int port)
{
    emit(0);
}
