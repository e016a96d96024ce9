//! The way of a packet from member to member, as C: each member's handler is run, then a jump to
//! what its port leads to.
//!
//! Where it depends on a computed port, or on which of the members that share code
//! ([`crate::cluster::identical`]) a packet is in, where it goes on, and that is the same code, the
//! place there is looked up: no processor could predict a branch.

use crate::cluster::Fusion;
use crate::cluster::dispatch::{numbered, sends_copies, sets_timers};
use crate::cluster::identical::Identical;
use crate::cluster::links::{all_links, link};
use netil::cluster::LinkTarget;
use std::fmt::Write as _;

/// One of several numbers, by an expression that counts them.
fn pick(of: &[u32], by: &str) -> String {
    let first = of.first().copied().unwrap_or(0);
    if of.iter().all(|n| *n == first) {
        return first.to_string();
    }
    if (first..).zip(of).all(|(next, n)| next == *n) {
        return if first == 0 { by.to_owned() } else { format!("{by} + {first}") };
    }
    let list: Vec<String> = of.iter().map(u32::to_string).collect();
    format!("({{ static const uint32_t of[] = {{ {} }}; of[{by}]; }})", list.join(", "))
}

/// Declares which of the members that share code a packet is in.
pub(super) fn variables(identical: &Identical) -> String {
    identical.groups().map(|first| format!("    uint32_t kin{first} = 0;\n    (void)kin{first};\n")).collect()
}

/// Says where a packet enters that goes to one of these members, which share code, by these ports.
pub(super) fn enters(identical: &Identical, to: &[(u32, u32)], by: &str) -> String {
    let (members, ports): (Vec<u32>, Vec<u32>) = to.iter().copied().unzip();
    let first = identical.first(members[0]);
    let which = if identical.of_first(first).len() > 1 {
        let positions: Vec<u32> = members.iter().map(|member| identical.position(*member)).collect();
        format!("kin{first} = {}; ", pick(&positions, by))
    } else {
        String::new()
    };
    format!("{which}port = {};", pick(&ports, by))
}

/// The way of packets in one of the two forms of handlers.
pub(super) struct Dispatch<'a> {
    pub fusion: &'a Fusion<'a>,
    /// Which members share code: none on the slow path.
    pub identical: &'a Identical,
    pub slow: bool,
}

/// How the text says some things.
struct Words {
    /// That where the packet lies is noted, at the end of its way.
    place: &'static str,
    /// That its way ends, without and with a call of the runtime.
    done: &'static str,
    called: &'static str,
}

