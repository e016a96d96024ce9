//! Element classes run on the interpreter: packets in, packets and dispositions out.

mod c_support;

use c_support::{Element, class, values};
use netil::event::{CONTROL, TIMER};
use netil::exec::{Disposition, DropReason, TrapKind};
use netvm_frontends::c::Value;
use netvm_frontends::click::processing::Kind;

const OUT: Disposition = Disposition::Port(1);

#[test]
fn a_packet_is_changed_and_leaves() {
    let text = class(
        "1/2",
        "struct ether { mac_t dst; mac_t src; be16 type; };
         struct ip { u8 version_ihl; u8 tos; be16 length; be16 id; be16 fragment; u8 ttl; u8 protocol; be16 checksum; be32 src; be32 dst; };
         PARAM(u8, least, \"LEAST\", REQUIRED);
         enum { NO_IP, EXPIRED };
         void packet(int port)
         {
             struct ether *ether = header(struct ether, 0);
             if (ether->type != htons(0x800))
                 drop(NO_IP);
             struct ip *ip = header(struct ip, sizeof(struct ether));
             if (ip->ttl < least)
                 emit(1);
             ip->ttl--;
             ip->checksum = htons(checksum_update(ntohs(ip->checksum), (u16) (ip->ttl + 1) << 8, (u16) (ip->ttl << 8)));
             mac_t dst = ether->dst;
             ether->dst = ether->src;
             ether->src = dst;
             emit(0);
         }",
    );
    let mut element = Element::new(&text, 1, 2, values(&[("least", 2)]));
    let mut packet = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 0];
    packet.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = netil::digest::internet_checksum(&packet[14..]);
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    let (disposition, out) = element.push(&packet);
    assert_eq!(disposition, OUT);
    assert_eq!(out[..12], [7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6]);
    assert_eq!(out[22], 63);
    assert_eq!(netil::digest::internet_checksum(&out[14..]), 0);
    packet[22] = 1;
    assert_eq!(element.push(&packet).0, Disposition::Port(2));
    packet[12] = 9;
    assert_eq!(element.push(&packet).0, Disposition::Drop(DropReason::Program(0)));
    let Disposition::Trap(trap) = element.push(&packet[..13]).0 else { panic!("a short packet is a trap") };
    assert_eq!(trap.kind, TrapKind::OutOfBounds(netil::table::Space::Packet));
    assert_eq!(element.reasons(), ["NO_IP"]);
    let line = 1 + text.lines().position(|line| line.contains("header(struct ether, 0)")).unwrap();
    assert!(element.describe(&trap).contains(&format!("(e.c:{line})")), "{}", element.describe(&trap));
}

