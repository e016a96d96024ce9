//! Filter IR → filter IR whose terms stand in the order that decides soonest: cheap before dear
//! and, where a profile tells, what decides most for its cost first.
//!
//! A read past the end rejects the packet whatever other terms say, so terms may change places only
//!
//! - as operands of `and` where being false rejects the packet, too: however they stand, it goes on
//!   only if all of them hold. Under `not` this is an `or` that rejects where it holds. At the top
//!   of a filter nearly all is of this kind;
//! - on packets that hold all that the operands may read, where nothing is cut off and any order is
//!   right. Shorter packets then go through the terms as they were written ([`Node::ByLength`]). As
//!   this takes code twice, only a profile asks for it.
//!
//! With a profile operands of operands stand in one list, equal ones once, and are chosen one by
//! one: each time the one that costs least for each packet that it decides, among the packets that
//! are still open. Costs are in the table of [`cost`]; a branch that goes either way costs more
//! than any load, as the processor guesses it wrongly. That is so for one packet after the other;
//! whether the order suits code for many at once is weighed where that is made
//! (`compiler::backends::c::weight`).
//!
//! Left as they are: filters that set offsets on their way (`geneve`) or look at the last value,
//! large filters with a profile, and what stands inside merged lists.

use super::ast::Join;
use super::cost::cost;
use super::ir::{Ir, IrId, Node};
use super::sample::{Known, Packets, Profile, Sample};

/// Terms that cost as much are for the end, even if nothing is known of the packets.
const DEAR: u64 = 16;
/// Larger filters are not ordered by a profile, nor are longer lists.
const MAX_NODES: usize = 512;
const MAX_OPERANDS: usize = 32;
/// The order for packets of at least that length is not worth its code if few are as long.
const MAX_REACH: u32 = 128;
/// Runs of one join in a chain of both; they nest.
const MAX_RUNS: usize = 16;

/// The filter with its terms in order: a new root in the same IR.
pub(crate) fn order(ir: &mut Ir, root: Option<IrId>, profile: Option<&Profile>) -> Option<IrId> {
    let root = root?;
    if ir.uses_last || ir.slots > 0 {
        return Some(root);
    }
    let small = nodes(ir, root, MAX_NODES) < MAX_NODES;
    let mut sample = profile.filter(|profile| small && !profile.is_empty()).map(Sample::new);
    let reached = sample.as_mut().map(|sample| sample.of_length(0));
    Some(Orderer { ir, sample }.node(root, NodeContext { rejects: [true, false], captured: 0, reached, known: Known::default() }))
}

/// What is known where a node stands.
#[derive(Clone)]
struct NodeContext {
    /// The packet is rejected where the node is false, where it holds.
    rejects: [bool; 2],
    /// Bytes that are captured for certain.
    captured: u32,
    /// Packets of the profile that come here.
    reached: Option<Packets>,
    /// What is known of them.
    known: Known,
}

impl NodeContext {
    fn swapped(self) -> NodeContext {
        let [no, yes] = self.rejects;
        NodeContext { rejects: [yes, no], ..self }
    }

    /// Operands joined in that way may change places: what ends the list, ends it by rejection.
    fn free(&self, join: Join) -> bool {
        self.rejects[usize::from(join == Join::Or)]
    }
}

struct Orderer<'i, 'p> {
    ir: &'i mut Ir,
    sample: Option<Sample<'p>>,
}

impl Orderer<'_, '_> {
    /// Recursion is as deep as the parser allows, and [`MAX_RUNS`] more for each chain.
    fn node(&mut self, id: IrId, place: NodeContext) -> IrId {
        match self.ir.node(id) {
            Node::Not(inner) => {
                let ordered = self.node(inner, place.swapped());
                if ordered == inner { id } else { self.ir.push(Node::Not(ordered)) }
            }
            Node::Chain(first, rest) => match self.one_join(first, self.ir.links(rest).to_vec()) {
                Some((join, terms)) => self.list(id, join, &terms, place),
                None => id,
            },
            Node::Test(_) | Node::Elem(_) | Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => id,
        }
    }

