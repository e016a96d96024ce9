/*
 * Null -- passes packets unchanged
 *
 * It makes configurations easier to read where several paths meet: `meet :: Null; a -> meet; b -> meet; meet -> c;`.
 */
#include <netvm.h>

ELEMENT(Null, "1/1", "a/a");

void packet(int port)
{
    emit(0);
}
