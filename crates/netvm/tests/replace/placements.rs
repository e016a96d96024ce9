//! A configuration is placed in another way while packets flow: nothing is lost, doubled or out of
//! order, and elements go on with what they keep.

use super::Run;
use super::graphs::{Kept, capture_of, engines as unkept};
use netvm::application::{Application, Cuts, Placement, Policies, Rearrangement, Settings, Version};
use netvm::engines;

/// In order, in one stage or several: a counter of rates, an element with a table, one that takes
/// turns, and a queue.
const IN_ORDER: &str = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> a :: Counter -> Counter -> f :: FlowCount(CAPACITY 100000) -> Unstrip(14) -> s :: RoundRobinSwitch;
     s[0] -> b :: Counter -> Counter -> q :: Queue(100000) -> ToDump(OUT0, SNAPLEN 0); s[1] -> c :: Counter -> Queue(100000) -> ToDump(OUT1, SNAPLEN 0);";

/// What runs in order comes to other stages while packets flow, and goes on with what it keeps.
#[test]
fn placements_take_turns_while_packets_flow() {
    // Elements without a name have that of their place, which another version moves.
    let reads = [
        "Counter@5.count",
        "Counter@10.count",
        "f.flows",
        "f.uncounted",
        "a.count",
        "b.count",
        "b.byte_count",
        "c.count",
        "h.drops",
        "q.drops",
    ];
    let input = capture_of(900_000);
    let wanted = Run::on(input.clone(), "placed-wanted", "jit", IN_ORDER).end(&reads);
    let mut run = Run::on(input, "placed", "jit", IN_ORDER);
    assert_eq!(run.graph.finish(), []);
    let text = Run::placed(&run.folder, &run.input, IN_ORDER);
    let application = Application::read("test.click", &text, &run.recipe.reading).unwrap_or_else(|e| panic!("{e}"));
    let cut = |application: &Application, cuts: &Cuts| {
        Placement::total_but(application.application(), &[], &Policies::default(), &["FlowCount".to_owned()])?
            .cut_by(application.application(), cuts)
    };
    let reads_cuts = move |text: &str| {
        let cuts = match text {
            "nowhere" => Cuts::None,
            "queues" => Cuts::Queues,
            name => Cuts::Before(vec![name.to_owned()]),
        };
        let place = Box::new(move |application: &Application| cut(application, &cuts));
        Ok(Rearrangement { place, replicas: Some(2), pins: Vec::new() })
    };
    let (jit, settings) = (engines::find("jit").unwrap(), Settings::default());
    let place = cut(&application, &Cuts::None).unwrap();
    let started = application.start_on(place, 2, jit, unkept(), settings, Box::new(Kept::default()));
    let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
    cores.renew_by(run.recipe.clone(), Box::new(move |application| cut(application, &Cuts::None)));
    cores.place_by(application.version(), Box::new(reads_cuts));
    cores.start();
    // What was prepared for another version is of no use.
    let stale = cores.prepare_placement("s").unwrap();
    let shifted = text.replace("-> Strip(14)", "-> Null -> Strip(14)");
    cores.replace(&Version { text: shifted.clone(), ..Version::default() }, false).unwrap();
    assert!(cores.succeed(stale, false).unwrap_err().to_string().contains("has come meanwhile"));
    let (mut stages, mut with) = (Vec::new(), true);
    for place in ["queues", "s", "nowhere", "f", "queues", "nobody", "nowhere", "b"].iter().cycle() {
        let plan = cores.place(place, true).map(|replaced| replaced.succession);
        match (cores.place(place, false), plan) {
            (Ok(replaced), Ok(plan)) => {
                let mut kept = [plan.kept, replaced.succession.kept.clone()];
                kept.iter_mut().for_each(|kept| kept.sort_unstable());
                assert_eq!(kept[0], kept[1], "{place}");
                assert!(replaced.succession.made.is_empty() && replaced.succession.gone.is_empty(), "{place}: {:?}", replaced.succession);
                assert_eq!((replaced.succession.packets_lost, &replaced.faults), (0, &Vec::new()), "{place}");
                stages.push(cores.placement().ordered());
                let next = if with { text.clone() } else { shifted.clone() };
                match cores.replace(&Version { text: next, ..Version::default() }, false).map(|replaced| replaced.succession) {
                    Ok(succession) => assert_eq!((succession.packets_lost, succession.made.len() + succession.gone.len()), (0, 1)),
                    Err(why) => {
                        assert!(why.to_string().contains("have ended"), "{why}");
                        break;
                    }
                }
                with = !with;
                let names: Vec<String> = cores.threads().into_iter().map(|thread| thread.name).collect();
                assert_eq!(names.iter().filter(|name| name.starts_with("in order ")).count(), cores.placement().ordered(), "{names:?}");
            }
            (Err(why), _) if why.to_string().contains("have ended") => break,
            (done, _) => assert!(*place == "nobody" && done.is_err(), "{place}: {done:?}"),
        }
        if !cores.turn() {
            break;
        }
    }
    while cores.turn() {}
    let its_name = |handler: &&str| if with { handler.replace("@5", "@6").replace("@10", "@11") } else { (*handler).to_owned() };
    let reads: Vec<String> = reads.iter().map(its_name).collect();
    let values: Vec<u64> = reads.iter().map(|handler| cores.graph().read(handler, "", None).unwrap().trim().parse().unwrap()).collect();
    assert_eq!(cores.finish(), []);
    drop(cores);
    assert!(stages.len() > 3 && stages.contains(&0) && stages.contains(&1), "{stages:?}");
    assert_eq!(values, wanted.1, "{stages:?}");
    let written = ["out0", "out1"].map(|name| std::fs::read(run.folder.join(name)).unwrap());
    assert!(written == wanted.0, "{stages:?}: captures differ");
    std::fs::remove_dir_all(&run.folder).unwrap();
}