    /// A chain as terms with one join: what stands before the last run of equal joins becomes a
    /// term. None if there are too many runs.
    fn one_join(&mut self, first: IrId, rest: Vec<(Join, IrId)>) -> Option<(Join, Vec<IrId>)> {
        let runs: Vec<_> = rest.chunk_by(|a, b| a.0 == b.0).collect();
        let (last, before) = runs.split_last().filter(|(_, before)| before.len() < MAX_RUNS)?;
        let front = before.iter().fold(first, |front, run| self.ir.push_chain(front, run.iter().copied()));
        Some((last[0].0, std::iter::once(front).chain(last.iter().map(|link| link.1)).collect()))
    }

    fn list(&mut self, id: IrId, join: Join, written: &[IrId], place: NodeContext) -> IrId {
        let terms = if self.sample.is_some() { self.flat(join, written) } else { written.to_vec() };
        let reach = self.reach(&terms);
        if place.free(join) || reach <= place.captured {
            let ordered = self.ordered(join, &terms, &place).unwrap_or(terms);
            return self.terms(join, &ordered, place);
        }
        if reach > MAX_REACH {
            return self.terms(join, written, place);
        }
        let reached = place.reached.zip(self.sample.as_ref()).map(|(reached, sample)| reached.and(&sample.of_length(reach)));
        let inside = NodeContext { captured: reach, reached, ..place.clone() };
        let Some(ordered) = self.ordered(join, &terms, &inside) else { return self.terms(join, written, place) };
        let long = self.terms(join, &ordered, inside);
        self.ir.push(Node::ByLength { reach, long, short: id })
    }

    /// A length at which no read of the terms is cut off; without a profile none is asked for.
    fn reach(&self, terms: &[IrId]) -> u32 {
        if self.sample.is_none() {
            return u32::MAX;
        }
        terms.iter().map(|&term| self.ir.reach(term)).max().unwrap_or(0)
    }

    /// Operands joined in the same way are operands of the whole, equal ones once.
    fn flat(&self, join: Join, terms: &[IrId]) -> Vec<IrId> {
        let mut flat: Vec<IrId> = Vec::new();
        let mut open: Vec<IrId> = terms.iter().rev().copied().collect();
        while let Some(id) = open.pop() {
            match self.ir.node(id) {
                Node::Chain(first, rest) if self.ir.links(rest).iter().all(|link| link.0 == join) => {
                    open.extend(self.ir.links(rest).iter().rev().map(|link| link.1));
                    open.push(first);
                }
                node if flat.iter().any(|&other| self.ir.node(other) == node) => {}
                _ => flat.push(id),
            }
        }
        flat
    }

    /// The terms in a better order, if there is one.
    fn ordered(&mut self, join: Join, terms: &[IrId], place: &NodeContext) -> Option<Vec<IrId>> {
        let Some((sample, reached)) = self.sample.as_mut().zip(place.reached) else {
            let mut sorted = terms.to_vec();
            sorted.sort_by_cached_key(|&term| cost(self.ir, term) >= DEAR);
            return (sorted != terms).then_some(sorted);
        };
        if terms.len() > MAX_OPERANDS {
            return None;
        }
        let chosen = chosen(self.ir, sample, join, terms, reached, place.known.clone());
        let mut work =
            |terms: &[IrId]| sample.work_of_chain(self.ir, terms[0], &links(join, &terms[1..]), reached, &mut place.known.clone());
        // Less than a tenth may be chance.
        (work(&chosen) * 10 < work(terms) * 9).then_some(chosen)
    }

