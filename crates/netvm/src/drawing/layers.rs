//! Layout of a directed graph in layers, from top to bottom.
//!
//! Sugiyama's four steps: edges that close a cycle are laid from bottom to top; boxes get layers by
//! their longest way from a source; boxes of a layer are ordered by the barycentre of their
//! neighbours' places, in sweeps, of which the one with the fewest crossings counts; then each
//! layer takes the places nearest to those of its neighbours that keep the order and the distance
//! (least squares, by pooling neighbours that want to overlap). An edge over several layers is a
//! chain of points. Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of
//! hierarchical system structures" (1981).
//!
//! Leaves out: subgraphs, and labels as obstacles.

/// Space between boxes.
const GAP: f64 = 28.0;
/// What a chain of points takes in a layer.
const CHAIN: f64 = 10.0;
/// Sweeps for the order, and for places.
const SWEEPS: usize = 24;

/// An edge: from a box to a box, at which parts of their widths, and whether it is known to lead
/// back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: usize,
    pub leaves_at: f64,
    pub to: usize,
    pub enters_at: f64,
    pub back: bool,
}

/// Where everything is.
pub(super) struct Layout {
    /// Left upper corners of the boxes.
    pub corners: Vec<(f64, f64)>,
    /// The points of each edge, from its box to its box; between the first and the last, pairs:
    /// where it enters a layer and where it leaves it.
    pub routes: Vec<Vec<(f64, f64)>>,
    /// Edges that lead from bottom to top.
    pub upward: Vec<bool>,
    /// The whole.
    pub size: (f64, f64),
}

/// A box or a point of a chain.
struct Node {
    layer: usize,
    width: f64,
    x: f64,
    /// Neighbours above and below, each with how far right of its middle it is met, and how far
    /// right of mine.
    near: [Vec<(usize, f64, f64)>; 2],
}

struct Work {
    nodes: Vec<Node>,
    layers: Vec<Vec<usize>>,
}

/// Lays out boxes of those sizes, with so much space between layers.
pub(super) fn layout(sizes: &[(f64, f64)], edges: &[Edge], gap: f64) -> Layout {
    let upward = upward(sizes.len(), edges);
    let layers = layers(sizes.len(), edges, &upward);
    let nodes =
        sizes.iter().zip(&layers).map(|((width, _), layer)| Node { layer: *layer, width: *width, x: 0.0, near: [Vec::new(), Vec::new()] });
    let mut work = Work { nodes: nodes.collect(), layers: Vec::new() };
    let chains: Vec<Vec<usize>> = edges.iter().zip(&upward).map(|(edge, upward)| work.chain(edge, *upward)).collect();
    work.order();
    work.place();
    work.draw_near(&chains, &upward);
    work.finish(sizes, edges, &chains, upward, gap)
}

/// Which edges close a cycle: those known to, and those that lead to a box from which the search
/// came.
fn upward(count: usize, edges: &[Edge]) -> Vec<bool> {
    let mut upward: Vec<bool> = edges.iter().map(|edge| edge.back || edge.from == edge.to).collect();
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); count];
    edges.iter().enumerate().for_each(|(at, edge)| leaving[edge.from].push(at));
    // 0: not seen, 1: on the way, 2: done.
    let mut state = vec![0u8; count];
    for root in 0..count {
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.pop() {
            state[node] = state[node].max(1);
            let Some(edge) = leaving[node].get(next) else {
                state[node] = 2;
                continue;
            };
            stack.push((node, next + 1));
            match state[edges[*edge].to] {
                _ if upward[*edge] => {}
                0 => stack.push((edges[*edge].to, 0)),
                1 => upward[*edge] = true,
                _ => {}
            }
        }
    }
    upward
}

/// The longest way to each box from one that nothing leads to.
fn layers(count: usize, edges: &[Edge], upward: &[bool]) -> Vec<usize> {
    let down: Vec<&Edge> = edges.iter().zip(upward).filter(|(_, upward)| !**upward).map(|(edge, _)| edge).collect();
    let mut layers = vec![0; count];
    for _ in 0..count {
        let mut moved = false;
        for edge in &down {
            if layers[edge.to] <= layers[edge.from] {
                (layers[edge.to], moved) = (layers[edge.from] + 1, true);
            }
        }
        if !moved {
            break;
        }
    }
    // Sources stand right above what they lead to.
    for node in (0..count).filter(|node| !down.iter().any(|edge| edge.to == *node)) {
        let below = down.iter().filter(|edge| edge.from == node).map(|edge| layers[edge.to]).min();
        layers[node] = below.map_or(0, |below| below - 1);
    }
    layers
}

