/* Commands that fill tables: their words, and entries as such words. Made by netvm.

   add ELEMENT TABLE KEY[/MASK|-LAST] VALUE [PRIORITY]   enters an entry, or gives it another value
   del ELEMENT TABLE KEY[/MASK|-LAST] [PRIORITY]         takes it out
   clear                                                takes all out that can be entered

   KEY, MASK, LAST and VALUE are hexadecimal, with all digits of the table's keys and values; KEY/MASK is for prefixes and ternary
   entries, KEY-LAST for ranges, and of a key alone all bits count. Nothing is changed by a command that has a mistake. */
#include <vlib/vlib.h>
#include "plugin.h"

static int
digit (char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* So many bytes, and where their digits end; 0 if there are fewer. */
static const char *
read_bytes (const char *text, u8 *bytes, u32 count)
{
  for (u32 n = 0; n < count; n++, text += 2)
    {
      const int high = digit (text[0]), low = high < 0 ? -1 : digit (text[1]);
      if (low < 0)
	return 0;
      bytes[n] = (u8) (high << 4 | low);
    }
  return text;
}

/* A number of up to 32 bits, decimal; not 0 if it is none. */
static int
read_number (const char *text, u32 *number)
{
  u64 value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9' && value <= 0xffffffffu; at++)
    value = value * 10 + (u64) (*at - '0');
  *number = (u32) value;
  return at == text || *at || value > 0xffffffffu;
}

static const char *
read_key (const char *text, const struct netvm_table *t, struct netvm_entry *e)
{
  static const char separators[] = { 0, '/', '-', '/' };
  memset (e->other, 0xff, t->key_bytes);
  e->key_bytes = t->key_bytes;
  text = read_bytes (text, e->key, t->key_bytes);
  if (text && !*text && t->kind == NETVM_RANGE)
    memcpy (e->other, e->key, t->key_bytes);
  if (text && !*text)
    return 0;
  if (text && t->kind != NETVM_EXACT && *text == separators[t->kind])
    text = read_bytes (text + 1, e->other, t->key_bytes);
  else
    text = 0;
  return text && !*text ? 0 : "the key is not what the table takes: hexadecimal, with all digits; prefixes and ternary entries KEY/MASK, ranges KEY-LAST";
}

static const char *
find_table (char **words, u32 *element, u32 *table, struct netvm_table *t)
{
  for (*element = 0; netvm_elements[*element] && strcmp (netvm_elements[*element], words[0]); ++*element)
    ;
  if (!netvm_elements[*element])
    return "there is no element of that name: show netvm tells them";
  for (*table = 0; netvm_table (*element, *table, t); ++*table)
    if (!strcmp (t->name, words[1]))
      return t->value_bytes > NV_MOST_VALUE ? "values of this table are too long for commands" : 0;
  return "the element has no table of that name: show netvm tells them";
}

static const char *
told (int wrong)
{
  switch (wrong)
    {
    case 0:
      return 0;
    case NETVM_FULL:
      return "the table is full";
    case NETVM_MISSING:
      return "there is no such entry";
    default:
      return "the mask of a prefix has gaps, or a range ends before it begins";
    }
}

const char *
netvm_change (int adds, char **words, u32 count)
{
  struct netvm_table t;
  struct netvm_entry e = { .value = 0 };
  u8 value[NV_MOST_VALUE];
  u32 element, table;
  const u32 least = adds ? 4 : 3;
  if (count < least || count > least + 1)
    return adds ? "expected ELEMENT TABLE KEY VALUE [PRIORITY]" : "expected ELEMENT TABLE KEY [PRIORITY]";
  const char *why = find_table (words, &element, &table, &t);
  if (!why)
    why = read_key (words[2], &t, &e);
  if (why)
    return why;
  e.value = value, e.value_bytes = t.value_bytes;
  const char *end = adds ? read_bytes (words[3], value, t.value_bytes) : "";
  if (!end || *end)
    return "the value is not hexadecimal with all digits of the table's values";
  if (count > least && (t.kind == NETVM_EXACT || t.kind == NETVM_PREFIX || read_number (words[least], &e.priority)))
    return "a priority is a number of up to 32 bits, and ranges and ternary entries have one";
  return told (adds ? netvm_add (element, table, &e) : netvm_delete (element, table, &e));
}

void
netvm_clear (void)
{
  struct netvm_table t;
  struct netvm_entry e;
  for (u32 element = 0; netvm_elements[element]; element++)
    for (u32 table = 0; netvm_table (element, table, &t); table++)
      for (u32 at = 0; netvm_entry (element, table, &at, &e);)
	/* Another entry of an exact table may have moved to this place. */
	if (!netvm_delete (element, table, &e) && t.kind == NETVM_EXACT)
	  at--;
}

static char *
write_bytes (char *to, const u8 *bytes, u32 count)
{
  static const char digits[] = "0123456789abcdef";
  for (u32 n = 0; n < count; n++)
    *to++ = digits[bytes[n] >> 4], *to++ = digits[bytes[n] & 15];
  *to = 0;
  return to;
}

int
netvm_entry_line (u32 element, u32 table, u32 *at, char *line, u32 size)
{
  struct netvm_table t;
  struct netvm_entry e;
  if (!netvm_table (element, table, &t) || !netvm_entry (element, table, at, &e))
    return 0;
  const u32 value = e.value_bytes < NV_MOST_VALUE ? e.value_bytes : NV_MOST_VALUE;
  const int length = snprintf (line, size, "%s %s ", netvm_elements[element], t.name);
  if (length < 0 || (u32) length + 4 * e.key_bytes + 2 * value + 16 > size)
    return 1;
  char *to = write_bytes (line + length, e.key, e.key_bytes);
  if (t.kind != NETVM_EXACT)
    {
      *to++ = t.kind == NETVM_RANGE ? '-' : '/';
      to = write_bytes (to, e.other, e.key_bytes);
    }
  *to++ = ' ';
  to = write_bytes (to, e.value, value);
  if (t.kind == NETVM_RANGE || t.kind == NETVM_TERNARY)
    snprintf (to, size - (u32) (to - line), " %u", e.priority);
  return 1;
}
