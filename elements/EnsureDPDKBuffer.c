/*
 * EnsureDPDKBuffer([FORCE_COPY, EXTRA_HEADROOM]) -- asks for packets in a device's memory
 *
 * Packets leave unchanged: where they are is netvm's business. It is there because configurations name it.
 *
 * See also: Align. Source: the manual of FastClick's element.
 */
#include <netvm.h>

ELEMENT(EnsureDPDKBuffer, "1/1", "a/a");
PARAM(bool, force_copy, "FORCE_COPY", OPTIONAL(false));
PARAM(u32, extra_headroom, "EXTRA_HEADROOM", KEYWORD(0));

void packet(int port)
{
    emit(0);
}