impl Work {
    fn join(&mut self, above: (usize, f64), below: (usize, f64)) {
        self.nodes[above.0].near[1].push((below.0, below.1, above.1));
        self.nodes[below.0].near[0].push((above.0, above.1, below.1));
    }

    /// Makes the points of an edge, from top to bottom. One that leads up has points beside its
    /// boxes, too.
    fn chain(&mut self, edge: &Edge, upward: bool) -> Vec<usize> {
        let offset = |node: usize, part: f64| (node, (part - 0.5) * self.nodes[node].width);
        let (from, to) = (offset(edge.from, edge.leaves_at), offset(edge.to, edge.enters_at));
        let (top, bottom) = (self.nodes[from.0].layer, self.nodes[to.0].layer);
        let span = if upward { bottom..top + 1 } else { top + 1..bottom };
        let first = self.nodes.len();
        self.nodes.extend(span.map(|layer| Node { layer, width: CHAIN, x: 0.0, near: [Vec::new(), Vec::new()] }));
        let points: Vec<usize> = (first..self.nodes.len()).collect();
        points.windows(2).for_each(|pair| self.join((pair[0], 0.0), (pair[1], 0.0)));
        match (points.first(), points.last()) {
            _ if upward => {}
            (Some(first), Some(last)) => {
                self.join(from, (*first, 0.0));
                self.join((*last, 0.0), to);
            }
            _ => self.join(from, to),
        }
        points
    }

    /// Orders each layer, so that few edges cross.
    fn order(&mut self) {
        let depth = self.nodes.iter().map(|node| node.layer + 1).max().unwrap_or(0);
        self.layers = vec![Vec::new(); depth];
        for (at, node) in self.nodes.iter().enumerate() {
            self.layers[node.layer].push(at);
        }
        let (mut best, mut fewest) = (self.layers.clone(), self.crossings());
        for sweep in 0..SWEEPS {
            let side = sweep % 2;
            for step in 0..depth {
                self.sort(if side == 0 { step } else { depth - 1 - step }, side);
            }
            let crossings = self.crossings();
            if crossings < fewest {
                (best, fewest) = (self.layers.clone(), crossings);
            }
        }
        self.layers = best;
    }

    /// Where each node is in its layer, the part of its width at which an edge leaves counting a
    /// little.
    fn ranks(&self) -> Vec<f64> {
        let mut ranks = vec![0.0; self.nodes.len()];
        for layer in &self.layers {
            layer.iter().enumerate().for_each(|(rank, node)| ranks[*node] = rank as f64);
        }
        ranks
    }

    fn met(&self, ranks: &[f64], node: usize, offset: f64) -> f64 {
        ranks[node] + 0.9 * offset / self.nodes[node].width
    }

    fn sort(&mut self, layer: usize, side: usize) {
        let ranks = self.ranks();
        let centre = |node: usize| {
            let near = &self.nodes[node].near[side];
            let sum: f64 = near.iter().map(|(other, there, _)| self.met(&ranks, *other, *there)).sum();
            if near.is_empty() { ranks[node] } else { sum / near.len() as f64 }
        };
        let mut keyed: Vec<(f64, usize)> = self.layers[layer].iter().map(|node| (centre(*node), *node)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.layers[layer] = keyed.into_iter().map(|(_, node)| node).collect();
    }

    fn crossings(&self) -> usize {
        let ranks = self.ranks();
        let mut count = 0;
        for layer in &self.layers {
            let down = |node: &usize| {
                let ends = |(other, there, here): &(usize, f64, f64)| (self.met(&ranks, *node, *here), self.met(&ranks, *other, *there));
                self.nodes[*node].near[1].iter().map(ends).collect::<Vec<_>>()
            };
            let edges: Vec<(f64, f64)> = layer.iter().flat_map(down).collect();
            let crosses = |a: &(f64, f64), b: &(f64, f64)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1);
            count += edges.iter().enumerate().map(|(at, a)| edges[at + 1..].iter().filter(|b| crosses(a, b)).count()).sum::<usize>();
        }
        count
    }

