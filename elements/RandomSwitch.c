/*
 * RandomSwitch -- sends packets to outputs at random
 *
 * Each packet leaves by one of the outputs; each output is as likely as the others, whatever came before. As all random numbers here, which it is depends on nothing but the seed (RandomSeed) and
 * the packet's number.
 *
 * See also: RoundRobinSwitch, HashSwitch, Switch, RandomSample.
 */
#include <netvm.h>

ELEMENT(RandomSwitch, "1/1-", "h/h");

void push(int port)
{
    emit((int) ((u64) random32() * (u64) NOUTPUTS >> 32));
}
