/* See vlib/vlib.h. */
#include <vlib/vlib.h>
