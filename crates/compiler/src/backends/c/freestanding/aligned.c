#if defined(__mips__) || defined(__riscv)
#ifdef NETVM_ALIGNED
    if (1) {
#else
    if (NV_MOSTLY(((uintptr_t)(k->buffer + k->at) & 3) == 2)) {
#endif
        run.buffer = (uint8_t *)__builtin_assume_aligned(k->buffer + k->at, 4, 2) - k->at;
        nv_first(k, &run, info);
        return;
    }
#endif
