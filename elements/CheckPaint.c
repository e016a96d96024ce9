/*
 * CheckPaint(COLOR [, ANNO]) -- lets packets pass that have a given paint annotation
 *
 * Packets whose paint is COLOR leave by output 0; all others by output 1 if there is one, and are dropped otherwise. ANNO names another one-byte
 * annotation by its place, 16 (paint, the default) to 23.
 *
 * Handlers: color (read/write), the paint asked for.
 *
 * See also: Paint, PaintSwitch, PaintTee.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(CheckPaint, "1/1-2", "a/ah");
PARAM(u8, color, "COLOR", REQUIRED);
PARAM_AS(ANNO, int, anno, "ANNO", OPTIONAL(16));

enum { OTHER_PAINT };

static u8 current;

void init(void)
{
    current = color;
}

void packet(int port)
{
    if (annotation(anno) == current)
        emit(0);
    if (NOUTPUTS > 1)
        emit(1);
    drop(OTHER_PAINT);
}

READ(color, u8, current);
WRITE(color, u8, current);
