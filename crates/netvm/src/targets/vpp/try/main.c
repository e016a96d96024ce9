/* Tries a plugin's nodes without VPP: makes vectors of packets from pcap files, INPUT=FILE of the
   arguments or standard input, in the order of their times; dispatches them from node to node, and
   writes what became of each to standard output, and what leaves by an output to the file
   port-OUTPUT.pcap. Made by netvm.

   program [-v VECTOR] [-d BYTES] [-s BYTES] [-t] [-r ROUNDS] [-c FILE] [INPUT=FILE ...]
     -v  packets in a vector at most (256)
     -d  bytes of a buffer behind its first 128 (66432; VPP's default is 2048); of a packet that is
         longer, which is several buffers, only the first is here
     -s  makes packets so long, with zeros, or so short
     -t  writes the trace of each packet instead
     -c  does the commands of a file first, lines that begin with `netvm PLUGIN add`, `del` or `clear`
         (entries.c), and says of each that fails why
     -r  runs all packets so often and writes nanoseconds a packet */
#include <vlib/vlib.h>
#include <errno.h>
#include <time.h>
#include "plugin.h"

enum
{
  DROP,
  INTERFACE,
  FEATURE, /* where the feature arc leads on */
  REACHED, /* a node that an output is mapped to */
  OWN,
  NODES = 1024,
  NEXTS = 1200,
  TRACES = 64,
  FIRST = 100, /* the interface of input and output 0 */
  BUFFERS = 16 * VLIB_FRAME_SIZE,
};

vlib_node_registration_t *try_registrations;

typedef struct
{
  char *name;
  vlib_node_registration_t *registered;
  vlib_node_runtime_t runtime;
  u32 next[NEXTS], nexts, waiting;
  u64 *counts, calls, packets;
  double seconds;
  vlib_frame_t *frame;
} node_t;

typedef struct
{
  u32 input, length, file;
  u64 time;
  u8 *bytes;
} packet_t;

static vlib_main_t vm;
static node_t nodes[NODES];
static u32 node_count, queue[NODES], queue_count;
static packet_t *packets;
static u32 packet_count, vector = VLIB_FRAME_SIZE, size;
static u64 now;
static int tracing, timing;
static u32 link_type;
static char **error_names;
static u32 error_count;
static u8 *enabled;
/* Buffers of copies lie behind those of the vector; in the order in which they left. */
static u32 copy_count, copies[BUFFERS], left_count;

/* By buffer of a vector: the packet, its last traces, and where it ended. */
static struct
{
  u32 packet, traces, end;
  netvm_trace_t trace[TRACES];
  format_function_t *format[TRACES];
} *buffers;

static void __attribute__ ((noreturn))
fail (const char *what)
{
  fprintf (stderr, "%s\n", what);
  exit (2);
}

/* ---- what nodes call ---- */

u64
unix_time_now_nsec (void)
{
  return now;
}

static void
dispatch_later (u32 n)
{
  if (!nodes[n].waiting)
    queue[queue_count++] = n;
  nodes[n].waiting = 1;
}

static void run_node (u32 n);

static void
enqueue (u32 n, u32 buffer)
{
  node_t *node = &nodes[n];
  if (node->frame->n_vectors == VLIB_FRAME_SIZE)
    run_node (n);
  node->frame->vector[node->frame->n_vectors++] = buffer;
  dispatch_later (n);
}

void
vlib_buffer_enqueue_to_next (vlib_main_t *m, vlib_node_runtime_t *runtime, u32 *from, u16 *nexts, uword count)
{
  node_t *node = &nodes[runtime->node_index];
  for (uword n = 0; n < count; n++)
    {
      if (nexts[n] >= node->nexts)
	fail ("a next node that there is not");
      enqueue (node->next[nexts[n]], from[n]);
    }
}

void *
vlib_add_trace (vlib_main_t *m, vlib_node_runtime_t *runtime, vlib_buffer_t *b, u32 bytes)
{
  const u32 index = vlib_get_buffer_index (m, b), n = buffers[index].traces++ % TRACES;
  buffers[index].format[n] = nodes[runtime->node_index].registered->format_trace;
  return &buffers[index].trace[n];
}

static u32
node_named (const char *name)
{
  u32 n = 0;
  while (n < node_count && strcmp (nodes[n].name, name))
    n++;
  return n;
}

vlib_node_t *
vlib_get_node_by_name (vlib_main_t *m, u8 *name)
{
  static vlib_node_t found;
  found.index = node_named ((char *) name);
  return found.index < node_count ? &found : 0;
}

