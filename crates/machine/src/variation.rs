//! How much the work for a packet varies, and how uneven the stages of a pipeline are: what speaks
//! against pipelines. Figures 3(a) and 3(b) of the NetTM paper.
//!
//! The paper cuts programs between basic blocks. Here an element is the smallest piece: stages are
//! runs of elements in the order in which packets come to them, cut so that the slowest stage is as
//! fast as it can be.

use crate::stages::Parts;
use crate::steps::Step;

/// Stages of the paper's figure: one for each thread.
pub const STAGES: usize = 8;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Variation {
    /// The standard deviation of the instructions of a packet, as a part of their mean.
    pub deviation: f64,
    /// Stages that there are, each with its elements and its part of all instructions.
    pub stages: Vec<Stage>,
    /// How many times slower the slowest stage is than the average of as many stages as were asked
    /// for.
    pub imbalance: f64,
}

/// A stage of the pipeline.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Stage {
    /// Numbers of its elements.
    pub elements: Vec<usize>,
    /// The part of all instructions.
    pub share: f64,
}

/// Instructions, accesses included.
fn instructions(steps: &[Step]) -> u64 {
    let of = |step: &Step| match step {
        Step::Compute(count) => u64::from(*count),
        Step::Access(_) => 1,
        Step::Enter(_) | Step::Leave(_) => 0,
    };
    steps.iter().map(of).sum()
}

/// Looks at all packets of a trace of so many elements; the pipeline is to have so many stages.
pub fn of(packets: &[Parts], elements: usize, stages: usize) -> Variation {
    let totals: Vec<f64> =
        packets.iter().map(|packet| packet.parts.iter().map(|(_, steps)| instructions(steps)).sum::<u64>() as f64).collect();
    let count = totals.len().max(1) as f64;
    let mean = totals.iter().sum::<f64>() / count;
    let variance = totals.iter().map(|total| (total - mean).powi(2)).sum::<f64>() / count;
    // What an element does, and where it stands in the ways of packets.
    let mut work = vec![(0_u64, 0_usize, 0_usize); elements];
    for packet in packets {
        for (place, (element, steps)) in packet.parts.iter().enumerate() {
            let (done, places, times) = &mut work[*element];
            (*done, *places, *times) = (*done + instructions(steps), *places + place, *times + 1);
        }
    }
    let mut order: Vec<usize> = (0..elements).filter(|element| work[*element].2 > 0).collect();
    order.sort_by(|a, b| {
        let place = |element: &usize| work[*element].1 as f64 / work[*element].2 as f64;
        place(a).total_cmp(&place(b)).then(a.cmp(b))
    });
    let costs: Vec<u64> = order.iter().map(|element| work[*element].0).collect();
    let all: u64 = costs.iter().sum();
    let share = |part: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let stages_of: Vec<Stage> = cut(&costs, stages.max(1))
        .into_iter()
        .map(|run| Stage { elements: order[run.clone()].to_vec(), share: share(costs[run].iter().sum()) })
        .collect();
    let slowest = stages_of.iter().map(|stage| stage.share).fold(0.0, f64::max);
    Variation {
        deviation: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
        stages: stages_of,
        imbalance: slowest * stages.max(1) as f64,
    }
}

/// Cuts costs into so many runs at most, of which the largest is as small as it can be.
fn cut(costs: &[u64], most: usize) -> Vec<std::ops::Range<usize>> {
    let (mut low, mut high) = (costs.iter().copied().max().unwrap_or(0), costs.iter().sum::<u64>());
    while low < high {
        let middle = low + (high - low) / 2;
        if runs(costs, middle).len() <= most { high = middle } else { low = middle + 1 }
    }
    runs(costs, low)
}

/// Runs that are no larger than that, each as long as it can be.
fn runs(costs: &[u64], largest: u64) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (at, cost) in costs.iter().enumerate() {
        if sum + cost > largest && at > begin {
            found.push(begin..at);
            (begin, sum) = (at, 0);
        }
        sum += cost;
    }
    if begin < costs.len() {
        found.push(begin..costs.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(costs: &[u32]) -> Parts {
        let parts = costs.iter().enumerate().filter(|(_, cost)| **cost > 0).map(|(n, cost)| (n, vec![Step::Compute(*cost)])).collect();
        Parts { parts, flow: 0, bytes: 60 }
    }

    #[test]
    fn packets_that_are_alike_do_not_vary_and_even_elements_are_balanced() {
        let even = of(&[packet(&[5, 5, 5, 5]), packet(&[5, 5, 5, 5])], 4, 4);
        assert_eq!((even.deviation, even.imbalance, even.stages.len()), (0.0, 1.0, 4));
        // Half of the packets take three times as long: mean 20, deviation 10.
        assert!((of(&[packet(&[10]), packet(&[30])], 1, 1).deviation - 0.5).abs() < 1e-12);
    }

    #[test]
    fn one_element_that_does_most_makes_a_pipeline_uneven() {
        let found = of(&[packet(&[1, 6, 1])], 3, 4);
        assert_eq!(found.stages.iter().map(|stage| stage.elements.clone()).collect::<Vec<_>>(), [vec![0], vec![1], vec![2]]);
        assert!((found.imbalance - 3.0).abs() < 1e-12, "three quarters of the work in a quarter of the stages");
        assert_eq!(cut(&[3, 1, 1, 1, 3], 3), [0..1, 1..4, 4..5]);
        assert_eq!((cut(&[], 3), of(&[], 0, 8).imbalance), (vec![], 0.0));
    }
}
