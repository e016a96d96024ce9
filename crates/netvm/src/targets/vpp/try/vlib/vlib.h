/* The part of VPP's interface for plugins that netvm's nodes use, for trying them without VPP:
   written from its public documentation, with the names and meanings of FD.io's vlib and vnet.
   Buffers, frames and nodes are simpler here; try/main.c has what is behind them. */
#ifndef TRY_VLIB_H
#define TRY_VLIB_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t i16;
typedef int32_t i32;
typedef uintptr_t uword;

#define always_inline static inline __attribute__ ((always_inline, unused))
#define static_always_inline always_inline
#define PREDICT_TRUE(x) __builtin_expect (!!(x), 1)
#define PREDICT_FALSE(x) __builtin_expect (!!(x), 0)
#define STATIC_ASSERT(x, text) _Static_assert (x, text)
#define ARRAY_LEN(x) (sizeof (x) / sizeof ((x)[0]))
#define CLIB_UNUSED(x) x __attribute__ ((unused))
#define CLIB_MEMORY_STORE_BARRIER() __sync_synchronize ()
#define clib_memset memset
#define clib_memcpy_fast memcpy
#define clib_mem_alloc malloc

/* ---- buffers ---- */

enum
{
  VLIB_BUFFER_PRE_DATA_SIZE = 128,
  VLIB_FRAME_SIZE = 256,
  VLIB_BUFFER_IS_TRACED = 1 << 0,
  VLIB_BUFFER_NEXT_PRESENT = 1 << 1,
};

typedef u16 vlib_error_t;

typedef struct
{
  i16 current_data;
  u16 current_length;
  u32 flags;
  vlib_error_t error;
  u32 next_buffer;
  u32 current_config_index;
  u32 opaque[10];
  u32 trace_handle;
  u32 total_length_not_including_first_buffer;
  u32 opaque2[14];
  u8 pre_data[VLIB_BUFFER_PRE_DATA_SIZE] __attribute__ ((aligned (64)));
  u8 data[];
} vlib_buffer_t;

/* ---- nodes ---- */

typedef struct
{
  u16 n_vectors;
  u32 vector[VLIB_FRAME_SIZE];
} vlib_frame_t;

typedef struct
{
  u32 node_index;
  vlib_error_t *errors;
} vlib_node_runtime_t;

/* Buffers of one size, in one piece of memory. */
typedef struct
{
  u8 *buffers;
  u32 data_size, stride;
} vlib_main_t;

typedef uword (vlib_node_function_t) (vlib_main_t *, vlib_node_runtime_t *, vlib_frame_t *);
typedef u8 *(format_function_t) (u8 *, va_list *);

typedef enum
{
  VLIB_NODE_TYPE_INTERNAL,
} vlib_node_type_t;

typedef struct vlib_node_registration
{
  vlib_node_function_t *function;
  char *name;
  char *sibling_of;
  u32 index;
  vlib_node_type_t type;
  char **error_strings;
  format_function_t *format_trace;
  u8 vector_size;
  u16 n_errors;
  u16 n_next_nodes;
  struct vlib_node_registration *next_registration;
  char *next_nodes[];
} vlib_node_registration_t;

typedef struct
{
  u32 index;
  char *name;
} vlib_node_t;

extern vlib_node_registration_t *try_registrations;

#define VLIB_REGISTER_NODE(x)                                                 \
  extern vlib_node_registration_t x;                                          \
  static void __attribute__ ((constructor)) try_register_##x (void)           \
  {                                                                           \
    x.function = x##_fn;                                                      \
    x.next_registration = try_registrations;                                  \
    try_registrations = &x;                                                   \
  }                                                                           \
  vlib_node_registration_t x

#define VLIB_NODE_FN(x)                                                       \
  static vlib_node_function_t x##_fn;                                         \
  static uword x##_fn

static_always_inline u32 *
vlib_frame_vector_args (vlib_frame_t *frame)
{
  return frame->vector;
}

static_always_inline vlib_buffer_t *
vlib_get_buffer (vlib_main_t *vm, u32 index)
{
  return (vlib_buffer_t *) (vm->buffers + (uword) index * vm->stride);
}

static_always_inline void
vlib_get_buffers (vlib_main_t *vm, u32 *from, vlib_buffer_t **buffers, u32 count)
{
  for (u32 n = 0; n < count; n++)
    buffers[n] = vlib_get_buffer (vm, from[n]);
}

static_always_inline u32
vlib_get_buffer_index (vlib_main_t *vm, void *b)
{
  return (u32) (((u8 *) b - vm->buffers) / vm->stride);
}

static_always_inline u32
vlib_buffer_get_default_data_size (vlib_main_t *vm)
{
  return vm->data_size;
}

static_always_inline uword
vlib_buffer_length_in_chain (vlib_main_t *vm, vlib_buffer_t *b)
{
  return b->current_length + (b->flags & VLIB_BUFFER_NEXT_PRESENT ? b->total_length_not_including_first_buffer : 0);
}

#define LOAD 0
#define vlib_prefetch_buffer_header(b, type) __builtin_prefetch (b, type)

static_always_inline void
clib_prefetch_store (void *p)
{
  __builtin_prefetch (p, 1);
}

void vlib_buffer_enqueue_to_next (vlib_main_t *, vlib_node_runtime_t *, u32 *from, u16 *nexts, uword count);
vlib_buffer_t *vlib_buffer_copy (vlib_main_t *, vlib_buffer_t *);
void *vlib_add_trace (vlib_main_t *, vlib_node_runtime_t *, vlib_buffer_t *, u32 bytes);
vlib_node_t *vlib_get_node_by_name (vlib_main_t *, u8 *name);
uword vlib_node_add_next (vlib_main_t *, uword node, uword next);
u8 *format (u8 *, const char *, ...);
u64 unix_time_now_nsec (void);

/* ---- locks ---- */

typedef volatile u32 *clib_spinlock_t;

static_always_inline void
clib_spinlock_lock_if_init (clib_spinlock_t *lock)
{
  if (PREDICT_FALSE (*lock != 0))
    while (__sync_lock_test_and_set (*lock, 1))
      ;
}

static_always_inline void
clib_spinlock_unlock_if_init (clib_spinlock_t *lock)
{
  if (PREDICT_FALSE (*lock != 0))
    __sync_lock_release (*lock);
}

/* ---- vnet ---- */

enum
{
  VLIB_RX,
  VLIB_TX,
};

typedef struct
{
  u32 sw_if_index[2];
  i16 offsets[4];
  u32 unused[6];
} vnet_buffer_opaque_t;

typedef struct
{
  u32 others[8];
  u32 unused[6];
} vnet_buffer_opaque2_t;

#define vnet_buffer(b) ((vnet_buffer_opaque_t *) (b)->opaque)
#define vnet_buffer2(b) ((vnet_buffer_opaque2_t *) (b)->opaque2)

typedef struct
{
  char *arc_name, *node_name;
  char **runs_before;
} vnet_feature_registration_t;

#define VNET_FEATURES(...) (char *[]) { __VA_ARGS__, 0 }
#define VNET_FEATURE_INIT(x, kind) kind __attribute__ ((used)) vnet_feature_registration_t x

void vnet_feature_next (u32 *next, vlib_buffer_t *b);
int vnet_feature_enable_disable (const char *arc, const char *node, u32 sw_if_index, int enable, void *data, u32 bytes);

#endif