/* Siblings have the same next nodes. */
uword
vlib_node_add_next (vlib_main_t *m, uword node, uword next)
{
  const u32 at = nodes[node].nexts;
  for (u32 n = OWN; n < node_count; n++)
    nodes[n].next[nodes[n].nexts++] = next;
  return at;
}

/* The copy's packet is that of the original. */
vlib_buffer_t *
vlib_buffer_copy (vlib_main_t *m, vlib_buffer_t *b)
{
  const u32 from = vlib_get_buffer_index (m, b), index = VLIB_FRAME_SIZE + copy_count;
  if (index == BUFFERS)
    return 0;
  copy_count++;
  vlib_buffer_t *copy = vlib_get_buffer (m, index);
  memcpy (copy, b, offsetof (vlib_buffer_t, pre_data));
  memcpy (copy->data + copy->current_data, b->data + b->current_data, b->current_length);
  buffers[index].packet = buffers[from].packet, buffers[index].traces = 0, buffers[index].end = ~0;
  return copy;
}

/* A text that grows. */
static u8 *
append (u8 *s, const char *text)
{
  const size_t have = s ? strlen ((char *) s) : 0;
  s = realloc (s, have + strlen (text) + 1);
  strcpy ((char *) s + have, text);
  return s;
}

u8 *
format (u8 *s, const char *text, ...)
{
  char line[1024];
  va_list args;
  va_start (args, text);
  vsnprintf (line, sizeof line, text, args);
  va_end (args);
  return append (s, line);
}

void
vnet_feature_next (u32 *next, vlib_buffer_t *b)
{
  *next = nodes[OWN].nexts - 1;
}

int
vnet_feature_enable_disable (const char *arc, const char *node, u32 sw_if_index, int enable, void *data, u32 bytes)
{
  if (strcmp (arc, "device-input") || node_named (node) != OWN)
    return -1;
  enabled[sw_if_index] = enable;
  return 0;
}

/* ---- the graph ---- */

