//! Classic BPF: run by libpcap's machine and by the kernel's, it gives the verdicts of the filter
//! it is made of; the kernel's checker takes it; and how long it is beside libpcap's optimised
//! code.
//!
//! `NETVM_RANDOM_FILTERS` sets how many random filters there are. A table of lengths is printed
//! with `--nocapture`.

mod oracle;

use netvm_frontends::pcap_filter::classic::{Form, Instruction, Program, Refused};
use netvm_frontends::pcap_filter::{Filter, LinkType, Options};
use oracle::packets::{LINKS, cut_everywhere, made};
use oracle::random::Random;
use oracle::writer::Writer;
use oracle::{Oracle, Packet, Verdict, amount};

fn expressions() -> impl Iterator<Item = &'static str> {
    include_str!("data/expressions.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn compiled(text: &str, link: u32) -> Option<Filter> {
    Filter::compile(text, LinkType(link), &Options::default()).ok()
}

fn classic(text: &str, link: u32) -> Result<Program, Refused> {
    compiled(text, link).unwrap_or_else(|| panic!("`{text}` on link type {link}")).classic()
}

/// The words of the instructions, as the helper takes them.
fn words(program: &Program) -> Vec<[u32; 4]> {
    let word = |&Instruction { code, jt, jf, k }: &Instruction| [code.into(), jt.into(), jf.into(), k];
    program.instructions.iter().map(word).collect()
}

/// Holds a filter's program against the filter; gives its length, or why there is none.
fn judge(oracle: &mut Oracle, text: &str, link: u32, packets: &[Packet]) -> Option<Result<usize, Refused>> {
    let filter = compiled(text, link)?;
    let program = match filter.classic() {
        Ok(program) => program,
        Err(refused) => return Some(Err(refused)),
    };
    for kernel in [false, true].into_iter().filter(|&kernel| !kernel || program.same_in_kernel) {
        let verdicts = oracle.run(&words(&program), kernel).unwrap_or_else(|why| panic!("`{text}`, link {link}, kernel {kernel}: {why}"));
        for (packet, theirs) in packets.iter().zip(verdicts) {
            let whole = packet.bytes.len() == packet.wire_len as usize;
            let ours = filter.matches(&packet.bytes, packet.wire_len);
            assert!(
                (theirs == Verdict::Accept) == ours || kernel && !whole,
                "`{text}`, link {link}, kernel {kernel}: we {ours}, {theirs:?}, wire {}, {:02x?}\n{}",
                packet.wire_len,
                packet.bytes,
                program.print(Form::Text)
            );
        }
    }
    Some(Ok(program.instructions.len()))
}

#[test]
fn programs_select_what_their_filters_select() {
    let Some(mut oracle) = Oracle::start() else { return };
    let (mut done, mut refused) = (0, Vec::new());
    // With those of which a part's length varies from packet to packet.
    for link in LINKS.into_iter().chain([105, 119, 127, 192, 117]) {
        let packets = made(link, 300, 1);
        let packets = [cut_everywhere(&packets[..8]), packets].concat();
        oracle.packets(&packets);
        for text in expressions() {
            match judge(&mut oracle, text, link, &packets) {
                None => {}
                Some(Ok(_)) => done += 1,
                Some(Err(why)) => refused.push((text, why)),
            }
        }
    }
    let unlike = refused.iter().filter(|(text, _)| !text.contains("protochain") && !text.contains("byte")).collect::<Vec<_>>();
    assert!(done > 1000 && unlike.is_empty(), "{done} done, refused: {unlike:?}");
}

#[test]
fn programs_of_random_filters_select_what_they_select() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut done = 0;
    for seed in 0..amount("NETVM_RANDOM_FILTERS", 400) as u64 {
        let mut writer = Writer { random: Random::new(seed + 77) };
        let link = LINKS[seed as usize % LINKS.len()];
        let text = writer.filter(0);
        let packets = made(link, 120, seed);
        let packets = [cut_everywhere(&packets[..2]), packets].concat();
        oracle.packets(&packets);
        done += usize::from(matches!(judge(&mut oracle, &text, link, &packets), Some(Ok(_))));
    }
    assert!(done > 100, "only {done} random filters have a program");
}

