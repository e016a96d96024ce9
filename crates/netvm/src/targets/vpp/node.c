/* Nodes of a VPP graph that run a program on vectors of packets: buffers in, each with its next
   node out. The program is C of its own, included here, so that the compiler sees both. Made by
   netvm. */
#include <vlib/vlib.h>
#include <vnet/vnet.h>
#include <vnet/feature/feature.h>
#include "plugin.h"
#pragma GCC diagnostic ignored "-Wparentheses"
#include "program.c"
#include "counters.c"

netvm_plugin_t netvm_plugin;

#if NETVM_CALLED
#define NV_PROGRAM static __attribute__ ((noinline))
#else
#define NV_PROGRAM static_always_inline
#endif

/* What a packet takes along from one node to the next, in the parts of the buffer's opaque areas
   that belong to whoever has the packet: this, and in the second such area, behind this, and before
   the packet info memory with values that the next node needs. */
typedef struct
{
  u16 element, port;
#if NETVM_MOVES
  u32 moved;
#endif
#if NETVM_MOVES || NETVM_ROUNDS_COUNTED
  u16 front, rounds;
#endif
#if NETVM_TIME
  u32 time[2];
#endif
} nv_meta_t;

#define nv_meta(b) ((nv_meta_t *) vnet_buffer (b)->unused)
#define NV_TAKEN (NETVM_INFO + NETVM_KEPT)
#define NV_FIRST_AREA (NV_TAKEN < 24 ? NV_TAKEN : 24)
#define NV_SECOND_ROOM ((int) (24 - sizeof (nv_meta_t)))
#define NV_SECOND_AREA (NV_TAKEN - NV_FIRST_AREA < NV_SECOND_ROOM ? NV_TAKEN - NV_FIRST_AREA : NV_SECOND_ROOM)
#define NV_THIRD_AREA (NV_TAKEN - NV_FIRST_AREA - NV_SECOND_AREA)

#if NETVM_NODES > 1
STATIC_ASSERT (sizeof (nv_meta_t) <= 24 && NV_THIRD_AREA <= VLIB_BUFFER_PRE_DATA_SIZE, "what a packet takes along");
#endif

/* A vector on its way, and where its packets go; a program that copies packets has more of them than
   came. */
typedef struct
{
  vlib_main_t *vm;
  vlib_node_runtime_t *node;
  u64 now;
  u32 size, at, left;
#if NETVM_COPIED
  u32 buffers[VLIB_FRAME_SIZE];
  u16 nexts[VLIB_FRAME_SIZE];
#endif
} nv_vector_t;

static_always_inline void
nv_drop (const nv_vector_t *v, vlib_buffer_t *b, u16 *next, u16 counter)
{
  b->error = v->node->errors[counter];
  *next = NV_NEXT_DROP;
}

/* A packet leaves by an output: to an interface, to a node, or along the feature arc by which it
   came. */
static_always_inline void
nv_leave (const nv_vector_t *v, vlib_buffer_t *b, u16 *next, u32 output)
{
  const netvm_output_t *o = output < NETVM_OUTPUTS ? &netvm_plugin.outputs[output] : 0;
  u32 feature;
  if (PREDICT_FALSE (!o || o->to == NV_TO_NOTHING))
    return nv_drop (v, b, next, NV_NO_OUTPUT);
  *next = o->next;
  if (o->to == NV_TO_FEATURE)
    {
      vnet_feature_next (&feature, b);
      *next = feature;
    }
  else if (o->to == NV_TO_INTERFACE)
    vnet_buffer (b)->sw_if_index[VLIB_TX] = o->sw_if_index;
}

static_always_inline void
nv_fresh (const nv_vector_t *v, vlib_buffer_t *b, struct netvm_packet *k, struct nv_run *r, u8 *info)
{
  *r = (struct nv_run) { .buffer = b->pre_data, .size = v->size, .at = VLIB_BUFFER_PRE_DATA_SIZE + b->current_data, .len = b->current_length };
  *k = (struct netvm_packet) { .end = NETVM_DROPPED, .element = NETVM_NONE, .value = NETVM_NOWHERE };
  if (PREDICT_FALSE (b->flags & VLIB_BUFFER_NEXT_PRESENT))
    r->missing = vlib_buffer_length_in_chain (v->vm, b) - b->current_length;
  if (NETVM_INFO)
    clib_memset (info, 0, NETVM_INFO);
  r->time_ns = v->now;
}

