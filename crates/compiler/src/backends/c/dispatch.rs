//! The way of a packet from member to member, as C: each member's handler is run, then a jump to what its port leads to.
//!
//! Where it depends on a computed port, or on which of its kin ([`super::kin`]) a packet is in, where it goes on, and that is the same text, the place there is
//! looked up: nobody could foretell a branch.

use super::counts::Counts;
use super::kin::{Kin, pick};
use super::linked::Member;
use super::lists::Lists;
use crate::mir::{Helper, Op};
use netil::cluster::Way;
use std::fmt::Write as _;

/// Where each output port leads; those that are not connected out at once.
pub(super) fn all_links(member: &Member<'_>) -> Vec<(u32, Way)> {
    let outputs = member.program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| id);
    let link = |id: u32| member.links.iter().find(|(port, _)| *port == id).map_or(Way::AtOnce, |(_, link)| *link);
    outputs.map(|id| (id, link(id))).collect()
}

/// The first port of a member, and where it and those behind it lead, if there are several and all lead to the same.
pub(super) fn alike(member: &Member<'_>, kin: &Kin) -> Option<(u32, Vec<Way>)> {
    let (ports, ways): (Vec<u32>, Vec<Way>) = all_links(member).into_iter().unzip();
    let first = *ports.first()?;
    let in_order = (first..).zip(&ports).all(|(next, port)| next == *port);
    (ports.len() > 1 && in_order && kin.meet(&ways)).then_some((first, ways))
}

/// The same where the number of its port is all that is known of a packet's way.
pub(super) fn numbered(member: &Member<'_>, kin: &Kin, n: usize) -> Option<(u32, Vec<Way>)> {
    alike(member, kin).filter(|_| kin.of_first(n).len() == 1)
}

/// A member's first port and how many there are, if all lead out of the members, each packet by the number of its port.
pub(super) fn by_exit(member: &Member<'_>, kin: &Kin, n: usize) -> Option<(u32, u32)> {
    let (first, ways) = numbered(member, kin, n)?;
    matches!(ways[0], Way::Exit(_) | Way::LastExit(_)).then_some((first, ways.len() as u32))
}

fn has(member: &Member<'_>, what: fn(&Helper) -> bool) -> bool {
    let ops = member.func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| member.func.op(*v));
    ops.into_iter().any(|op| matches!(op, Op::Helper(helper, ..) if what(helper)))
}

/// Whether packets are run after which others may have to wait for a timer.
pub(super) fn sets_timers(member: &Member<'_>) -> bool {
    has(member, |helper| matches!(helper, Helper::SetTimer(_)))
}

/// Ways in one of the two forms of handlers.
pub(super) struct Ways<'a> {
    pub members: &'a [&'a Member<'a>],
    pub kin: &'a Kin,
    pub counts: &'a Counts,
    /// Members whose quick forms give the number behind their last port to packets that are dropped.
    pub refusing: &'a [u32],
    pub lists: &'a Lists,
    pub general: bool,
}

/// How the text says some things.
struct Words {
    /// That where the packet lies is noted, at the end of its way.
    place: &'static str,
    /// That its way ends, without and with a call of the runtime.
    done: &'static str,
    called: &'static str,
}

