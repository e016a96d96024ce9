/*
 * paint.c -- a complete standalone application, as a generator would write it
 *
 *     FromDump(IN) -> paint :: Paint(3) -> count :: Counter -> check :: CheckPaint(3) -> repaint :: Paint(7) -> wrong :: CheckPaint(3);
 *     wrong[0] -> idle :: Idle;  wrong[1] -> passed :: Counter -> to_dump :: ToDump(OUT);
 *
 * Usage: paint IN OUT; prints both counts. Instances of a class share nothing: their file-level names are renamed.
 */
#include <stdio.h>
#include <stdlib.h>

#define NV_GENERATED
#include "../netvm_run.h"

/* Offsets of the info fields that these elements use; no two overlap. */
static const u32
    nv_info_paint = 0,
    nv_info_icmp_parameter_problem = 1,
    nv_info_user18 = 2,
    nv_info_fix_ip_src = 3,
    nv_info_user20 = 4,
    nv_info_user21 = 5,
    nv_info_user22 = 6,
    nv_info_user23 = 7,
    nv_info_vlan_tci = 8,
    nv_info_packet_type = 10,
    nv_info_dst_ip = 12,
    nv_info_dst_ip6 = 16,
    nv_info_mac_header = 32,
    nv_info_network_header = 36,
    nv_info_transport_header = 40,
    nv_info_has_mac_header = 44,
    nv_info_has_network_header = 45,
    nv_info_has_transport_header = 46;

static struct nv_element i_paint, i_count, i_check, i_repaint, i_wrong, i_idle, i_passed, i_to_dump;

/* paint :: Paint(3) */
#define nv_self i_paint
#define NINPUTS 1
#define NOUTPUTS 1
#define color paint_color
#define anno paint_anno
#define current paint_current
#define packet paint_packet
#define init paint_init
static const u8 color = 3;
static const int anno = 16;
#include "../../Paint.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef color
#undef anno
#undef current
#undef packet
#undef init
static const struct nv_output paint_outputs[] = { { &i_count, 0 } };
static struct nv_element i_paint = {
    .name = "paint", .packet = paint_packet, .init = paint_init, .outputs = paint_outputs, .noutputs = 1,
};

/* count :: Counter */
#define nv_self i_count
#define NINPUTS 1
#define NOUTPUTS 1
#define count count_count
#define byte_count count_byte_count
#define packet_rate count_packet_rate
#define bytes_rate count_bytes_rate
#define rate_now count_rate_now
#define byte_rate_now count_byte_rate_now
#define bit_rate_now count_bit_rate_now
#define reset_counts count_reset_counts
#define packet count_packet
#include "../../Counter.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef count
#undef byte_count
#undef packet_rate
#undef bytes_rate
#undef rate_now
#undef byte_rate_now
#undef bit_rate_now
#undef reset_counts
#undef packet
static const struct nv_output count_outputs[] = { { &i_check, 0 } };
static struct nv_element i_count = {
    .name = "count", .packet = count_packet, .outputs = count_outputs, .noutputs = 1,
};

/* check :: CheckPaint(3) */
#define nv_self i_check
#define NINPUTS 1
#define NOUTPUTS 1
#define color check_color
#define anno check_anno
#define current check_current
#define OTHER_PAINT check_OTHER_PAINT
#define packet check_packet
#define init check_init
static const u8 color = 3;
static const int anno = 16;
#include "../../CheckPaint.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef color
#undef anno
#undef current
#undef OTHER_PAINT
#undef packet
#undef init
static const struct nv_output check_outputs[] = { { &i_repaint, 0 } };
static struct nv_element i_check = {
    .name = "check", .packet = check_packet, .init = check_init, .outputs = check_outputs, .noutputs = 1,
};

/* repaint :: Paint(7) */
#define nv_self i_repaint
#define NINPUTS 1
#define NOUTPUTS 1
#define color repaint_color
#define anno repaint_anno
#define current repaint_current
#define packet repaint_packet
#define init repaint_init
static const u8 color = 7;
static const int anno = 16;
#include "../../Paint.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef color
#undef anno
#undef current
#undef packet
#undef init
static const struct nv_output repaint_outputs[] = { { &i_wrong, 0 } };
static struct nv_element i_repaint = {
    .name = "repaint", .packet = repaint_packet, .init = repaint_init, .outputs = repaint_outputs, .noutputs = 1,
};

/* wrong :: CheckPaint(3) */
#define nv_self i_wrong
#define NINPUTS 1
#define NOUTPUTS 2
#define color wrong_color
#define anno wrong_anno
#define current wrong_current
#define OTHER_PAINT wrong_OTHER_PAINT
#define packet wrong_packet
#define init wrong_init
static const u8 color = 3;
static const int anno = 16;
#include "../../CheckPaint.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef color
#undef anno
#undef current
#undef OTHER_PAINT
#undef packet
#undef init
static const struct nv_output wrong_outputs[] = { { &i_idle, 0 }, { &i_passed, 0 } };
static struct nv_element i_wrong = {
    .name = "wrong", .packet = wrong_packet, .init = wrong_init, .outputs = wrong_outputs, .noutputs = 2,
};

/* idle :: Idle */
#define nv_self i_idle
#define NINPUTS 1
#define NOUTPUTS 0
#define IDLE idle_IDLE
#define packet idle_packet
#include "../../Idle.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef IDLE
#undef packet
static struct nv_element i_idle = {
    .name = "idle", .packet = idle_packet,
};

/* passed :: Counter */
#define nv_self i_passed
#define NINPUTS 1
#define NOUTPUTS 1
#define count passed_count
#define byte_count passed_byte_count
#define packet_rate passed_packet_rate
#define bytes_rate passed_bytes_rate
#define rate_now passed_rate_now
#define byte_rate_now passed_byte_rate_now
#define bit_rate_now passed_bit_rate_now
#define reset_counts passed_reset_counts
#define packet passed_packet
#include "../../Counter.c"
#undef nv_self
#undef NINPUTS
#undef NOUTPUTS
#undef count
#undef byte_count
#undef packet_rate
#undef bytes_rate
#undef rate_now
#undef byte_rate_now
#undef bit_rate_now
#undef reset_counts
#undef packet
static const struct nv_output passed_outputs[] = { { &i_to_dump, 0 } };
static struct nv_element i_passed = {
    .name = "passed", .packet = passed_packet, .outputs = passed_outputs, .noutputs = 1,
};

/* to_dump :: ToDump(OUT) */
static struct nv_element i_to_dump = { .name = "to_dump", .packet = nv_capture_packet };

static struct nv_element *const elements[] = { &i_paint, &i_count, &i_check, &i_repaint, &i_wrong, &i_idle, &i_passed, &i_to_dump };

static void show(struct nv_element *element, const char *handler)
{
    char *value = nv_read_handler(element, handler);

    printf("%s.%s: %s\n", element->name, handler, value ? value : "no such handler");
    free(value);
}

int main(int argc, char **argv)
{
    bool done;

    if (argc != 3 || !nv_open_capture(argv[2], 1))
        return 2;
    nv_start(elements, sizeof(elements) / sizeof(elements[0]));
    done = nv_read_capture(argv[1], &i_paint, 0);
    done = nv_close_capture() && done;
    show(&i_count, "count");
    show(&i_passed, "count");
    return done ? 0 : 1;
}