static_always_inline void
nv_load (vlib_buffer_t *b, struct netvm_packet *k, struct nv_run *r, u8 *info)
{
  const nv_meta_t *m = nv_meta (b);
  k->element = m->element, k->value = m->port;
  clib_memcpy_fast (info, vnet_buffer2 (b)->unused, NV_FIRST_AREA);
  clib_memcpy_fast (info + NV_FIRST_AREA, m + 1, NV_SECOND_AREA);
  clib_memcpy_fast (info + NV_FIRST_AREA + NV_SECOND_AREA, b->pre_data, NV_THIRD_AREA);
#if NETVM_MOVES
  r->moved = m->moved;
#endif
#if NETVM_MOVES || NETVM_ROUNDS_COUNTED
  r->front = m->front, r->rounds = m->rounds;
#endif
#if NETVM_TIME
  r->time_ns = (u64) m->time[1] << 32 | m->time[0];
#endif
}

static_always_inline void
nv_save (vlib_buffer_t *b, const struct netvm_packet *k, const struct nv_run *r, const u8 *info)
{
  nv_meta_t *m = nv_meta (b);
  m->element = k->element, m->port = k->value;
  clib_memcpy_fast (vnet_buffer2 (b)->unused, info, NV_FIRST_AREA);
  clib_memcpy_fast (m + 1, info + NV_FIRST_AREA, NV_SECOND_AREA);
  clib_memcpy_fast (b->pre_data, info + NV_FIRST_AREA + NV_SECOND_AREA, NV_THIRD_AREA);
#if NETVM_MOVES
  m->moved = r->moved;
#endif
#if NETVM_MOVES || NETVM_ROUNDS_COUNTED
  m->front = r->front, m->rounds = r->rounds;
#endif
#if NETVM_TIME
  m->time[0] = (u32) r->time_ns, m->time[1] = (u32) (r->time_ns >> 32);
#endif
}

static_always_inline void
nv_trace (const nv_vector_t *v, vlib_buffer_t *b, const struct netvm_packet *k, u32 at)
{
  if (PREDICT_TRUE (!(b->flags & VLIB_BUFFER_IS_TRACED)))
    return;
  netvm_trace_t *t = vlib_add_trace (v->vm, v->node, b, sizeof (*t));
  t->end = k->end, t->element = k->element, t->value = k->value, t->site = k->site, t->length = k->len, t->node = at;
}

/* A packet in a node. */
typedef struct
{
  struct netvm_packet k;
  struct nv_run r;
  u8 info[NETVM_INFO + NETVM_KEPT + 1] __attribute__ ((aligned (8)));
  int runs;
} nv_state_t;

static_always_inline void
nv_begin (const nv_vector_t *v, vlib_buffer_t *b, u16 *next, const u32 at, nv_state_t *s)
{
  nv_fresh (v, b, &s->k, &s->r, s->info);
  s->runs = 1;
  if (at > 0)
    nv_load (b, &s->k, &s->r, s->info);
  else
    s->k.input = netvm_input (vnet_buffer (b)->sw_if_index[VLIB_RX]);
  if (PREDICT_FALSE (NETVM_TAILS && s->r.missing))
    nv_drop (v, b, next, NV_CHAINED), s->runs = 0;
  else if (PREDICT_FALSE (at == 0 && s->k.input == NETVM_NONE))
    nv_drop (v, b, next, NV_NO_DEVICE), s->runs = 0;
}

/* In a function of its own the program has the packet in memory, not in registers. */
NV_PROGRAM void
nv_run (const u32 at, nv_state_t *s)
{
  if (at == 0)
    nv_first (&s->k, &s->r, s->info);
  else
    nv_resume (at, &s->k, &s->r, s->info, s->k.value);
}

