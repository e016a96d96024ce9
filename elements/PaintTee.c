/*
 * PaintTee(COLOR [, ANNO]) -- copies packets that have a given paint annotation
 *
 * Every packet leaves by output 0. If its paint is COLOR, a copy leaves by output 1 as well. ANNO names another one-byte annotation by its place,
 * 16 (paint, the default) to 23.
 *
 * Example: a packet that leaves by the interface it came from has its sender told so (ICMP redirect):
 *
 *     from7 -> Paint(7) -> routes;  routes[7] -> p :: PaintTee(7) -> to7;  p[1] -> ICMPError(18.26.4.24, redirect, host) -> routes;
 *
 * See also: Paint, CheckPaint, ICMPError.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(PaintTee, "1/2", "a/ah");
PARAM(u8, color, "COLOR", REQUIRED);
PARAM_AS(ANNO, int, anno, "ANNO", OPTIONAL(16));

static u8 current;

void init(void)
{
    current = color;
}

void packet(int port)
{
    if (annotation(anno) == current)
        clone(1);
    emit(0);
}

READ(color, u8, current);
WRITE(color, u8, current);
