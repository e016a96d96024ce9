
void netvm_run(struct netvm_packet *packets, size_t count)
{
    if (!nv_started)
        netvm_start(1, 2);
    for (size_t i = 0; i < count; i++)
        nv_arrive(&packets[i]);
}
