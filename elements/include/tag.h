/*
 * tag.h -- a VLAN tag (IEEE 802.1Q) that handlers read and write, whole and by its parts
 *
 * For EtherVLANEncap, VLANEncap and SetVLANAnno. Of numbers that are too large the lower bits count.
 */

enum { ID_BITS = 0xfff, PRIORITY_SHIFT = 13, PRIORITY_BITS = 7 << PRIORITY_SHIFT };

static u16 current_tag;

static u16 current_id(void)
{
    return current_tag & ID_BITS;
}

static void set_id(u16 id)
{
    current_tag = (u16) ((current_tag & ~ID_BITS) | (id & ID_BITS));
}

static u16 current_priority(void)
{
    return (u16) (current_tag >> PRIORITY_SHIFT);
}

static void set_priority(u16 wanted)
{
    current_tag = (u16) ((current_tag & ~PRIORITY_BITS) | (wanted << PRIORITY_SHIFT & PRIORITY_BITS));
}