#[test]
fn long_filters_have_long_jumps() {
    let Some(mut oracle) = Oracle::start() else { return };
    let hosts: Vec<String> = (0..300).map(|i| format!("src host 10.0.{}.{}", i / 200, i % 200)).collect();
    let text = format!("not ({}) and tcp", hosts.join(" or "));
    let packets = made(1, 600, 5);
    oracle.packets(&packets);
    judge(&mut oracle, &text, 1, &packets).expect("a filter").expect("a program");
    let returns = classic(&text, 1).expect("a program").instructions.iter().filter(|instruction| instruction.code == 6).count();
    assert!(returns > 2, "what is farther than 255 instructions is reached some other way");
}

#[test]
fn refusals_say_why() {
    assert_eq!(classic("ip protochain 6", 1), Err(Refused::Loop));
    let hosts: Vec<String> = (0..3000).map(|i| format!("host 10.{}.{}.1", i / 200, i % 200)).collect();
    let Err(Refused::Size(size)) = classic(&hosts.join(" or "), 1) else { panic!("that is too long") };
    assert!(Refused::Size(size).to_string().contains("of which the kernel takes 4096"), "{size}");
}

#[test]
fn printed_as_tcpdump_prints() {
    let short = classic("greater 64", 1).expect("a program");
    assert_eq!(
        short.print(Form::Text),
        "(000) ld       #pktlen\n(001) jge      #0x40            jt 2\tjf 3\n(002) ret      #262144\n(003) ret      #0\n"
    );
    assert_eq!(
        short.print(Form::C),
        "{ 0x80, 0, 0, 0x00000000 },\n{ 0x35, 0, 1, 0x00000040 },\n{ 0x6, 0, 0, 0x00040000 },\n{ 0x6, 0, 0, 0x00000000 },\n"
    );
    assert_eq!(short.print(Form::Numbers), "4\n128 0 0 0\n53 0 1 64\n6 0 0 262144\n6 0 0 0\n");
    assert_eq!(classic("", 1).expect("a program").print(Form::Numbers), "1\n6 0 0 262144\n");
}

/// `ldx #pktlen` is not among them: libpcap 1.10 does not know how to print it, later ones do.
#[test]
fn every_instruction_is_printed_as_libpcap_prints_it() {
    let Some(mut oracle) = Oracle::start() else { return };
    let texts = [
        "tcp",
        "geneve and tcp",
        "ip[2] * ip[3] / 3 % 7 = len - (ip[0] ^ 5)",
        "-ip[0:4] > ip[4:2] << 2 | 1",
        "ether[0] & ether[1] = ether[2] >> 3",
        "len & 3 = 4",
        "ip[ip[0] + ip[1]] >= ip[2]",
        "tcp[tcp[12]] + 5 != 6",
        "ether[0:4] ^ ether[1:4] | ether[2:2] = len + 7",
    ];
    for text in texts {
        let program = classic(text, 1).expect("a program");
        assert_eq!(program.print(Form::Text), oracle.image(&words(&program)), "`{text}`");
    }
}

/// How many instructions, ours and libpcap's.
#[test]
fn lengths_beside_libpcaps() {
    let Some(mut oracle) = Oracle::start() else { return };
    oracle.link(1, false);
    let (mut ours, mut theirs) = (0, 0);
    for text in expressions() {
        let (Some(Ok(program)), Ok(length)) = (compiled(text, 1).map(|filter| filter.classic()), oracle.length(text)) else { continue };
        println!("| `{}` | {} | {length} |", text.replace('|', "\\|"), program.instructions.len());
        (ours, theirs) = (ours + program.instructions.len(), theirs + length);
    }
    println!("| all | {ours} | {theirs} |");
    assert!(theirs > 0 && ours * 10 <= theirs * 13, "{ours} instructions, libpcap {theirs}");
}