#[test]
fn data_lives_from_packet_to_packet() {
    let text = class(
        "1/1",
        "static u64 count = 40;
         static const u16 steps[3] = { 1, 10, 100 };
         static u8 history[4];
         struct result { be64 count; u8 history[4]; };
         void init(void) { count += 2; }
         void packet(int port)
         {
             const u8 *which = header(u8, 0);
             count += steps[*which % 3];
             for (int i = 3; i > 0; i--)
                 history[i] = history[i - 1];
             history[0] = *which;
             packet_put(sizeof(struct result) - 1);
             struct result *result = header(struct result, 0);
             result->count = htonll(count);
             for (u32 i = 0; i < sizeof history; i++)
                 result->history[i] = history[i];
             emit(0);
         }
         READ(count, u64, count);
         WRITE(count, u64, count);",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    assert_eq!(element.push(&[1]).1, [0, 0, 0, 0, 0, 0, 0, 52, 1, 0, 0, 0]);
    assert_eq!(element.push(&[2]).1, [0, 0, 0, 0, 0, 0, 0, 152, 2, 1, 0, 0]);
    assert_eq!(element.push(&[3]).1, [0, 0, 0, 0, 0, 0, 0, 153, 3, 2, 1, 0]);
    let control = &element.module().controls[0];
    assert!(control.read && control.write && !control.call);
    assert_eq!(element.data(control.at, 8), 153u64.to_le_bytes());
}

#[test]
fn what_is_beyond_an_array_is_a_trap() {
    let text = class(
        "1/1",
        "struct pair { u8 in[4]; u8 next; };
         static u32 first[4], canary = 7;
         static struct pair pair;
         static u8 square[4][4], behind;
         static const u32 fixed[3] = { 1, 2, 3 };
         void packet(int port)
         {
             u32 n = *header(u8, 1);
             int below = (int) n - 1;
             u32 local[4] = { 0 };
             switch (*header(u8, 0)) {
             case 0: first[n] = 1; break;
             case 1: pair.in[n] = 1; break;
             case 2: square[n][n] = 1; break;
             case 3: *header(u8, 1) = (u8) fixed[n]; break;
             case 4: first[below] = 1; break;
             case 5: local[n] = 1; *header(u8, 1) = (u8) local[n]; break;
             case 6: first[n & 3] = 1; first[n % 4] += 1; first[n > 4 ? 3 : 2] = 2; break;
             }
             if (canary != 7 || pair.next || behind)
                 return;
             emit(0);
         }",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    let mut is_trap = |which: u8, n: u8| match element.push(&[which, n]).0 {
        OUT => false,
        Disposition::Trap(trap) => matches!(trap.kind, TrapKind::OutOfBounds(_)),
        other => panic!("{which} {n}: {other:?}"),
    };
    for (which, right, wrong) in [(0, 3, 4), (1, 3, 4), (2, 3, 4), (3, 2, 3), (4, 4, 5), (5, 3, 4)] {
        assert!(!is_trap(which, right) && is_trap(which, wrong) && is_trap(which, 255), "{which}");
    }
    assert!(is_trap(4, 0));
    assert!((0..=255).all(|n| !is_trap(6, n)));
}

#[test]
fn a_switch_may_begin_with_declarations_and_have_no_braces() {
    let text = class(
        "1/1",
        "static u32 last(u32 n)
         {
             switch (n)
             case 1: case 2: return 20;
             switch (n) { static u32 calls; case 7: calls++; return calls; }
             return 30;
         }
         void packet(int port)
         {
             u8 *which = header(u8, 0);
             for (int round = 0; round < 2; round++)
                 switch (*which) {
                     u32 value;
                     u8 list[2], *p;
                 case 0:
                     value = 5;
                     p = &list[1];
                     *p = value;
                     *which = list[1] + 1;
                     break;
                 default:
                     value = last(*which);
                     *which = value;
                 }
             emit(0);
         }",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    let results: Vec<u8> = [0, 1, 2, 3, 7].iter().map(|which| element.push(&[*which]).1[0]).collect();
    assert_eq!(results, [30, 30, 30, 30, 20]);
}

#[test]
fn tables_keep_structs() {
    let text = class(
        "1/1",
        "struct flow { be32 src; be16 port; u8 kind; };
         struct seen { u64 packets; be16 last; u8 bytes[4]; mac_t mac; };
         PARAM(u64, timeout, \"TIMEOUT\", OPTIONAL(0));
         TABLE_EXACT(flows, struct flow, struct seen, 2, timeout);
         struct in { be32 src; be16 port; u8 kind; u8 index; mac_t mac; };
         void packet(int port)
         {
             struct in *in = header(struct in, 0);
             struct flow flow = { in->src, in->port, .kind = in->kind };
             struct seen *seen = table_find(flows, &flow);
             if (!seen)
                 seen = table_insert(flows, &flow);
             if (seen == 0)
                 return;
             seen->packets++;
             seen->last = in->port;
             seen->bytes[in->index % 4] += in->index;
             if (!equal(seen->mac, in->mac))
                 seen->mac = in->mac;
             in->src = htonl((u32) seen->packets);
             in->kind = seen->bytes[in->index % 4];
             in->index = seen->bytes[0];
             in->port = seen->last;
             mac_t mac = seen->mac;
             in->mac = mac;
             if (in->kind == 77)
                 table_delete(flows, &flow);
             emit(0);
         }",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    let packet = |src: u8, index: u8| [src, 0, 0, 1, 0, 80, 6, index, 1, 2, 3, 4, 5, 6].to_vec();
    assert_eq!(element.push(&packet(10, 1)).1, [0, 0, 0, 1, 0, 80, 1, 0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(element.push(&packet(10, 1)).1, [0, 0, 0, 2, 0, 80, 2, 0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(element.push(&packet(10, 4)).1[..8], [0, 0, 0, 3, 0, 80, 4, 4]);
    assert_eq!(element.push(&packet(11, 7)).1[..8], [0, 0, 0, 1, 0, 80, 7, 0]);
    assert_eq!(element.push(&packet(12, 7)).0, Disposition::Drop(DropReason::Verdict), "the table is full");
    assert_eq!(element.push(&packet(11, 70)).1[..8], [0, 0, 0, 2, 0, 80, 70, 0]);
    assert_eq!(element.push(&packet(11, 7)).1[..8], [0, 0, 0, 3, 0, 80, 14, 0]);
    assert_eq!(element.push(&packet(11, 63)).1[6], 77);
    assert_eq!(element.push(&packet(12, 7)).1[..4], [0, 0, 0, 1], "one was deleted");
}

#[test]
fn numbers_of_128_bits_lie_everywhere() {
    let text = class(
        "1/1",
        "struct row { u8 first; u128 cells[3]; };
         static const u128 steps[2] = { 1, (u128) 5 << 120 | 7 };
         static u128 kept[2];
         TABLE_EXACT(rows, u128, struct row, 8, 0);
         struct place { u8 n; in6_t address; u128 plain; };
         void packet(int port)
         {
             struct place *place = header(struct place, 0);
             u128 key = ntoh128(place->address);
             struct row *row = table_insert(rows, &key);
             kept[place->n & 1] += steps[place->n & 1] + key;
             row->cells[place->n % 3] += kept[place->n & 1] * 2;
             place->plain -= row->cells[place->n % 3];
             place->address = hton128(~row->cells[place->n % 3]);
             switch (key) { case (u128) 1 << 64: place->n = 100; }
             emit(0);
         }",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    let (mut kept, mut cells) = ([0_u128; 2], std::collections::BTreeMap::new());
    for (n, key, plain) in [(0, 3, 9), (1, 1 << 64, 0), (5, u128::MAX - 1, 5 << 70), (7, 1 << 64, u128::MAX)] {
        let step = if n & 1 == 1 { 5 << 120 | 7 } else { 1 };
        let sum = &mut kept[usize::from(n & 1)];
        *sum = sum.wrapping_add(step).wrapping_add(key);
        let cell: &mut u128 = cells.entry((key, n % 3)).or_default();
        *cell = cell.wrapping_add(sum.wrapping_mul(2));
        let packet = [&[n][..], &key.to_be_bytes(), &plain.to_le_bytes()].concat();
        let name = if key == 1 << 64 { 100 } else { n };
        let wanted = [&[name][..], &(!*cell).to_be_bytes(), &plain.wrapping_sub(*cell).to_le_bytes()].concat();
        assert_eq!(element.push(&packet), (OUT, wanted), "{n}");
    }
}

#[test]
fn a_pointer_may_point_into_two_tables() {
    let text = class(
        "1/1",
        "TABLE_EXACT(a, u8, u16, 4, 0);
         TABLE_EXACT(b, u8, u16, 4, 0);
         static u16 own;
         static u16 *found(u8 key) { u16 *p = table_find(a, &key); return p ? p : table_find(b, &key); }
         void packet(int port)
         {
             u8 *in = header(u8, 0);
             u8 key = *in;
             u16 *p = &own;
             for (int i = 0; i < 2; i++) {
                 *p += 1;
                 p = key & 1 ? table_insert(a, &key) : table_insert(b, &key);
             }
             *p += 16;
             u16 *q = found(key);
             *in = (u8) *q + (q != 0 ? 1 : 0);
             emit(0);
         }
         READ(own, u16, own);",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    let out: Vec<u8> = [1, 2, 1, 2, 3].iter().map(|key| element.push(&[*key]).1[0]).collect();
    assert_eq!(out, [18, 18, 35, 35, 18]);
    assert_eq!(element.data(element.module().controls[0].at, 2), [5, 0]);
}

#[test]
fn ports_timers_and_handlers_for_people() {
    let text = class(
        "1/1-",
        "static u32 n;
         static u32 last;
         static u32 twice(void) { return 2 * n; }
         static void set(u32 value) { n = value; }
         static void show(void) { print(\"n=\"); print_uint(n); print_ip(htonl(0x01020304)); print_time(1234567891); print_hex(255, 4); print(\"\\n\"); }
         void packet(int port)
         {
             n++;
             last = (u32) port;
             timer_set(3, now() + 1000);
             for (int i = 0; i < NOUTPUTS - 1; i++)
                 clone(i);
             emit((int) (n % (u32) NOUTPUTS));
         }
         void timer(int t)
         {
             packet_create(4);
             *header(be32, 0) = htonl((u32) t * 100 + n);
             emit(1);
         }
         READ_CALL(twice, u32, twice);
         WRITE_CALL(n, u32, set);
         READ_CALL(text, text, show);",
    );
    let mut element = Element::new(&text, 1, 3, values(&[]));
    element.push(&[0]);
    assert_eq!(element.clones, [1, 2]);
    assert_eq!(element.push(&[0]).0, Disposition::Port(3));
    assert_eq!(element.state.timers[3], 1000);
    assert_eq!(element.event(TIMER + 3), (Disposition::Port(2), vec![0, 0, 1, 46]));
    element.event(CONTROL);
    let at = |element: &Element, n: usize| element.module().controls[n].at;
    assert_eq!(element.data(at(&element, 0), 4), [4, 0, 0, 0]);
    let slot = at(&element, 1) as usize;
    element.state.data[slot] = 9;
    element.event(CONTROL + 1);
    element.event(CONTROL);
    assert_eq!(element.data(at(&element, 0), 4), [18, 0, 0, 0]);
    element.event(CONTROL + 2);
    assert_eq!(element.printed(), "n=91.2.3.41.23456789100ff\n");
}

#[test]
fn packets_are_pulled_and_held() {
    let text = class(
        "1/1",
        "void packet(int port)
         {
             if (packet_length() > 2) {
                 packet_hold(7);
                 return;
             }
             if (packet_take(7)) {
                 packet_pull(1);
                 packet_unpull(1);
                 packet_push(2);
             }
             if (packet_present())
                 emit(port);
         }",
    );
    let mut element = Element::with_kinds(&text, vec![Kind::Pull], vec![Kind::Pull], values(&[]));
    assert_eq!(element.pull(Some(&[1, 2, 3])).0, Disposition::Drop(DropReason::Verdict));
    assert_eq!(element.pull(Some(&[4])), (OUT, vec![0, 0, 1, 2, 3]));
    assert_eq!(element.pull(Some(&[5])), (OUT, vec![5]));
    assert_eq!(element.pull(None).0, Disposition::Drop(DropReason::NoInput));
}

#[test]
fn parameters_are_constants_of_every_type() {
    let text = class(
        "1/1",
        "PARAM(mac_t, mac, \"MAC\", REQUIRED);
         PARAM(struct ip_prefix, net, \"NET\", REQUIRED);
         PARAM(in6_t, six, \"SIX\", REQUIRED);
         PARAM(string, label, \"LABEL\", OPTIONAL(\"none\"));
         PARAM(i16, small, \"SMALL\", OPTIONAL(-2));
         PARAM(bool, given, \"SMALL\", GIVEN);
         PARAM_LIST(be16, ports, \"PORTS\", OPTIONAL(0));
         struct out { mac_t mac; be32 addr; be32 mask; in6_t six; be16 port; u8 flags; u8 first; };
         void packet(int port)
         {
             packet_create(sizeof(struct out));
             struct out *out = header(struct out, 0);
             out->mac = mac;
             out->addr = net.addr & net.mask;
             out->mask = net.mask;
             out->six = six;
             for (u32 i = 0; i < ports_count; i++)
                 out->port |= ports[i];
             out->flags = (u8) (text_is(label, \"none\") + 2 * given + 4 * (small == -2) + 8 * equal(mac, out->mac) + 16 * equal(net, net));
             out->first = mac.byte[0] + six.byte[ports_count];
             print_text(label);
             emit(0);
         }",
    );
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let mut given = values(&[("given", 1)]);
    given.insert("mac".to_owned(), bytes(&[2, 3, 4, 5, 6, 7]));
    given.insert("net".to_owned(), bytes(&[10, 1, 2, 3, 255, 255, 0, 0]));
    given.insert("six".to_owned(), bytes(&(1..17).collect::<Vec<u8>>()));
    given.insert("ports".to_owned(), bytes(&[1, 0, 0, 2]));
    let mut element = Element::new(&text, 1, 1, given);
    let out = element.push(&[0]).1;
    let mut expected = vec![2, 3, 4, 5, 6, 7, 10, 1, 0, 0, 255, 255, 0, 0];
    expected.extend(1..17);
    expected.extend([1, 2, 31, 5]);
    assert_eq!(out, expected);
    assert_eq!(element.printed(), "none");
}

#[test]
fn bytes_are_copied_and_summed() {
    let text = class(
        "1/1",
        "static u8 kept[8];
         static const u8 fixed[2] = { 0xab, 0xcd };
         struct little { u16 a; i32 b; u64 c; be16 d; };
         void packet(int port)
         {
             u8 scratch[4] = { 1, 2 };
             packet_read(&kept[2], 0, 2);
             scratch[3] = kept[3];
             packet_write(0, scratch, 4);
             packet_write(4, fixed, 2);
             packet_copy(6, 0, 2);
             struct little *little = header(struct little, 8);
             little->a = 0x0102;
             little->b = -2;
             little->c = 0x0102030405060708;
             little->d = htons((u16) (little->a + (u16) little->b + (little->c == 0x0102030405060708) + (little->b == -2)));
             *header(be32, 24) = htonl(crc32(0, 4) ^ crc32c(0, 4) ^ crc16(0, 4) ^ hash32(1, 2u, 3));
             *header(be16, 28) = htons(checksum(0, 8));
             *header(u8, 30) = checksum_ok(0, 30);
             emit(0);
         }",
    );
    let mut element = Element::new(&text, 1, 1, values(&[]));
    let mut packet = vec![0u8; 31];
    packet[0] = 9;
    packet[1] = 8;
    let out = element.push(&packet).1;
    assert_eq!(out[..8], [1, 2, 0, 8, 0xab, 0xcd, 1, 2]);
    assert_eq!(out[8..24], [2, 1, 0xfe, 0xff, 0xff, 0xff, 8, 7, 6, 5, 4, 3, 2, 1, 1, 2]);
    let crc = |kind| netil::digest::crc(kind, &out[..4]).unwrap();
    let sum = crc(0) ^ crc(2) ^ crc(1) ^ netil::digest::murmur3(&[1, 2, 3]);
    assert_eq!(out[24..28], sum.to_be_bytes());
    assert_eq!(out[28..30], netil::digest::internet_checksum(&out[..8]).to_be_bytes());
}
