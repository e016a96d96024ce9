/*
 * Paint(COLOR [, ANNO]) -- sets the paint annotation
 *
 * Every packet gets the paint COLOR, 0 to 255, and leaves unchanged. ANNO names another one-byte annotation by its place: 16 (paint, the
 * default) to 23.
 *
 * Handlers: color (read/write), the paint.
 *
 * Example: packets from two sides meet, and it stays known where each came from:
 *
 *     left -> Paint(1) -> both :: Null;  right -> Paint(2) -> both;
 *
 * See also: CheckPaint, PaintSwitch, PaintTee.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Paint, "1/1", "a/a");
PARAM(u8, color, "COLOR", REQUIRED);
PARAM_AS(ANNO, int, anno, "ANNO", OPTIONAL(16));

static u8 current;

void init(void)
{
    current = color;
}

void packet(int port)
{
    set_annotation(anno, current);
    emit(0);
}

READ(color, u8, current);
WRITE(color, u8, current);
