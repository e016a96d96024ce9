/* A plugin's registration and commands. Made by netvm. */
#include <vlib/vlib.h>
#include <vlib/threads.h>
#include <vnet/vnet.h>
#include <vnet/feature/feature.h>
#include <vnet/plugin/plugin.h>
#include "plugin.h"

static clib_error_t *
nv_init (vlib_main_t *vm)
{
  const u64 seed = unix_time_now_nsec ();
  for (u32 n = 0; n < NETVM_OUTPUTS; n++)
    if (NETVM_PASSES (n))
      netvm_map_feature (n);
  netvm_start (seed * 0x9e3779b97f4a7c15ull, clib_cpu_time_now () ^ seed);
  return 0;
}

VLIB_INIT_FUNCTION (nv_init);

/* Workers are known when all has been configured. */
static clib_error_t *
nv_workers (vlib_main_t *vm)
{
  if (NETVM_STATE && vlib_num_workers () > 0)
    clib_spinlock_init (&netvm_plugin.lock);
  return 0;
}

VLIB_MAIN_LOOP_ENTER_FUNCTION (nv_workers);

/* map DEVICE INTERFACE: the device's packets come from the interface and leave by it. */
static clib_error_t *
nv_map_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  clib_error_t *error = 0;
  u8 *name = 0;
  u32 sw_if_index = ~0;
  if (!unformat (text, "%s %U", &name, unformat_vnet_sw_interface, vnet_get_main (), &sw_if_index))
    return clib_error_return (0, "expected DEVICE INTERFACE");
  u32 input = NETVM_INPUTS ? netvm_find (netvm_inputs, NETVM_INPUTS, (char *) name) : ~0;
  const u32 output = netvm_find (netvm_outputs, NETVM_OUTPUTS, (char *) name);
  if (!NETVM_INPUTS && !strcmp ((char *) name, "input"))
    input = 0;
  if (input == (u32) ~0 && output == (u32) ~0)
    error = clib_error_return (0, "%s is neither an input nor an output", name);
  else if (netvm_map (input, output, sw_if_index))
    error = clib_error_return (0, "the interface's packets cannot be taken");
  vec_free (name);
  return error;
}

VLIB_CLI_COMMAND (nv_map_cli, static) = {
  .path = "netvm " NETVM_PLUGIN " map",
  .short_help = "netvm " NETVM_PLUGIN " map DEVICE INTERFACE",
  .function = nv_map_command,
};

/* unmap INTERFACE */
static clib_error_t *
nv_unmap_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  u32 sw_if_index = ~0;
  if (!unformat (text, "%U", unformat_vnet_sw_interface, vnet_get_main (), &sw_if_index))
    return clib_error_return (0, "expected INTERFACE");
  return netvm_unmap (sw_if_index) ? clib_error_return (0, "the interface is no input") : 0;
}

VLIB_CLI_COMMAND (nv_unmap_cli, static) = {
  .path = "netvm " NETVM_PLUGIN " unmap",
  .short_help = "netvm " NETVM_PLUGIN " unmap INTERFACE",
  .function = nv_unmap_command,
};

/* output OUTPUT next|drop|node NODE */
static clib_error_t *
nv_output_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  clib_error_t *error = 0;
  u8 *name = 0, *node = 0;
  int failed = 0;
  if (!unformat (text, "%s", &name))
    return clib_error_return (0, "expected OUTPUT next, OUTPUT drop or OUTPUT node NODE");
  const u32 output = netvm_find (netvm_outputs, NETVM_OUTPUTS, (char *) name);
  if (unformat (text, "next"))
    failed = netvm_map_feature (output);
  else if (unformat (text, "drop"))
    failed = netvm_map_nothing (output);
  else if (unformat (text, "node %s", &node))
    failed = netvm_map_node (vm, output, (char *) node);
  else
    error = clib_error_return (0, "expected next, drop or node NODE");
  if (failed)
    error = clib_error_return (0, "there is no output %s, or no such node", name);
  vec_free (name);
  vec_free (node);
  return error;
}

VLIB_CLI_COMMAND (nv_output_cli, static) = {
  .path = "netvm " NETVM_PLUGIN " output",
  .short_help = "netvm " NETVM_PLUGIN " output OUTPUT next|drop|node NODE",
  .function = nv_output_command,
};