    /// The terms as a chain, each put in order itself.
    fn terms(&mut self, join: Join, terms: &[IrId], place: NodeContext) -> IrId {
        let mut here = place.clone();
        let mut out = Vec::new();
        for (i, &term) in terms.iter().enumerate() {
            // Where the term does not end the list, another comes; the last one ends it both ways.
            here.rejects[usize::from(join == Join::And)] = i + 1 == terms.len() && place.rejects[usize::from(join == Join::And)];
            out.push(self.node(term, here.clone()));
            if let (Some(sample), Some(reached)) = (&mut self.sample, &mut here.reached) {
                sample.work(self.ir, term, *reached, &mut here.known);
                *reached = reached.and(&sample.outcome(self.ir, term).goes_on(join));
            }
        }
        if out.len() == 1 { out[0] } else { self.ir.push_chain(out[0], links(join, &out[1..])) }
    }
}

fn links(join: Join, terms: &[IrId]) -> Vec<(Join, IrId)> {
    terms.iter().map(|&term| (join, term)).collect()
}

/// One term after the other: that which costs least for each packet that it decides; those that
/// decide none as they stand.
fn chosen(ir: &Ir, sample: &mut Sample<'_>, join: Join, terms: &[IrId], mut open: Packets, mut known: Known) -> Vec<IrId> {
    let mut left = terms.to_vec();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let mut price = |&term: &IrId| {
            let decided = open.count() - open.and(&sample.outcome(ir, term).goes_on(join)).count();
            let work = sample.work(ir, term, open, &mut known.clone());
            if decided == 0 { f64::INFINITY } else { work as f64 / decided as f64 }
        };
        let prices: Vec<f64> = left.iter().map(&mut price).collect();
        let best = (0..left.len()).min_by(|&a, &b| prices[a].total_cmp(&prices[b])).unwrap_or(0);
        let term = left.remove(best);
        sample.work(ir, term, open, &mut known);
        open = open.and(&sample.outcome(ir, term).goes_on(join));
        chosen.push(term);
    }
    chosen
}

