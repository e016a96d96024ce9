/*
 * faults.h -- what elements that check headers do with packets that are not valid: they count them by fault, and tell them
 *
 * The class, or the header that is its body, has declared
 *
 *   enum fault               what can be wrong: VALID, which is 0, the faults, FAULTS
 *   verbose                  are packets told that are not valid?
 *   print_class()            prints the class's name and a colon
 *   print_fault(fault)       prints what is wrong
 *
 * It is included once, after these.
 */

static u64 drops;
static u64 counts[FAULTS];

static void count_fault(enum fault fault)
{
    drops += 1;
    counts[fault] += 1;
    if (verbose) {
        print_class();
        print_fault(fault);
        print("\n");
    }
}

static void drop_details(void)
{
    for (u32 fault = VALID + 1; fault < FAULTS; fault++) {
        print_uint(counts[fault]);
        print("\t");
        print_fault(fault);
        print("\n");
    }
}

READ(drops, u64, drops);
READ_CALL(drop_details, text, drop_details);
