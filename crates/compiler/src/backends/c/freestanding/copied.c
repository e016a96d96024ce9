
__attribute__((weak)) void netvm_copied(const struct netvm_packet *copy)
{
    (void)copy;
}

static int nv_copy_bytes(struct nv_copy *c, const struct nv_run *r, uint32_t front)
{
    const uint32_t at = front > NETVM_HEADROOM ? front : NETVM_HEADROOM;
    memcpy(c->bytes + at - front, nv_p(r) - front, (size_t)front + r->len);
    c->r.buffer = c->bytes, c->r.size = NETVM_BUFFER, c->r.at = at;
    c->k.buffer = c->bytes, c->k.size = NETVM_BUFFER;
    return 1;
}

static void nv_copy_left(struct nv_copy *c)
{
    netvm_copied(&c->k);
}