/* The words of a command, up to five and what is one too many. */
static clib_error_t *
nv_change (unformat_input_t *text, int adds)
{
  char *words[6];
  u8 *word = 0;
  u32 count = 0;
  while (count < ARRAY_LEN (words) && unformat (text, "%s", &word))
    words[count++] = (char *) word, word = 0;
  const char *why = netvm_change (adds, words, count);
  while (count > 0)
    {
      word = (u8 *) words[--count];
      vec_free (word);
    }
  return why ? clib_error_return (0, "%s", why) : 0;
}

/* Commands run while workers wait, unless they say that they need not. */
static clib_error_t *
nv_add_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  return nv_change (text, 1);
}

VLIB_CLI_COMMAND (nv_add_cli, static) = {
  .path = "netvm " NETVM_PLUGIN " add",
  .short_help = "netvm " NETVM_PLUGIN " add ELEMENT TABLE KEY[/MASK|-LAST] VALUE [PRIORITY]",
  .function = nv_add_command,
};

static clib_error_t *
nv_del_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  return nv_change (text, 0);
}

VLIB_CLI_COMMAND (nv_del_cli, static) = {
  .path = "netvm " NETVM_PLUGIN " del",
  .short_help = "netvm " NETVM_PLUGIN " del ELEMENT TABLE KEY[/MASK|-LAST] [PRIORITY]",
  .function = nv_del_command,
};

static clib_error_t *
nv_clear_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  netvm_clear ();
  return 0;
}

VLIB_CLI_COMMAND (nv_clear_cli, static) = {
  .path = "netvm " NETVM_PLUGIN " clear",
  .short_help = "netvm " NETVM_PLUGIN " clear",
  .function = nv_clear_command,
};

/* The entries of all tables, as words of add. */
static clib_error_t *
nv_entries_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  char line[1024];
  for (u32 element = 0; netvm_elements[element]; element++)
    for (u32 table = 0; table < netvm_tables (element); table++)
      for (u32 at = 0; netvm_entry_line (element, table, &at, line, sizeof (line));)
	vlib_cli_output (vm, "%s", line);
  return 0;
}

VLIB_CLI_COMMAND (nv_entries_cli, static) = {
  .path = "show netvm " NETVM_PLUGIN " entries",
  .short_help = "show netvm " NETVM_PLUGIN " entries",
  .function = nv_entries_command,
};

/* What is mapped, and what tables hold. */
static clib_error_t *
nv_show_command (vlib_main_t *vm, unformat_input_t *text, vlib_cli_command_t *command)
{
  static const char *to[] = { "nothing", "interface", "node", "the next feature" };
  for (u32 n = 0; n < netvm_plugin.interfaces; n++)
    if (netvm_plugin.inputs[n] != NETVM_NONE)
      vlib_cli_output (vm, "input %u: %U", netvm_plugin.inputs[n], format_vnet_sw_if_index_name, vnet_get_main (), n);
  for (u32 n = 0; n < NETVM_OUTPUTS; n++)
    {
      const netvm_output_t *o = &netvm_plugin.outputs[n];
      if (o->to == NV_TO_INTERFACE)
	vlib_cli_output (vm, "output %s: %U", netvm_output_name (n), format_vnet_sw_if_index_name, vnet_get_main (), o->sw_if_index);
      else if (o->to != NV_TO_NOTHING)
	vlib_cli_output (vm, "output %s: %s", netvm_output_name (n), to[o->to]);
    }
  for (u32 element = 0; netvm_elements[element]; element++)
    for (u32 table = 0; table < netvm_tables (element); table++)
      {
	struct netvm_entry entry;
	struct netvm_table t;
	u32 count = 0;
	for (u32 at = 0; netvm_entry (element, table, &at, &entry);)
	  count++;
	if (netvm_table (element, table, &t))
	  vlib_cli_output (vm, "%s: table %s has %u entries of %u", netvm_elements[element], t.name, count, t.capacity);
      }
  return 0;
}

VLIB_CLI_COMMAND (nv_show_cli, static) = {
  .path = "show netvm " NETVM_PLUGIN,
  .short_help = "show netvm " NETVM_PLUGIN,
  .function = nv_show_command,
};

VLIB_PLUGIN_REGISTER () = {
  .version = NETVM_VERSION,
  .description = "netvm: " NETVM_PLUGIN,
};
