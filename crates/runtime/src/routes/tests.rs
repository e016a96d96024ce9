//! Each format, compressed and not, what is wrong in them, and how long a full table takes.

use super::*;
use std::io::Write;
use std::time::Instant;

fn shown(routes: &Routes) -> Vec<String> {
    let gateway = |route: &Route| route.gateway.map_or("-".to_owned(), |gateway| gateway.to_string());
    routes.all.iter().map(|route| format!("{}/{} {} {}", route.address, route.length, gateway(route), route.port)).collect()
}

fn good(input: &[u8]) -> Vec<String> {
    shown(&read(input).unwrap_or_else(|fault| panic!("{fault}")))
}

fn bad(input: &[u8]) -> String {
    read(input).unwrap_err().to_string()
}

#[test]
fn what_ip_route_prints() {
    let text = "default via 192.168.1.1 dev eth0 proto dhcp metric 100
10.1.2.3/8 via 10.0.0.1 dev eth1
192.168.1.0/24 dev eth0 proto kernel scope link src 192.168.1.7
1.2.3.4 via inet6 fe80::1 dev eth2
20.0.0.0/8 proto static
\tnexthop via 10.0.0.2 dev eth3 weight 1
\tnexthop via 10.0.0.3 dev eth1 weight 1
30.0.0.0/8 nexthop via 10.0.0.2 dev eth3 nexthop via 10.0.0.3 dev eth1
unreachable 40.0.0.0/8
40.0.0.0/8 via 10.0.0.9 dev eth1 metric 9
50.0.0.0/8 via 10.0.0.4 dev eth1 metric 10
50.0.0.0/8 proto static metric 20
\tnexthop via 10.0.0.5 dev eth0 weight 1
blackhole 50.0.0.0/8 metric 30
throw 60.0.0.0/8
unreachable default dev lo metric 4294967295 error -101
broadcast 192.168.1.255 dev eth0

# a remark
default via fe80::1 dev eth1
2001:db8::/32 dev eth1
";
    let routes = read(text.as_bytes()).unwrap();
    assert_eq!(
        shown(&routes),
        [
            "0.0.0.0/0 192.168.1.1 0",
            "10.0.0.0/8 10.0.0.1 1",
            "192.168.1.0/24 - 0",
            "1.2.3.4/32 fe80::1 2",
            "20.0.0.0/8 10.0.0.2 3",
            "30.0.0.0/8 10.0.0.2 3",
            "40.0.0.0/8 - 4294967295",
            "50.0.0.0/8 10.0.0.4 1",
            "::/0 fe80::1 1",
            "2001:db8::/32 - 1",
        ]
    );
    assert_eq!(routes.ports, ["eth0", "eth1", "eth2", "eth3"]);
    assert_eq!(routes.named, [1, 2, 4, 6]);
    assert_eq!(bad(b"10.0.0.0/8 dev eth0\n10.0.0.0/33 dev eth0"), "line 2: `10.0.0.0/33` is not a prefix");
    assert_eq!(bad(b"blackhole x"), "line 1: `x` is not a prefix");
    assert_eq!(bad(b"10.0.0.0/8 via x"), "line 1: `x` is not an address");
    assert_eq!(bad(b"10.0.0.0/8 via"), "line 1: an address is missing behind `via`");
    assert_eq!(bad(b"10.0.0.0/8\n\xff"), "line 2: this is not text");
}

#[test]
fn what_elements_take() {
    let text = "1.2.3.0/24 10.0.1.101 1\n5.6.7.8/32 2\n9.0.0.0/8 - 3\n2001:db8::/32 fe80::1 4\n";
    assert_eq!(good(text.as_bytes()), ["1.2.3.0/24 10.0.1.101 1", "5.6.7.8/32 - 2", "9.0.0.0/8 - 3", "2001:db8::/32 fe80::1 4"]);
    assert_eq!(bad(b"1.2.3.0/33 10.0.1.101 1"), "line 1: `1.2.3.0/33` is not a prefix");
}

