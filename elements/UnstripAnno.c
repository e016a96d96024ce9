/*
 * UnstripAnno -- brings back what Search took off
 *
 * As many bytes before the packet's head as the annotation says that Search has set are part of it again. If there are fewer, or if something else was written there, the
 * packet is dropped (a trap).
 *
 * In FastClick the annotation can be chosen; that is left out.
 *
 * See also: Search, Unstrip. Source: the manual of FastClick's element.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(UnstripAnno, "1/1", "a/a");
INFO(u16, taken_off);

void packet(int port)
{
    packet_unpull(info(taken_off));
    emit(0);
}
