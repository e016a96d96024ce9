/* A plugin of QEMU (interface version 1, docs/devel/tcg-plugins of its sources) that counts the instructions and memory accesses of each function: a line `NAME INSTRUCTIONS ACCESSES` at the end.
 *
 * The interface is declared here, because distributions have no package with its header. Counters are added to by translated code, so counts are exact. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { ADD_U64 = 0, READ_AND_WRITE = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t id, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*end)(uint64_t id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int op, void *, uint64_t);
void qemu_plugin_register_vcpu_mem_inline(struct qemu_plugin_insn *, int rw, int op, void *, uint64_t);

static struct function {
    char name[64];
    uint64_t instructions, accesses;
} functions[1024];

/* The counters of a function; the last ones are those of all that there is no room for. */
static struct function *of(const char *name)
{
    struct function *f = functions, *last = functions + 1023;
    while (f != last && f->name[0] && strncmp(f->name, name, sizeof f->name - 1))
        f++;
    if (!f->name[0])
        strncpy(f->name, f == last ? "others" : name, sizeof f->name - 1);
    return f;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t n = 0; n < qemu_plugin_tb_n_insns(tb); n++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, n);
        const char *name = qemu_plugin_insn_symbol(insn);
        struct function *f = of(name && *name ? name : "unknown");
        qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &f->instructions, 1);
        qemu_plugin_register_vcpu_mem_inline(insn, READ_AND_WRITE, ADD_U64, &f->accesses, 1);
    }
}

static void told(uint64_t id, void *nothing)
{
    (void)id, (void)nothing;
    for (struct function *f = functions; f->name[0]; f++)
        fprintf(stderr, "%s %" PRIu64 " %" PRIu64 "\n", f->name, f->instructions, f->accesses);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, told, NULL);
    return 0;
}