impl Ways<'_> {
    /// All members' parts, and where ways end.
    pub fn text(&self) -> String {
        self.kin.firsts().map(|n| self.step(n)).collect::<String>() + &self.ends()
    }

    fn words(&self) -> Words {
        match self.general {
            true => Words { place: "nv_place(&g->slots[i], &g->details[i], r);", done: "return", called: "return" },
            false => Words { place: "nv_place_last(k, i, r);", done: "return 0", called: "return 1" },
        }
    }

    /// Which member a packet is in.
    fn which(&self, n: usize) -> String {
        pick(&self.kin.of_first(n), &format!("kin{n}"))
    }

    /// A member's handler run on a packet, up to what follows by its result.
    fn runs(&self, n: usize) -> String {
        let begin = format!("at{n}:\n    __attribute__((unused));\n");
        if !self.general {
            return begin + &format!("    out = f{n}(g, k, i, r, info, port, {});\n", self.which(n));
        }
        // Only the general form sets timers. When they are due depends on the packet's time as it was before.
        let [before, behind] = if sets_timers(self.members[n]) {
            ["    time = g->slots[i].time_ns;\n".to_owned(), format!("    g->look(g, i, {n}, time);\n")]
        } else {
            [String::new(), String::new()]
        };
        let tell = |ends: u32| format!("    if (NV_RARELY(g->tell))\n        g->tell(g, {n}, {ends});\n");
        let run = format!("{}    out = m{n}(g, i, r, info, port, resume, live);\n    resume = 0;\n{}", tell(0), tell(1));
        begin + &before + &run + &behind
    }

    /// One member's part of a way, for all its kin.
    fn step(&self, n: usize) -> String {
        let (member, text) = (self.members[n], self.runs(n));
        let copies = self.general && has(member, |helper| matches!(helper, Helper::SendCopy(_)));
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
        let kin = self.kin.of_first(n);
        let way =
            |member: &u32| self.members[*member as usize].links.iter().find(|(id, _)| *id == port).map_or(Way::AtOnce, |(_, way)| *way);
        let ways: Vec<Way> = kin.iter().map(way).collect();
        let leaves = format!("nv_end(r, NV_PORT, {}, {port}, 0);", self.which(n));
        let mut text = format!("    case {port}: ");
        if copies {
            let _ = write!(text, "if (g->copies) {{ {leaves} goto at_once; }} ");
        }
        if ways.contains(&Way::AtOnce) {
            return text + &format!("{leaves} goto at_once;\n");
        }
        if let Some(counts) = kin.iter().map(|member| self.counts.at(*member, port)).collect::<Option<Vec<u32>>>() {
            let _ = write!(text, "g->counts[{}]++; ", pick(&counts, &format!("kin{n}")));
        }
        text + &self.goes(&ways, &format!("kin{n}")) + "\n"
    }

    /// What follows where the port's number says where a packet goes on, but not how.
    fn by_number(&self, n: usize) -> Option<String> {
        let (first, ways) = numbered(self.members[n], self.kin, n)?;
        let count = self.counts.at(n as u32, first).map(|count| format!("g->counts[{count} + r->by - {first}u]++; ")).unwrap_or_default();
        let called = self.words().called;
        let refused = self.refusing.iter().position(|member| *member == n as u32).filter(|_| !self.general);
        let list = refused.map(|at| if let Way::LastExit(_) = ways[0] { Way::LastExit } else { Way::Exit }(self.lists.refused(at)));
        let goes = self.goes(&[ways, Vec::from_iter(list)].concat(), &format!("(r->by - {first}u)"));
        Some(format!(
            "    switch (out) {{\n    case NV_GONE: {called};\n    case NV_ENDED: goto ended;\n    case NV_BY: break;\n    default: r->by = (uint32_t)out;\n    }}\n    {count}{goes}\n"
        ))
    }

    /// Goes on by one of these ways, none of them at once, that all lead to the same.
    fn goes(&self, ways: &[Way], by: &str) -> String {
        let Words { place, done, .. } = self.words();
        let number = |way: &Way| match way {
            Way::Member(to, at) => (*to, *at),
            Way::Exit(exit) | Way::LastExit(exit) => (self.lists.place(*exit), 0),
            Way::AtOnce => (0, 0),
        };
        let to: Vec<(u32, u32)> = ways.iter().map(number).collect();
        let list = || pick(&to.iter().map(|(list, _)| *list).collect::<Vec<_>>(), by);
        match ways[0] {
            Way::Member(member, _) => format!("{} goto at{};", self.kin.enters(&to, by), self.kin.first(member)),
            Way::LastExit(_) => format!("{place} nv_append(&g->lists[{}], i); {done};", list()),
            _ => format!("nv_store(g, r, info, i); nv_append(&g->lists[{}], i); {done};", list()),
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