static_always_inline void
nv_finish (const nv_vector_t *v, vlib_buffer_t *b, u16 *next, const u32 at, nv_state_t *s)
{
  if (NETVM_NODES > 1 && s->k.end == NETVM_GOES)
    {
      /* What was put in front of the packet may have taken the room before it. */
      if (NV_THIRD_AREA > 0 && PREDICT_FALSE (!nv_room (&s->r, NV_THIRD_AREA + s->r.front, 0)))
	return nv_drop (v, b, next, NV_FULL);
      s->k.at = s->r.at;
      nv_save (b, &s->k, &s->r, s->info);
      *next = NV_NEXT_NODES + nv_nodes[s->k.element];
    }
  else if (PREDICT_TRUE (s->k.end == NETVM_SENT))
    nv_leave (v, b, next, s->k.value);
  else
    nv_drop (v, b, next, nv_counter (at, &s->k));
  b->current_data = (i32) s->k.at - VLIB_BUFFER_PRE_DATA_SIZE;
  b->current_length = s->k.len;
  nv_trace (v, b, &s->k, at);
}

#if NETVM_COPIED
/* The vector whose packets are copied; programs that copy run one vector at a time. */
static nv_vector_t *nv_vector;

static_always_inline vlib_buffer_t *
nv_buffer (const struct nv_run *r)
{
  return (vlib_buffer_t *) (r->buffer - offsetof (vlib_buffer_t, pre_data));
}

static void
nv_put (nv_vector_t *v, u32 buffer, u16 next)
{
  v->buffers[v->left] = buffer, v->nexts[v->left++] = next;
  if (v->left == VLIB_FRAME_SIZE)
    vlib_buffer_enqueue_to_next (v->vm, v->node, v->buffers, v->nexts, v->left), v->left = 0;
}

static int
nv_copy_bytes (struct nv_copy *c, const struct nv_run *r, uint32_t front)
{
  vlib_buffer_t *b = nv_buffer (r), *copy;
  b->current_data = (i32) (r->at - front) - VLIB_BUFFER_PRE_DATA_SIZE;
  b->current_length = r->len + front;
  copy = vlib_buffer_copy (nv_vector->vm, b);
  if (!copy)
    return 0;
  /* Where the feature arc leads on. */
  copy->current_config_index = b->current_config_index;
  c->r.buffer = copy->pre_data, c->r.at = VLIB_BUFFER_PRE_DATA_SIZE + copy->current_data + front;
  return 1;
}

static void
nv_copy_left (struct nv_copy *c)
{
  nv_vector_t *v = nv_vector;
  vlib_buffer_t *b = nv_buffer (&c->r);
  nv_state_t s = { .k = c->k, .r = c->r };
  u16 next;
  clib_memcpy_fast (s.info, c->info, NETVM_INFO + NETVM_KEPT);
  nv_finish (v, b, &next, v->at, &s);
  nv_put (v, vlib_get_buffer_index (v->vm, b), next);
}
#endif

/* Some packets, in step: what each of them waits for is waited for together. */
static_always_inline void
nv_packets (const nv_vector_t *v, vlib_buffer_t **b, u16 *next, const u32 at, const u32 count)
{
  nv_state_t s[NETVM_AT_ONCE];
  for (u32 i = 0; i < count; i++)
    nv_begin (v, b[i], &next[i], at, &s[i]);
  for (u32 i = 0; i < count; i++)
    if (PREDICT_TRUE (s[i].runs))
      nv_run (at, &s[i]);
  for (u32 i = 0; i < count; i++)
    if (PREDICT_TRUE (s[i].runs))
      nv_finish (v, b[i], &next[i], at, &s[i]);
}

static_always_inline void
nv_prefetch (vlib_buffer_t *b)
{
  vlib_prefetch_buffer_header (b, LOAD);
  clib_prefetch_store (b->data);
}

/* A vector. What the program keeps is one for all workers: where it keeps something, one vector
   runs at a time. */