#[test]
fn values_separated_by_commas() {
    let text = "prefix,gateway,port\n10.0.0.0/8,1.2.3.4,3\r\n\"20.0.0.0/8\", - ,0 # near\n::/0,,7\n";
    assert_eq!(good(text.as_bytes()), ["10.0.0.0/8 1.2.3.4 3", "20.0.0.0/8 - 0", "::/0 - 7"]);
    assert_eq!(bad(b"a,b,c\na,b,c"), "line 2: `a` is not a prefix");
    assert_eq!(bad(b"10.0.0.0/+8,,1"), "line 1: `10.0.0.0/+8` is not a prefix");
    assert_eq!(bad(b"10.0.0.0/8,,-1"), "line 1: `-1` is not a port");
    assert_eq!(bad(b"10.0.0.0/8,x,1"), "line 1: `x` is not an address");
    assert_eq!(bad(b"10.0.0.0/8,1"), "line 1: expected `prefix,gateway,port`");
    assert_eq!(bad(b"10.0.0.0/8,,1,2"), "line 1: expected `prefix,gateway,port`");
    assert!(bad(&vec![b'1'; 1 << 20]).starts_with("line 1: more than 65536 bytes"));
    assert_eq!(good(b""), [""; 0]);
}

/// A record with its head.
fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
    let head = [&[0; 4][..], &kind.to_be_bytes(), &subtype.to_be_bytes(), &(body.len() as u32).to_be_bytes()].concat();
    [head, body.to_vec()].concat()
}

fn index() -> Vec<u8> {
    let peers = [&[0, 9, 9, 9, 9, 10, 0, 0, 1, 0, 7][..], &[3, 9, 9, 9, 9], &[0xfe; 16], &[0, 0, 0, 8]].concat();
    record(13, 1, &[&[1, 2, 3, 4, 0, 1, b'v', 0, 2][..], &peers].concat())
}

/// A path of so many hops: peer, attributes.
fn path(peer: u8, hops: u8, more: &[u8], identified: bool) -> Vec<u8> {
    let as_path = [&[0x40, 2, 2 + 4 * hops, 2, hops][..], &vec![0; 4 * hops as usize]].concat();
    let identifier: &[u8] = if identified { &[0; 4] } else { &[] };
    let attributes = [&[0x40, 1, 1, 0][..], &as_path, more].concat();
    [&[0, peer, 0, 0, 0, 0][..], identifier, &(attributes.len() as u16).to_be_bytes(), &attributes].concat()
}

fn rib(subtype: u16, prefix: &[u8], paths: &[Vec<u8>]) -> Vec<u8> {
    let count = (paths.len() as u16).to_be_bytes();
    record(13, subtype, &[&[0; 4][..], prefix, &count, &paths.concat()].concat())
}

fn dump() -> Vec<u8> {
    let via = |n| [0x40, 3, 4, 1, 1, 1, n];
    let six = [&[0x80, 14, 17, 16][..], &[0x20; 16]].concat();
    let whole = [&[0x90, 14, 0, 22, 0, 2, 1, 16][..], &[0x30; 16], &[0, 0]].concat();
    [
        index(),
        record(16, 4, &[1, 2, 3]),
        rib(2, &[8, 10], &[path(0, 3, &via(1), false), path(1, 2, &via(2), false), path(0, 2, &via(3), false)]),
        rib(2, &[0], &[path(0, 1, &[], false)]),
        rib(8, &[17, 20, 1, 0x80], &[path(1, 1, &via(4), true)]),
        rib(4, &[16, 0x20, 1], &[path(0, 1, &six, false)]),
        rib(4, &[0], &[path(1, 1, &whole, false)]),
        rib(2, &[8, 30], &[]),
    ]
    .concat()
}

