/*
 * PaintSwitch([ANNO]) -- sends each packet to the output that its paint annotation names
 *
 * A packet with paint K leaves by output K; if there is no such output, it is dropped. Paint 255 means all: every output gets a copy. ANNO names
 * another one-byte annotation by its place, 16 (paint, the default) to 23.
 *
 * See also: Paint, PaintTee, CheckPaint.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(PaintSwitch, "1/-", "h/h");
PARAM_AS(ANNO, int, anno, "ANNO", OPTIONAL(16));

enum { ALL_OUTPUTS = 255, NO_OUTPUT };

void push(int port)
{
    u8 paint_of_packet = annotation(anno);

    if (paint_of_packet == ALL_OUTPUTS && NOUTPUTS > 0) {
        for (int i = 0; i < NOUTPUTS - 1; i++)
            clone(i);
        emit(NOUTPUTS - 1);
    }
    if (paint_of_packet < NOUTPUTS)
        emit(paint_of_packet);
    drop(NO_OUTPUT);
}