static_always_inline uword
nv_node (vlib_main_t *vm, vlib_node_runtime_t *node, vlib_frame_t *frame, const u32 at)
{
  vlib_buffer_t *buffers[VLIB_FRAME_SIZE];
  u16 nexts[VLIB_FRAME_SIZE];
  u32 *from = vlib_frame_vector_args (frame), i = 0;
  const u32 count = frame->n_vectors;
  nv_vector_t v;
  v.vm = vm, v.node = node, v.at = at, v.left = 0;
  v.now = NETVM_TIME && at == 0 ? unix_time_now_nsec () : 0;
  v.size = VLIB_BUFFER_PRE_DATA_SIZE + vlib_buffer_get_default_data_size (vm);

  vlib_get_buffers (vm, from, buffers, count);
  for (u32 n = 0; n < count && n < NETVM_AHEAD; n++)
    nv_prefetch (buffers[n]);
  if (NETVM_STATE)
    clib_spinlock_lock_if_init (&netvm_plugin.lock);
#if NETVM_COPIED
  nv_vector = &v;
  for (; i < count; i++)
    {
      nv_packets (&v, buffers + i, nexts + i, at, 1);
      nv_put (&v, from[i], nexts[i]);
    }
  vlib_buffer_enqueue_to_next (vm, node, v.buffers, v.nexts, v.left);
#else
  for (; i + NETVM_AT_ONCE <= count; i += NETVM_AT_ONCE)
    {
      for (u32 n = i + NETVM_AHEAD; n < i + NETVM_AHEAD + NETVM_AT_ONCE && n < count; n++)
	nv_prefetch (buffers[n]);
      nv_packets (&v, buffers + i, nexts + i, at, NETVM_AT_ONCE);
    }
  for (; i < count; i++)
    nv_packets (&v, buffers + i, nexts + i, at, 1);
#endif
  if (NETVM_STATE)
    clib_spinlock_unlock_if_init (&netvm_plugin.lock);
#if !NETVM_COPIED
  vlib_buffer_enqueue_to_next (vm, node, from, nexts, count);
#endif
  return count;
}

/* What show trace prints. */
static u8 *
nv_format_trace (u8 *s, va_list *args)
{
  CLIB_UNUSED (vlib_main_t * vm) = va_arg (*args, vlib_main_t *);
  CLIB_UNUSED (vlib_node_t * node) = va_arg (*args, vlib_node_t *);
  const netvm_trace_t *t = va_arg (*args, netvm_trace_t *);
  const struct netvm_packet k = { .end = t->end, .element = t->element, .value = t->value };
  if (t->end == NETVM_GOES)
    return format (s, "%s: to node %u, %u bytes", NETVM_PLUGIN, nv_nodes[t->element], t->length);
  if (t->end == NETVM_SENT)
    return format (s, "%s: sent by output %s, %u bytes", NETVM_PLUGIN, netvm_output_name (t->value), t->length);
  if (t->end == NETVM_TRAPPED)
    return format (s, "%s: trapped in %s, kind %u, instruction %u", NETVM_PLUGIN, netvm_elements[t->element], t->value, t->site);
  return format (s, "%s: dropped, %s", NETVM_PLUGIN, nv_counter_name (t->node, &k));
}

#define NV_FUNCTION(n)                                                        \
  VLIB_NODE_FN (netvm_node_##n)                                               \
  (vlib_main_t * vm, vlib_node_runtime_t * node, vlib_frame_t * frame)        \
  {                                                                           \
    return nv_node (vm, node, frame, n);                                      \
  }

/* Nodes behind the first one have its next nodes. */
#define NV_REGISTERED(n, called)                                              \
  NV_FUNCTION (n)                                                             \
  VLIB_REGISTER_NODE (netvm_node_##n) = {                                     \
    .name = called,                                                           \
    .vector_size = sizeof (u32),                                              \
    .format_trace = nv_format_trace,                                          \
    .type = VLIB_NODE_TYPE_INTERNAL,                                          \
    .n_errors = ARRAY_LEN (nv_counters##n),                                   \
    .error_strings = nv_counters##n,                                          \
    .sibling_of = NETVM_NODE,                                                 \
  };

NV_FUNCTION (0)
VLIB_REGISTER_NODE (netvm_node_0) = {
  .name = NETVM_NODE,
  .vector_size = sizeof (u32),
  .format_trace = nv_format_trace,
  .type = VLIB_NODE_TYPE_INTERNAL,
  .n_errors = ARRAY_LEN (nv_counters0),
  .error_strings = nv_counters0,
  .n_next_nodes = NV_NEXTS,
  .next_nodes = { NETVM_NEXT_NAMES },
};
NETVM_OTHER_NODES (NV_REGISTERED)

/* Packets come from interfaces, before VPP looks at them. */
VNET_FEATURE_INIT (netvm_feature, static) = {
  .arc_name = "device-input",
  .node_name = NETVM_NODE,
  .runs_before = VNET_FEATURES ("ethernet-input"),
};