#[test]
fn dumps_of_routers() {
    let routes = read(&dump()[..]).unwrap();
    let six = "2020:2020:2020:2020:2020:2020:2020:2020";
    let whole = "3030:3030:3030:3030:3030:3030:3030:3030";
    let expected = [
        "10.0.0.0/8 1.1.1.2 1".to_owned(),
        "0.0.0.0/0 10.0.0.1 0".to_owned(),
        "20.1.128.0/17 1.1.1.4 1".to_owned(),
        format!("2001::/16 {six} 0"),
        format!("::/0 {whole} 1"),
    ];
    assert_eq!(shown(&routes), expected);
    assert_eq!(routes.ports[0], "10.0.0.1");
    let start = index().len();
    let after = |more: Vec<u8>| bad(&[index(), more].concat());
    assert_eq!(after(rib(2, &[33, 1, 2, 3, 4, 5], &[path(0, 1, &[], false)])), format!("byte {start}: a prefix of too many bits"));
    assert_eq!(after(rib(2, &[8, 1], &[path(2, 1, &[], false)])), format!("byte {start}: a path of a peer that there is not"));
    assert_eq!(after(record(13, 2, &[0, 0, 0, 0, 8])), format!("byte {start}: a record has less in it than it says"));
    assert_eq!(after(vec![0; 5]), format!("byte {start}: the head of a record is cut short"));
    assert_eq!(after(record(13, 2, &[0; 9])[..20].to_vec()), format!("byte {start}: a record is cut short"));
    assert_eq!(after([&record(13, 2, &[])[..8], &[0xff; 4]].concat()), format!("byte {start}: a record of more than 64 MiB"));
    assert_eq!(bad(&record(16, 4, &[])), "byte 12: there are no tables in it");
}

#[test]
fn compressed_files_are_the_same() {
    let plain = dump();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&plain).unwrap();
    let bzip2 = bzip2.finish().unwrap();
    let zstd = zstd::stream::encode_all(&plain[..], 1).unwrap();
    for packed in [&gzip, &bzip2, &zstd] {
        assert_eq!(good(packed), good(&plain));
        assert!(bad(&packed[..packed.len() - 9]).contains("cannot read on"));
    }
}

#[test]
fn a_route_is_an_entry_of_a_table() {
    let routes = read(&b"10.1.0.0/16,1.2.3.4,258\n2001:db8::/32,,1\n10.0.0.0/8,::1,1"[..]).unwrap().all;
    let entry = routes[0].entry(8).unwrap();
    assert_eq!(
        (&entry.key[..], &entry.mask[..], &entry.value[..]),
        (&[0x0a01_0000][..], &[0xffff_0000][..], &[4, 3, 2, 1, 2, 1, 0, 0][..])
    );
    assert_eq!(routes[0].entry(7), None);
    let entry = routes[1].entry(24).unwrap();
    assert_eq!((&entry.key[..], &entry.mask[..]), (&[0, 0x2001_0db8_0000_0000][..], &[0, 0xffff_ffff_0000_0000][..]));
    assert_eq!((entry.value[16], entry.value.len()), (1, 24));
    assert_eq!(routes[2].entry(24), None);
}

#[test]
fn damaged_files_do_no_harm() {
    let whole = dump();
    let mut seed = 9u64;
    let mut next = |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % bound
    };
    for _ in 0..20_000 {
        let mut file = whole.clone();
        for _ in 0..=next(4) {
            let at = next(file.len());
            file[at] = next(256) as u8;
        }
        file.truncate(1 + next(file.len()));
        let _ = read(&file[..]);
        let words = ["default", "via", "dev", "eth0", "10.0.0.0/8", "::/0", "nexthop", ",", "\n", "\t", "#", "ä", "/", "1.2.3.4"];
        let text: Vec<&str> = (0..next(12)).map(|_| words[next(words.len())]).collect();
        let _ = read(text.join(" ").as_bytes());
    }
}

/// A million routes are read in about a second; the limit here leaves room for busy machines and
/// debug builds.
#[test]
fn a_full_table_is_read_quickly() {
    let prefix = |n: u32| [24, 1 + (n >> 16) as u8, (n >> 8) as u8, n as u8];
    let start = Instant::now();
    let mut text = String::new();
    let mut packed = index();
    for n in 0..1_000_000 {
        let [length, a, b, c] = prefix(n);
        text += &format!("{a}.{b}.{c}.0/{length} via 10.0.0.1 dev eth{}\n", n % 4);
        packed.extend(rib(2, &[length, a, b, c], &[path(0, 4, &[0x40, 3, 4, 1, 1, 1, 1], false)]));
    }
    let made = start.elapsed();
    for input in [text.as_bytes(), &packed] {
        let start = Instant::now();
        assert_eq!(read(input).unwrap().all.len(), 1_000_000);
        let took = start.elapsed();
        println!("{took:?}");
        assert!(took.as_secs() < 10, "{took:?}, and {made:?} to make them");
    }
}
