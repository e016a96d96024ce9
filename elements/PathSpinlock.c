/*
 * PathSpinlock([LOCK]) -- keeps cores out of what is behind while another one is there
 *
 * Packets leave by the output of the input's number, unchanged: elements of which only one core may run are on one core anyhow (netvm run --place), so that nothing has to be locked. LOCK is
 * taken, and changes nothing.
 *
 * See also: Pipeliner. Source: the manual of FastClick's element.
 */
#include <netvm.h>

ELEMENT(PathSpinlock, "1-/=", "a/a");
ELEMENT_FLOW("#/#");
PARAM(string, lock, "LOCK", OPTIONAL(""));

void packet(int port)
{
    emit(port);
}