impl Dispatch<'_> {
    /// All members' parts, and where ways end.
    pub fn text(&self) -> String {
        self.identical.firsts().map(|n| self.step(n)).collect::<String>() + &self.ends()
    }

    fn words(&self) -> Words {
        match self.slow {
            true => Words { place: "nv_place(&g->slots[i], &g->details[i], r);", done: "return", called: "return" },
            false => Words { place: "nv_place_last(k, i, r);", done: "return 0", called: "return 1" },
        }
    }

    /// Which member a packet is in.
    fn which(&self, n: usize) -> String {
        pick(&self.identical.of_first(n), &format!("kin{n}"))
    }

    /// A member's handler run on a packet, up to what follows by its result.
    fn runs(&self, n: usize) -> String {
        let begin = format!("at{n}:\n    __attribute__((unused));\n");
        if !self.slow {
            return begin + &format!("    out = f{n}(g, k, i, r, info, port, {});\n", self.which(n));
        }
        // Only the slow path sets timers. When they are due depends on the packet's time as it was
        // before.
        let [before, behind] = if sets_timers(self.fusion.members[n]) {
            ["    time = g->slots[i].time_ns;\n".to_owned(), format!("    g->look(g, i, {n}, time);\n")]
        } else {
            [String::new(), String::new()]
        };
        let tell = |ends: u32| format!("    if (NV_RARELY(g->tell))\n        g->tell(g, {n}, {ends});\n");
        let run = format!("{}    out = m{n}(g, i, r, info, port, resume, live);\n    resume = 0;\n{}", tell(0), tell(1));
        begin + &before + &run + &behind
    }

    /// One member's part of a way, for all that share its code.
    fn step(&self, n: usize) -> String {
        let (member, text) = (self.fusion.members[n], self.runs(n));
        let copies = self.slow && sends_copies(member);
        if let Some(all) = self.by_number(n).filter(|_| !copies) {
            return text + &all;
        }
        let cases: String = all_links(member).iter().map(|(port, _)| self.case(n, *port, copies)).collect();
        let (end, called) = (if copies { "if (g->copies) goto at_once; " } else { "" }, self.words().called);
        let test = "    if (out == NV_BY)\n        out = r->by;\n    switch (out) {\n";
        text + test + &cases + &format!("    case NV_GONE: {called};\n    default: {end}goto ended;\n    }}\n")
    }

    /// What follows by one port.
    fn case(&self, n: usize, port: u32, copies: bool) -> String {
        let group = self.identical.of_first(n);
        let ways: Vec<LinkTarget> = group.iter().map(|member| link(self.fusion.members[*member as usize], port)).collect();
        let leaves = format!("nv_end(r, NV_PORT, {}, {port}, 0);", self.which(n));
        let mut text = format!("    case {port}: ");
        if copies {
            let _ = write!(text, "if (g->copies) {{ {leaves} goto at_once; }} ");
        }
        if ways.contains(&LinkTarget::AtOnce) {
            return text + &format!("{leaves} goto at_once;\n");
        }
        if let Some(counts) = group.iter().map(|member| self.fusion.counters.at(*member, port)).collect::<Option<Vec<u32>>>() {
            let _ = write!(text, "g->counts[{}]++; ", pick(&counts, &format!("kin{n}")));
        }
        text + &self.goes(&ways, &format!("kin{n}")) + "\n"
    }

    /// What follows where the port's number says where a packet goes on, but not how.
    fn by_number(&self, n: usize) -> Option<String> {
        let (first, ways) = numbered(self.fusion.members[n], self.identical, n)?;
        let count =
            self.fusion.counters.at(n as u32, first).map(|count| format!("g->counts[{count} + r->by - {first}u]++; ")).unwrap_or_default();
        let called = self.words().called;
        let dropped = self.fusion.dropping.iter().position(|(member, _)| *member == n as u32).filter(|_| !self.slow);
        let queues = &self.fusion.queues;
        let queue = dropped
            .map(|at| if let LinkTarget::LastExit(_) = ways[0] { LinkTarget::LastExit } else { LinkTarget::Exit }(queues.dropped(at)));
        let goes = self.goes(&[ways, Vec::from_iter(queue)].concat(), &format!("(r->by - {first}u)"));
        Some(format!(
            "    switch (out) {{\n    case NV_GONE: {called};\n    case NV_ENDED: goto ended;\n    case NV_BY: break;\n    default: r->by = (uint32_t)out;\n    }}\n    {count}{goes}\n"
        ))
    }

    /// Goes on by one of these ways, none of them at once, that all lead to the same.
    fn goes(&self, ways: &[LinkTarget], by: &str) -> String {
        let Words { place, done, .. } = self.words();
        let number = |way: &LinkTarget| match way {
            LinkTarget::Member(to, at) => (*to, *at),
            LinkTarget::Exit(exit) | LinkTarget::LastExit(exit) => (self.fusion.queues.place(*exit), 0),
            LinkTarget::AtOnce => (0, 0),
        };
        let to: Vec<(u32, u32)> = ways.iter().map(number).collect();
        let queue = || pick(&to.iter().map(|(queue, _)| *queue).collect::<Vec<_>>(), by);
        match ways[0] {
            LinkTarget::Member(member, _) => format!("{} goto at{};", enters(self.identical, &to, by), self.identical.first(member)),
            LinkTarget::LastExit(_) => format!("{place} nv_append(&g->lists[{}], i); {done};", queue()),
            _ => format!("nv_store(g, r, info, i); nv_append(&g->lists[{}], i); {done};", queue()),
        }
    }

    /// Where the ways of packets end.
    fn ends(&self) -> String {
        let Words { done, called, .. } = self.words();
        format!(
            "at_once:
    __attribute__((unused));
    nv_store(g, r, info, i);
    nv_finish(g, i, r);
    g->leave(g, i);
    {called};
ended:
    __attribute__((unused));
    nv_finish(g, i, r);
    nv_append(&g->ended, i);
    {done};
}}
"
        )
    }
}
