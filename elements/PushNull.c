/*
 * PushNull -- passes pushed packets unchanged
 *
 * It makes an agnostic path push.
 */
#include <netvm.h>

ELEMENT(PushNull, "1/1", "h/h");

void push(int port)
{
    emit(0);
}
