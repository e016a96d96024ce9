
/* A packet is a work entry: its group is that of the element that comes next, and its tag keeps
   packets in order. A group that keeps something has an atomic tag: one entry is run at a time.
   Others have an ordered tag of the packet's input. A board's own scheduler takes the place of
   netvm_submit and netvm_get_work: queues of one core keep both promises, for entries leave a
   queue in the order in which they came, and a core runs one at a time. */
enum { NV_WORKS = 64 };

struct nv_entry {
    struct netvm_work work;
    struct netvm_packet *packet;
    struct nv_run run;
    uint8_t info[NV_INFO_BYTES] __attribute__((aligned(8)));
};

static struct nv_entry nv_entries[NV_WORKS];
static struct netvm_work *nv_free, *nv_first_of[NV_GROUPS], *nv_last_of[NV_GROUPS];
static int nv_listed;

const uint32_t netvm_groups = NV_GROUPS;

__attribute__((weak)) void netvm_submit(struct netvm_work *work)
{
    work->next = 0;
    if (nv_first_of[work->group])
        nv_last_of[work->group]->next = work;
    else
        nv_first_of[work->group] = work;
    nv_last_of[work->group] = work;
}

/* The oldest entry of the first group that has one. */
__attribute__((weak)) struct netvm_work *netvm_get_work(uint64_t groups)
{
    for (uint32_t group = 0; group < NV_GROUPS; group++) {
        struct netvm_work *work = groups >> (group & 63) & 1 ? nv_first_of[group] : 0;
        if (work) {
            nv_first_of[group] = work->next;
            return work;
        }
    }
    return 0;
}

static void nv_tagged(struct nv_entry *e, uint32_t group)
{
    e->work.group = group;
    e->work.atomic = nv_atomic[group];
    e->work.tag = nv_atomic[group] ? group : NV_GROUPS + e->packet->input;
    netvm_submit(&e->work);
}

int netvm_arrive(struct netvm_packet *k)
{
    if (!nv_started)
        netvm_start(1, 2);
    for (; nv_listed < NV_WORKS; nv_listed++)
        nv_entries[nv_listed].work.next = nv_free, nv_free = &nv_entries[nv_listed].work;
    if (!nv_free)
        return 0;
    struct nv_entry *e = (struct nv_entry *)(void *)nv_free;
    nv_free = nv_free->next;
    e->packet = k;
    e->run = (struct nv_run){ k->buffer, k->size, k->at, k->len, k->wire_len > k->len ? k->wire_len - k->len : 0, 0, 0, 0, k->time_ns, 0 };
    for (uint32_t n = 0; n < NV_INFO_BYTES; n++)
        e->info[n] = 0;
    nv_tagged(e, 0);
    return 1;
}

int netvm_work(uint64_t groups)
{
    struct netvm_work *work = netvm_get_work(groups);
    if (!work)
        return 0;
    struct nv_entry *e = (struct nv_entry *)(void *)work;
    struct netvm_packet *k = e->packet;
    if (work->group == 0)
        nv_first(k, &e->run, e->info);
    else
        nv_resume(work->group, k, &e->run, e->info, k->value);
    if (k->end == NETVM_GOES)
        nv_tagged(e, nv_nodes[k->element]);
    else
        work->next = nv_free, nv_free = work;
    return 1;
}

void netvm_run(struct netvm_packet *packets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (!netvm_arrive(&packets[i]))
            netvm_work(UINT64_MAX);
    while (netvm_work(UINT64_MAX))
        ;
}
