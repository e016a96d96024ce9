/*
 * script.h -- what an application that script.c runs must define: instances and the info fields
 */
#ifndef NETVM_SCRIPT_H
#define NETVM_SCRIPT_H

#include "netvm_run.h"

/* An info field: kind is 'n' (a number in the machine's order), 'a' (an IPv4 address) or 'b' (bytes). */
struct nv_field { const char *name; u32 offset, size; char kind; };

extern const struct nv_field nv_fields[];
extern const size_t nv_nfields;
/* The instances; the program's argument says which one runs. Outputs are set by script.c; noutputs says how many. */
extern struct nv_element *const nv_instances[];

#endif