/// The number of nodes, counted up to a limit.
fn nodes(ir: &Ir, root: IrId, limit: usize) -> usize {
    let mut open = vec![root];
    let mut count = 0;
    while let Some(id) = open.pop().filter(|_| count < limit) {
        count += 1;
        match ir.node(id) {
            Node::Not(inner) => open.push(inner),
            Node::Chain(first, rest) => {
                open.push(first);
                open.extend(ir.links(rest).iter().take(limit).map(|link| link.1));
            }
            Node::Test(_) | Node::Elem(_) | Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::graph::Target;
    use super::super::ir::{Test, Value};
    use super::super::{Filter, LinkType, Options, Profile};

    /// Frames of 100 bytes that begin with those bytes.
    fn profile<const N: usize>(frames: impl IntoIterator<Item = [u8; N]>) -> Profile {
        let mut profile = Profile::default();
        for head in frames {
            let mut frame = [0; 100];
            frame[..N].copy_from_slice(&head);
            profile.add(&frame, 100);
        }
        profile
    }

    fn compiled(text: &str, profile: &Profile) -> Filter {
        Filter::profiled(text, LinkType::ETHERNET, &Options::default(), profile).unwrap()
    }

    fn first_test(filter: &Filter) -> String {
        let Target::Block(entry) = filter.graph.entry else { panic!("nothing is tested") };
        match filter.lowered.ir.test(filter.graph.blocks[entry as usize].test) {
            Test::Cmp(value, ..) => format!("{:?}", filter.lowered.ir.value(value)),
            other => format!("{other:?}"),
        }
    }

    fn as_written(text: &str, profile: &Profile) -> bool {
        let plain = Filter::compile(text, LinkType::ETHERNET, &Options::default()).unwrap();
        compiled(text, profile).module() == plain.module()
    }

    #[test]
    fn what_decides_most_comes_first() {
        let text = "ether[0] = 1 and ether[1] = 2";
        let second_decides = compiled(text, &profile((0..50).map(|i| [1, i])));
        assert!(first_test(&second_decides).contains("offset: 1,"), "{}", first_test(&second_decides));
        assert!(as_written(text, &profile((0..50).map(|i| [i, 2]))));
        assert!(as_written(text, &profile([[3, 3]; 50])), "both decide all, at one cost");
    }

    #[test]
    fn a_small_difference_may_be_chance() {
        let text = "ether[0] = 1 and ether[1] = 1";
        let both = |at: u8| profile((0..100).map(move |i| [u8::from(i < 50), u8::from(i % 2 == 0 && i < at)]));
        assert!(as_written(text, &both(98)));
        assert!(!as_written(text, &both(60)));
    }

    #[test]
    fn operands_of_operands_are_in_the_same_list() {
        let text = "(ether[0] = 1 and ether[1] = 2) and (ether[0] = 1 and ether[2] = 3 and ether[3] = 4)";
        let last_decides = compiled(text, &profile((0..100).map(|i| [1, i % 2 * 2, 3, i / 2 % 10])));
        let filter = compiled("ether[3] = 4 and ether[1] = 2 and ether[0] = 1 and ether[2] = 3", &Profile::default());
        assert_eq!(offsets(&last_decides), offsets(&filter));
    }

    /// Where the loads are, of the tests in order.
    fn offsets(filter: &Filter) -> Vec<u32> {
        let ir = &filter.lowered.ir;
        let loads = filter.graph.blocks.iter().rev().filter_map(|block| match ir.test(block.test) {
            Test::Cmp(value, ..) => match ir.value(value) {
                Value::Load(field) => Some(field.offset),
                _ => None,
            },
            _ => None,
        });
        loads.collect()
    }

    #[test]
    fn alternatives_change_places_for_packets_that_hold_them_all() {
        let text = "ether[0] = 1 or ether[40] = 0";
        let filter = compiled(text, &profile((0..50).map(|i| [i])));
        assert_eq!(first_test(&filter), "Captured(41)");
        // The packet that ends before the second is taken for the first, and one that has neither
        // is cut off.
        assert!(filter.matches_as_graph(&[1; 20], 20) && !filter.matches_as_graph(&[0; 20], 20));
    }

    #[test]
    fn under_not_alternatives_change_places_freely() {
        let text = "not (ether[0] = 1 or ether[40] = 0)";
        let filter = compiled(text, &profile((0..50).map(|i| [i])));
        assert!(first_test(&filter).contains("offset: 40,"), "{}", first_test(&filter));
    }

    #[test]
    fn what_is_dear_comes_last_even_without_a_profile() {
        let ordered = Filter::compile("ip protochain 51 and len = 60", LinkType::ETHERNET, &Options::default()).unwrap();
        assert_eq!(first_test(&ordered), "Len");
        let written = Filter::compile("ip proto 51 and len = 60", LinkType::ETHERNET, &Options::default()).unwrap();
        assert_ne!(first_test(&written), "Len");
    }

    #[test]
    fn what_sets_offsets_stays_in_its_place() {
        // No packet is as long: the last term would come first.
        assert!(as_written("udp and geneve and len > 2000", &profile([[0]; 50])));
        assert!(!as_written("udp and ip and len > 2000", &profile([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]; 50])));
    }

    #[test]
    fn large_filters_and_empty_profiles_order_nothing() {
        let terms = |n: u32| (1..=n).map(|i| format!("(ether[{}] = 0 or len = {i})", i % 80)).collect::<Vec<_>>().join(" and ");
        let two_groups = |n| format!("({}) and ether[0] = 1", terms(n));
        let varied = profile((0..50).map(|i| [i]));
        assert!(!as_written(&two_groups(20), &varied));
        assert!(as_written(&two_groups(300), &varied));
        assert!(as_written(&two_groups(20), &Profile::default()));
        assert!(as_written("ip protochain 51 and len = 60", &Profile::default()));
    }

    #[test]
    fn a_profile_is_full_with_2048_packets() {
        let mut profile = profile([[0]; 2047]);
        assert!(!profile.is_full());
        profile.add(&[0; 60], 60);
        assert!(profile.is_full());
        profile.add(&[0; 60], 60);
        // No bit is left for another one.
        assert!(as_written("ether[0] = 0 and ether[1] = 0", &profile));
    }
}
