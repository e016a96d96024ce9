=== before the first case of a switch
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
void packet(int port)
{
    switch (port) { u32 a; typedef u8 byte; byte b = 3; case 1: a = 1; b = a; }
    switch (port) { port = 1; case 1: break; }
    switch (port) emit(0);
    switch (port) default: case 1: emit(0);
    switch (port) case 1: case 1: emit(0);
}