    /// Gives nodes their places from left to right.
    fn place(&mut self) {
        for layer in 0..self.layers.len() {
            self.fit(layer, &[]);
        }
        for sweep in 0..SWEEPS {
            let side = sweep % 2;
            // The last sweeps weigh both sides.
            let sides: &[usize] = if sweep + 4 < SWEEPS { &[side] } else { &[0, 1] };
            for step in 0..self.layers.len() {
                self.fit(if side == 0 { step } else { self.layers.len() - 1 - step }, sides);
            }
        }
    }

    /// Where a node would stand best: under or above its neighbours, points of a chain above all
    /// under each other.
    fn wish(&self, node: usize, sides: &[usize]) -> f64 {
        let near = sides.iter().flat_map(|side| &self.nodes[node].near[*side]);
        let weighed = near.map(|(other, there, here)| {
            let weight = if self.nodes[node].width == CHAIN && self.nodes[*other].width == CHAIN { 8.0 } else { 1.0 };
            (weight * (self.nodes[*other].x + there - here), weight)
        });
        let (sum, weight) = weighed.fold((0.0, 0.0), |(sum, all), (x, weight)| (sum + x, all + weight));
        if weight == 0.0 { self.nodes[node].x } else { sum / weight }
    }

    /// How far the middles of neighbours must be apart.
    fn distance(&self, left: usize, right: usize) -> f64 {
        let [left, right] = [left, right].map(|node| self.nodes[node].width);
        (left + right) / 2.0 + if left == CHAIN && right == CHAIN { GAP / 2.0 } else { GAP }
    }

    /// Draws what leads up at the right of all boxes as near to them as it can be: nothing else
    /// does.
    fn draw_near(&mut self, chains: &[Vec<usize>], upward: &[bool]) {
        let mut outer: Vec<&Vec<usize>> = chains.iter().zip(upward).filter(|(_, upward)| **upward).map(|(chain, _)| chain).collect();
        let rank = |work: &Self, node: usize| work.layers[work.nodes[node].layer].iter().position(|n| *n == node).unwrap_or(0);
        outer.sort_by_key(|chain| chain.iter().map(|node| rank(self, *node)).max());
        for chain in outer {
            let is_last =
                |node: &usize| self.layers[self.nodes[*node].layer][rank(self, *node)..].iter().all(|n| self.nodes[*n].width == CHAIN);
            if !chain.iter().all(is_last) {
                continue;
            }
            let before = |node: &usize| rank(self, *node).checked_sub(1).map(|at| self.layers[self.nodes[*node].layer][at]);
            let least = chain.iter().filter_map(|node| before(node).map(|left| self.nodes[left].x + self.distance(left, *node)));
            let place = least.fold(f64::NEG_INFINITY, f64::max);
            chain.iter().filter(|_| place.is_finite()).for_each(|node| self.nodes[*node].x = place);
        }
    }

