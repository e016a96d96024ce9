/* Which interfaces and nodes a plugin's inputs and outputs are. Made by netvm. */
#include <vlib/vlib.h>
#include <vnet/vnet.h>
#include <vnet/feature/feature.h>
#include "plugin.h"

u32
netvm_find (const char *const *names, u32 count, const char *name)
{
  char digits[12];
  for (u32 n = 0; n < count; n++)
    {
      snprintf (digits, sizeof (digits), "%u", n);
      if (!strcmp (names && names[0] ? names[n] : digits, name))
	return n;
    }
  return ~0;
}

const char *
netvm_output_name (u32 output)
{
  static char digits[12];
  if (NETVM_INPUTS > 0)
    return output < NETVM_OUTPUTS ? netvm_outputs[output] : "-";
  snprintf (digits, sizeof (digits), "%u", output);
  return digits;
}

static int
output (u32 output, netvm_to_t to, u32 next, u32 sw_if_index)
{
  if (output >= NETVM_OUTPUTS)
    return -1;
  netvm_plugin.outputs[output] = (netvm_output_t) { .next = next, .to = to, .sw_if_index = sw_if_index };
  return 0;
}

/* Room for an interface's number; workers may be reading the old array, which therefore stays. */
static void
reach (u32 sw_if_index)
{
  const u32 have = netvm_plugin.interfaces, want = 2 * sw_if_index + 16;
  if (sw_if_index < have)
    return;
  u32 *inputs = clib_mem_alloc (want * sizeof (u32));
  for (u32 n = 0; n < want; n++)
    inputs[n] = n < have ? netvm_plugin.inputs[n] : NETVM_NONE;
  netvm_plugin.inputs = inputs;
  CLIB_MEMORY_STORE_BARRIER ();
  netvm_plugin.interfaces = want;
}

int
netvm_map (u32 input, u32 out, u32 sw_if_index)
{
  if (out != (u32) ~0 && output (out, NV_TO_INTERFACE, NV_NEXT_INTERFACE, sw_if_index))
    return -1;
  if (input == (u32) ~0)
    return 0;
  reach (sw_if_index);
  const int known = netvm_plugin.inputs[sw_if_index] != NETVM_NONE;
  netvm_plugin.inputs[sw_if_index] = input;
  return known ? 0 : vnet_feature_enable_disable ("device-input", NETVM_NODE, sw_if_index, 1, 0, 0);
}

int
netvm_unmap (u32 sw_if_index)
{
  if (sw_if_index >= netvm_plugin.interfaces || netvm_plugin.inputs[sw_if_index] == NETVM_NONE)
    return -1;
  const int failed = vnet_feature_enable_disable ("device-input", NETVM_NODE, sw_if_index, 0, 0, 0);
  netvm_plugin.inputs[sw_if_index] = NETVM_NONE;
  return failed;
}

int
netvm_map_node (vlib_main_t *vm, u32 out, const char *name)
{
  vlib_node_t *node = vlib_get_node_by_name (vm, (u8 *) name);
  return node ? output (out, NV_TO_NODE, vlib_node_add_next (vm, netvm_node_0.index, node->index), 0) : -1;
}

int
netvm_map_feature (u32 out)
{
  return output (out, NV_TO_FEATURE, 0, 0);
}

int
netvm_map_nothing (u32 out)
{
  return output (out, NV_TO_NOTHING, NV_NEXT_DROP, 0);
}
