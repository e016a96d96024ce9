/*
 * PullNull -- passes pulled packets unchanged
 *
 * It makes an agnostic path pull.
 */
#include <netvm.h>

ELEMENT(PullNull, "1/1", "l/l");

void packet(int port)
{
    emit(0);
}
