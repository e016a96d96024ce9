/* What a plugin's files have in common. Made by netvm. */
#ifndef NETVM_PLUGIN_H
#define NETVM_PLUGIN_H

#include "netvm.h"
#include "config.h"

/* What may be measured: packets at once, how many ahead buffers are fetched into the cache, the
   program in a function of its own. */
#ifndef NETVM_AT_ONCE
#define NETVM_AT_ONCE 2
#endif
#ifndef NETVM_AHEAD
#define NETVM_AHEAD 4
#endif
#ifndef NETVM_CALLED
#define NETVM_CALLED 0
#endif

/* Next nodes of each node: fixed ones, then the program's own; node 0 has its place only for the
   numbers' sake. Others are added when outputs are mapped to nodes. */
enum
{
  NV_NEXT_DROP,
  NV_NEXT_INTERFACE,
  NV_NEXT_NODES,
  NV_NEXTS = NV_NEXT_NODES + NETVM_NODES,
};

/* Where packets go that leave by an output. */
typedef enum
{
  NV_TO_NOTHING,
  NV_TO_INTERFACE,
  NV_TO_NODE,
  NV_TO_FEATURE,
} netvm_to_t;

typedef struct
{
  u16 next;
  u16 to;
  u32 sw_if_index;
} netvm_output_t;

/* What is mapped, as nodes read it for each packet. */
typedef struct
{
  netvm_output_t outputs[NETVM_OUTPUTS + 1];
  /* By interface its input. */
  u32 *inputs;
  u32 interfaces;
  clib_spinlock_t lock;
} netvm_plugin_t;

/* What was found out of a packet, for show trace. */
typedef struct
{
  u32 end, element, value, site, length, node;
} netvm_trace_t;

extern netvm_plugin_t netvm_plugin;
extern vlib_node_registration_t netvm_node_0;

/* The input of packets of an interface; NETVM_NONE if it is no device's. */
static_always_inline u32
netvm_input (u32 sw_if_index)
{
#if NETVM_INPUTS == 0
  return NETVM_INPUT;
#else
  return PREDICT_TRUE (sw_if_index < netvm_plugin.interfaces) ? netvm_plugin.inputs[sw_if_index] : NETVM_NONE;
#endif
}

/* The name of an output: its device's, or its number. */
const char *netvm_output_name (u32 output);

/* Maps an input and an output, which may be ~0, to an interface. */
int netvm_map (u32 input, u32 output, u32 sw_if_index);

/* Takes an interface's packets no more. */
int netvm_unmap (u32 sw_if_index);

/* Maps an output to a node, to the rest of the feature arc by which packets came, or to nothing. */
int netvm_map_node (vlib_main_t *vm, u32 output, const char *node);
int netvm_map_feature (u32 output);
int netvm_map_nothing (u32 output);

/* The most bytes of a value that commands enter. */
#define NV_MOST_VALUE 256

/* Does a command that fills a table, of which those are the words behind add or del; why not, or 0. While it runs no packet does. */
const char *netvm_change (int adds, char **words, u32 count);

/* Takes all entries out that can be entered. */
void netvm_clear (void);

/* The next entry of a table as words of add; false if there is none. */
int netvm_entry_line (u32 element, u32 table, u32 *at, char *line, u32 size);

/* The number of a device's name among these; ~0 if there is none. */
u32 netvm_find (const char *const *names, u32 count, const char *name);

#endif