static double
seconds (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void
run_node (u32 n)
{
  node_t *node = &nodes[n];
  vlib_frame_t frame = *node->frame;
  node->frame->n_vectors = 0;
  node->calls++, node->packets += frame.n_vectors;
  if (n >= OWN)
    {
      node->registered->function (&vm, &node->runtime, &frame);
      return;
    }
  for (u32 i = 0; i < frame.n_vectors; i++)
    {
      const vlib_buffer_t *b = vlib_get_buffer (&vm, frame.vector[i]);
      buffers[frame.vector[i]].end = n;
      if (frame.vector[i] >= VLIB_FRAME_SIZE)
	copies[left_count++] = frame.vector[i];
      if (n == DROP)
	nodes[DROP].counts[b->error]++;
    }
}

static void
run_all (void)
{
  for (u32 at = 0; at < queue_count; at++)
    {
      nodes[queue[at]].waiting = 0;
      if (queue_count == NODES - 1)
	memmove (queue, queue + at, (queue_count -= at) * sizeof queue[0]), at = 0;
      if (nodes[queue[at]].frame->n_vectors)
	run_node (queue[at]);
    }
  queue_count = 0;
}

static u32
add_node (char *name, vlib_node_registration_t *registered)
{
  node_t *node = &nodes[node_count];
  if (node_count == NODES)
    fail ("too many nodes");
  node->name = name, node->registered = registered, node->runtime.node_index = node_count;
  node->frame = calloc (1, sizeof (vlib_frame_t));
  return node_count++;
}

/* Names of counters, of all nodes. */
static void
add_errors (node_t *node)
{
  const vlib_node_registration_t *r = node->registered;
  node->runtime.errors = malloc ((r->n_errors + 1) * sizeof (vlib_error_t));
  error_names = realloc (error_names, (error_count + r->n_errors) * sizeof (char *));
  for (u32 n = 0; n < r->n_errors; n++)
    {
      node->runtime.errors[n] = error_count;
      error_names[error_count++] = r->error_strings[n];
    }
}

static void
make_graph (void)
{
  vlib_node_registration_t *r;
  add_node ("error-drop", 0), add_node ("interface-output", 0), add_node ("ethernet-input", 0), add_node ("try-reached", 0);
  add_node (netvm_node_0.name, &netvm_node_0);
  for (r = try_registrations; r; r = r->next_registration)
    if (r != &netvm_node_0)
      add_node (r->name, r);
  for (u32 n = OWN; n < node_count; n++)
    {
      node_t *node = &nodes[n];
      node->registered->index = n;
      if (n > OWN && strcmp (node->registered->sibling_of, netvm_node_0.name))
	fail ("a node that is nobody's sibling");
      for (u32 i = 0; i < netvm_node_0.n_next_nodes; i++)
	{
	  node->next[i] = node_named (netvm_node_0.next_nodes[i]);
	  if (node->next[i] == node_count)
	    fail ("a next node without a name");
	}
      node->nexts = netvm_node_0.n_next_nodes;
      add_errors (node);
    }
  nodes[DROP].counts = calloc (error_count + 1, sizeof (u64));
}

/* Each device is an interface of its own, each output one. */
static void
map_all (void)
{
  enabled = calloc (1, 1 << 17);
  for (u32 n = 0; n < NETVM_OUTPUTS; n++)
    netvm_map (~0, n, FIRST + n);
  for (u32 n = 0; n < NETVM_INPUTS; n++)
    if (netvm_map (n, ~0, FIRST + NETVM_OUTPUTS + n) || !enabled[FIRST + NETVM_OUTPUTS + n])
      fail ("an input that cannot be mapped");
  if (!NETVM_INPUTS && netvm_map (0, ~0, FIRST + NETVM_OUTPUTS))
    fail ("the input cannot be mapped");
  vlib_node_add_next (&vm, OWN, FEATURE);
}

/* ---- packets ---- */

static u32
word (const u8 *p, int swapped)
{
  u32 v = (u32) p[0] << 24 | (u32) p[1] << 16 | (u32) p[2] << 8 | p[3];
  return swapped ? __builtin_bswap32 (v) : v;
}

static void
read_capture (FILE *file, u32 input, u32 number)
{
  u8 head[24];
  if (!file || fread (head, 24, 1, file) != 1)
    fail ("no capture");
  const int swapped = word (head, 0) == 0xd4c3b2a1 || word (head, 0) == 0x4d3cb2a1, nanoseconds = word (head, swapped) == 0xa1b23c4d;
  if (!nanoseconds && word (head, swapped) != 0xa1b2c3d4)
    fail ("no capture");
  link_type = word (head + 20, swapped);
  while (fread (head, 16, 1, file) == 1)
    {
      if ((packet_count & (packet_count - 1)) == 0)
	packets = realloc (packets, (2 * packet_count + 1) * sizeof (packet_t));
      packet_t *p = &packets[packet_count++];
      p->length = word (head + 8, swapped), p->input = input, p->file = number;
      p->time = word (head, swapped) * 1000000000ull + word (head + 4, swapped) * (nanoseconds ? 1ull : 1000ull);
      p->bytes = calloc (1, (p->length > size ? p->length : size) + 1);
      if (p->length > NETVM_LONGEST || (p->length && fread (p->bytes, p->length, 1, file) != 1))
	fail ("a capture that is cut off");
      p->length = size ? size : p->length;
    }
}

/* Of packets of the same time those of the first file come first, as merging has it. */
static void
in_order (u32 files)
{
  u32 *at = calloc (files, sizeof (u32)), *end = calloc (files, sizeof (u32)), n = 0;
  packet_t *all = malloc ((packet_count + 1) * sizeof (packet_t));
  for (u32 f = 0, p = 0; f < files; f++)
    {
      at[f] = p;
      while (p < packet_count && packets[p].file == f)
	p++;
      end[f] = p;
    }
  for (; n < packet_count; n++)
    {
      u32 first = files;
      for (u32 f = 0; f < files; f++)
	if (at[f] < end[f] && (first == files || packets[at[f]].time < packets[at[first]].time))
	  first = f;
      all[n] = packets[at[first]++];
    }
  packets = all;
}

static FILE *port_files[NETVM_OUTPUTS + 1];

static void
save (u32 output, const vlib_buffer_t *b, const packet_t *p)
{
  if (!port_files[output])
    {
      char name[300];
      const u32 head[6] = { 0xa1b23c4d, 0x00040002, 0, 0, 1 << 18, link_type };
      if (NETVM_INPUTS)
	snprintf (name, sizeof name, "port-%s.pcap", netvm_output_name (output));
      else
	snprintf (name, sizeof name, "port-%02u.pcap", output);
      for (char *c = name; *c; c++)
	*c = *c == '/' || *c <= ' ' ? '_' : *c;
      port_files[output] = fopen (name, "wb");
      if (!port_files[output])
	fail (strerror (errno));
      fwrite (head, sizeof head, 1, port_files[output]);
    }
  const u32 head[4] = { (u32) (p->time / 1000000000), (u32) (p->time % 1000000000), b->current_length, b->current_length };
  fwrite (head, sizeof head, 1, port_files[output]);
  fwrite (b->data + b->current_data, b->current_length, 1, port_files[output]);
}

/* FNV-1a, for comparing. */
static u64
digest (const u8 *p, u32 n)
{
  u64 h = 0xcbf29ce484222325u;
  for (u32 i = 0; i < n; i++)
    h = (h ^ p[i]) * 0x100000001b3u;
  return h;
}

/* ---- what became of packets ---- */

static void
tell_sent (u32 buffer)
{
  const vlib_buffer_t *b = vlib_get_buffer (&vm, buffer);
  const u32 output = vnet_buffer (b)->sw_if_index[VLIB_TX] - FIRST;
  if (output >= NETVM_OUTPUTS)
    fail ("an interface that is no output");
  save (output, b, &packets[buffers[buffer].packet]);
  printf ("sent %s %u %llx\n", netvm_output_name (output), b->current_length, (unsigned long long) digest (b->data + b->current_data, b->current_length));
}

/* A configuration's drops are told by their counters, a program's by what the trace has of them. */
static void
tell_dropped (u32 buffer)
{
  const netvm_trace_t *t = &buffers[buffer].trace[(buffers[buffer].traces - 1) % TRACES];
  const char *name = error_names[vlib_get_buffer (&vm, buffer)->error], *colon = strstr (name, ": ");
  if (!NETVM_INPUTS)
    printf ("%s %u %u\n", t->end == NETVM_TRAPPED ? "trapped" : "dropped", t->value, t->site);
  else if (t->end == NETVM_TRAPPED)
    printf ("trapped %s %u %u\n", netvm_elements[t->element], t->value, t->site);
  else
    printf ("dropped %.*s %s\n", colon ? (int) (colon - name) : 1, colon ? name : "-", colon ? colon + 2 : name);
}

/* What show trace would print. */
static u8 *
traced (format_function_t *f, ...)
{
  va_list args;
  va_start (args, f);
  u8 *text = f (0, &args);
  va_end (args);
  return text;
}

static void
tell (u32 buffer)
{
  if (tracing)
    for (u32 n = 0; n < buffers[buffer].traces && n < TRACES; n++)
      {
	u8 *text = traced (buffers[buffer].format[n], &vm, (vlib_node_t *) 0, &buffers[buffer].trace[n]);
	printf ("%u: %s\n", buffers[buffer].packet, text);
	free (text);
      }
  else if (buffers[buffer].end == INTERFACE)
    tell_sent (buffer);
  else if (buffers[buffer].end == DROP)
    tell_dropped (buffer);
  else
    fail ("a packet that went nowhere");
}

static void
tell_memory (void)
{
  for (u32 element = 0; netvm_elements[element]; element++)
    {
      printf ("data %u %u %llx\n", element, netvm_data_size (element), (unsigned long long) digest (netvm_data (element), netvm_data_size (element)));
      for (u32 table = 0; table < netvm_tables (element); table++)
	{
	  u64 count = 0, sum = 0;
	  struct netvm_entry e;
	  for (u32 at = 0; netvm_entry (element, table, &at, &e); count++)
	    sum += digest (e.key, e.key_bytes) * 31 + digest (e.value, e.value_bytes);
	  printf ("table %u %u %llu %llx\n", element, table, (unsigned long long) count, (unsigned long long) sum);
	}
    }
}

/* ---- vectors ---- */

static u32
fill (u32 first)
{
  u32 count = 0;
  for (; count < vector && first + count < packet_count; count++)
    {
      const packet_t *p = &packets[first + count];
      vlib_buffer_t *b = vlib_get_buffer (&vm, count);
      memset (b, 0, offsetof (vlib_buffer_t, pre_data));
      const u32 here = p->length < vm.data_size ? p->length : vm.data_size;
      b->current_length = here, b->flags = timing ? 0 : VLIB_BUFFER_IS_TRACED;
      if (here < p->length)
	b->flags |= VLIB_BUFFER_NEXT_PRESENT, b->total_length_not_including_first_buffer = p->length - here;
      vnet_buffer (b)->sw_if_index[VLIB_RX] = FIRST + NETVM_OUTPUTS + p->input;
      memcpy (b->data, p->bytes, here);
      buffers[count].packet = first + count, buffers[count].traces = 0, buffers[count].end = ~0;
    }
  return count;
}

/* One vector; the seconds that it took. */
static double
run_vector (u32 first, u32 count)
{
  now = packets[first].time;
  copy_count = left_count = 0;
  const double start = timing ? seconds () : 0;
  for (u32 n = 0; n < count; n++)
    enqueue (OWN, n);
  run_all ();
  return timing ? seconds () - start : 0;
}

/* Copies go before their packet. */
static void
tell_copies (u32 packet)
{
  for (u32 n = 0; n < left_count; n++)
    if (buffers[copies[n]].packet == packet)
      {
	printf ("%s", NETVM_INPUTS || tracing ? "" : "copy ");
	tell (copies[n]);
      }
}

static void
run_packets (void)
{
  for (u32 first = 0, count; first < packet_count; first += count)
    {
      count = fill (first);
      run_vector (first, count);
      for (u32 n = 0; n < count; n++)
	{
	  tell_copies (first + n);
	  tell (n);
	}
    }
  if (!tracing)
    tell_memory ();
}

/* The best of the rounds. */
static void
run_rounds (u32 rounds)
{
  double best = 1e9;
  while (rounds-- > 0)
    {
      double sum = 0;
      for (u32 first = 0, count; first < packet_count; first += count)
	{
	  count = fill (first);
	  sum += run_vector (first, count);
	}
      best = sum < best ? sum : best;
    }
  printf ("%.2f ns a packet\n", best * 1e9 / packet_count);
}

static void
make_buffers (u32 data_size)
{
  vm.data_size = data_size;
  vm.stride = (u32) ((sizeof (vlib_buffer_t) + data_size + 63) / 64 * 64);
  vm.buffers = aligned_alloc (64, (size_t) vm.stride * BUFFERS);
  buffers = calloc (BUFFERS, sizeof buffers[0]);
  memset (vm.buffers, 0, (size_t) vm.stride * BUFFERS);
}

static void
open_argument (const char *text, u32 number)
{
  for (u32 n = 0; n < NETVM_INPUTS; n++)
    {
      const size_t length = strlen (netvm_inputs[n]);
      if (!strncmp (text, netvm_inputs[n], length) && text[length] == '=')
	return read_capture (fopen (text + length + 1, "rb"), n, number);
    }
  fail ("usage: program [-v VECTOR] [-d BYTES] [-s BYTES] [-t] [-r ROUNDS] [-c FILE] [INPUT=FILE ...] [< FILE]");
}

static void
do_command (char *line, u32 number)
{
  char *words[10], *rest = line, *word;
  u32 count = 0;
  while (count < 10 && (word = strtok (rest, " \t\r\n")))
    words[count++] = word, rest = 0;
  if (!count || words[0][0] == '#')
    return;
  const char *why = 0;
  if (count < 3 || strcmp (words[0], "netvm") || strcmp (words[1], NETVM_PLUGIN))
    why = "expected netvm " NETVM_PLUGIN " add, del or clear";
  else if (!strcmp (words[2], "clear") && count == 3)
    netvm_clear ();
  else if (!strcmp (words[2], "add") || !strcmp (words[2], "del"))
    why = netvm_change (words[2][0] == 'a', words + 3, count - 3);
  else
    why = "expected add, del or clear";
  if (why)
    printf ("line %u: %s\n", number, why);
}

static void
do_commands (const char *file)
{
  static char line[2048];
  FILE *f = fopen (file, "r");
  if (!f)
    fail ("there is no such file of commands");
  for (u32 number = 1; fgets (line, sizeof line, f); number++)
    do_command (line, number);
  fclose (f);
}

int
main (int argc, char **argv)
{
  const char *commands = 0;
  u32 files = 0, rounds = 0, data_size = NETVM_BUFFER - VLIB_BUFFER_PRE_DATA_SIZE;
  for (int n = 1; n < argc; n++)
    {
      const u32 value = n + 1 < argc ? (u32) atoi (argv[n + 1]) : 0;
      if (!strcmp (argv[n], "-v"))
	vector = value, n++;
      else if (!strcmp (argv[n], "-d"))
	data_size = value, n++;
      else if (!strcmp (argv[n], "-s"))
	size = value, n++;
      else if (!strcmp (argv[n], "-r"))
	rounds = value, timing = 1, n++;
      else if (!strcmp (argv[n], "-c") && n + 1 < argc)
	commands = argv[++n];
      else if (!strcmp (argv[n], "-t"))
	tracing = 1;
      else
	open_argument (argv[n], files++);
    }
  if (!files)
    read_capture (stdin, 0, files++);
  if (vector < 1 || vector > VLIB_FRAME_SIZE)
    fail ("a vector has 1 to 256 packets");
  in_order (files);
  make_buffers (data_size);
  make_graph ();
  netvm_start (1, 2);
  map_all ();
  if (commands)
    do_commands (commands);
  if (timing)
    run_rounds (rounds);
  else
    run_packets ();
  return 0;
}
