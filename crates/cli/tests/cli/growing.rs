//! Captures that configurations write of what comes from an interface: they are there whatever ends
//! the run.

use super::live::{Capturing, Space, frame, grown};
use super::tools::{Dir, netvm};
use netvm::io::live::Injector;

#[test]
fn captures_of_a_live_run_grow_under_their_names_and_outlive_it() {
    let Some(space) = Space::new("grows") else { return };
    let dir = Dir::new("grows");
    let (dump, device) = (dir.file("dump.pcap"), dir.file("device.pcap"));
    let config = dir.write("t.click", format!("FromDevice(in) -> t :: Tee -> ToDump({dump}); t[1] -> Queue -> ToDevice(out);"));
    let placed: [&[&str]; 3] = [&[], &["--place", "rtc:2"], &["--place", "rtc:2", "--order", "flow"]];
    for (more, signal) in placed.into_iter().zip(["-KILL", "-HUP", "-KILL"]).chain([(&[][..], "-HUP"), (&[][..], "-TERM")]) {
        dir.write("dump.pcap", "what was there before");
        let ended = space.inside(|| {
            let out = format!("out={device}");
            let args = [&["run", &config, "--engine", "jit", "--map", "in=dev:right", "--map", &out][..], more].concat();
            let capturing = Capturing::when(netvm(args), "running on");
            let injector = Injector::open("left").expect("an interface to send on");
            (0..9).for_each(|number| injector.send(&frame(number, 60)).expect("a frame is sent"));
            // Nothing comes after these: they are flushed all the same.
            [&dump, &device].into_iter().for_each(|path| grown(path, 9));
            capturing.signal(signal);
            capturing.end()
        });
        assert_eq!(ended.status, if signal == "-KILL" { -1 } else { 0 }, "{more:?} {signal}: {}", ended.err);
        [&dump, &device].into_iter().for_each(|path| grown(path, 9));
    }
}