    /// Places in order, at their distances, with the least squares of what lacks to the wishes:
    /// pools of neighbours move as one.
    fn fit(&mut self, layer: usize, sides: &[usize]) {
        let nodes = self.layers[layer].clone();
        let (mut shifts, mut shift) = (Vec::new(), 0.0);
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                shift += self.distance(nodes[at - 1], *node);
            }
            shifts.push(shift);
        }
        // Pools: sum of wishes, and how many.
        let mut pools: Vec<(f64, usize)> = Vec::new();
        for (node, shift) in nodes.iter().zip(&shifts) {
            pools.push((self.wish(*node, sides) - shift, 1));
            while let [.., (a, n), (b, m)] = pools[..]
                && a / n as f64 > b / m as f64
            {
                pools.truncate(pools.len() - 2);
                pools.push((a + b, n + m));
            }
        }
        let places = pools.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
        for ((node, shift), place) in nodes.iter().zip(shifts).zip(places) {
            self.nodes[*node].x = place + shift;
        }
    }

    /// The heights of layers, and all points.
    fn finish(self, sizes: &[(f64, f64)], edges: &[Edge], chains: &[Vec<usize>], upward: Vec<bool>, gap: f64) -> Layout {
        let left = self.nodes.iter().map(|node| node.x - node.width / 2.0).fold(f64::INFINITY, f64::min);
        let left = if left.is_finite() { left - GAP } else { 0.0 };
        let right = self.nodes.iter().map(|node| node.x + node.width / 2.0).fold(left, f64::max);
        let height = |layer: &Vec<usize>| layer.iter().filter_map(|node| sizes.get(*node)).map(|size| size.1).fold(0.0, f64::max);
        let (mut tops, mut top) = (Vec::new(), gap / 2.0);
        for layer in &self.layers {
            tops.push((top, height(layer)));
            top += height(layer) + gap;
        }
        let corner = |node: usize| {
            let (top, height) = tops[self.nodes[node].layer];
            (self.nodes[node].x - left - sizes[node].0 / 2.0, top + (height - sizes[node].1) / 2.0)
        };
        let corners: Vec<(f64, f64)> = (0..sizes.len()).map(corner).collect();
        let route = |((edge, chain), upward): ((&Edge, &Vec<usize>), &bool)| {
            let start = (corners[edge.from].0 + edge.leaves_at * sizes[edge.from].0, corners[edge.from].1 + sizes[edge.from].1);
            let end = (corners[edge.to].0 + edge.enters_at * sizes[edge.to].0, corners[edge.to].1);
            let point = |node: &usize| {
                let (top, height) = tops[self.nodes[*node].layer];
                [(self.nodes[*node].x - left, top), (self.nodes[*node].x - left, top + height)]
            };
            let mut middle: Vec<(f64, f64)> = chain.iter().flat_map(point).collect();
            if *upward {
                middle.reverse();
            }
            std::iter::once(start).chain(middle).chain([end]).collect()
        };
        let routes = edges.iter().zip(chains).zip(&upward).map(route).collect();
        Layout { corners, routes, size: (right - left + GAP, top - gap / 2.0), upward }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize) -> Edge {
        Edge { from, leaves_at: 0.5, to, enters_at: 0.5, back: false }
    }

    fn boxes(layout: &Layout, sizes: &[(f64, f64)]) -> Vec<(f64, f64, f64, f64)> {
        layout.corners.iter().zip(sizes).map(|(c, s)| (c.0, c.1, c.0 + s.0, c.1 + s.1)).collect()
    }

    #[test]
    fn boxes_stand_below_what_leads_to_them_and_never_overlap() {
        let sizes: Vec<(f64, f64)> = (0..40).map(|n| (40.0 + (n * 37 % 90) as f64, 20.0 + (n % 3) as f64 * 14.0)).collect();
        let edges: Vec<Edge> = (1..40).flat_map(|n| [edge(n / 3, n), edge(n * 7 % n, n)]).collect();
        let layout = layout(&sizes, &edges, 52.0);
        let boxes = boxes(&layout, &sizes);
        for (a, b) in (0..40).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let (a, b) = (boxes[a], boxes[b]);
            assert!(a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1, "{a:?} {b:?}");
        }
        for (edge, route) in edges.iter().zip(&layout.routes) {
            assert!(boxes[edge.from].3 < boxes[edge.to].1 && route.len() >= 2);
        }
        let inside = |b: &(f64, f64, f64, f64)| b.0 >= 0.0 && b.1 >= 0.0 && b.2 <= layout.size.0 && b.3 <= layout.size.1;
        assert!(boxes.iter().all(inside));
    }

    #[test]
    fn crossings_that_need_not_be_are_not() {
        // 0 leads to 3, 1 to 2: the second layer has to be turned round.
        let sizes = [(50.0, 20.0); 4];
        let layout = layout(&sizes, &[edge(0, 3), edge(1, 2)], 52.0);
        assert_eq!(layout.corners[0].0 < layout.corners[1].0, layout.corners[3].0 < layout.corners[2].0);
        assert!((layout.corners[0].0 - layout.corners[3].0).abs() < 1.0);
    }

    #[test]
    fn cycles_are_led_from_bottom_to_top() {
        let sizes = [(50.0, 20.0); 3];
        let edges = [edge(0, 1), edge(1, 2), edge(2, 0), edge(1, 1)];
        let layout = layout(&sizes, &edges, 52.0);
        assert_eq!(layout.upward, [false, false, true, true]);
        assert!(layout.corners[0].1 < layout.corners[1].1 && layout.corners[1].1 < layout.corners[2].1);
        assert_eq!((layout.routes[2].len(), layout.routes[3].len()), (8, 4));
        assert!(super::layout(&[], &[], 52.0).corners.is_empty());
    }
}
