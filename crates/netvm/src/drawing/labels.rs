//! Where labels of lines stand: beside their lines, over no box and no other label, and over as few
//! other lines as can be.

use super::curve::{Curve, Point};
use std::collections::HashMap;

/// A rectangle: left, top, right, bottom.
pub(super) type Area = [f64; 4];

/// Points of a curve that are looked at.
const STEPS: usize = 12;
/// The side of the squares in which points of lines are looked for.
const SQUARE: f64 = 32.0;
/// Between a line and its label, and between labels.
const APART: f64 = 4.0;
/// What a line that is covered counts, in steps along the line.
const COVERED: f64 = 6.0;

/// The left upper corner of each label of that size; none where no place is free. Labels without
/// width get none.
pub(super) fn places(lines: &[Vec<Curve>], sizes: &[Point], taken: &[Area]) -> Vec<Option<Point>> {
    let points = Points::of(lines);
    let mut taken = Taken::of(taken);
    // Short lines have the fewest places.
    let mut order: Vec<usize> = (0..lines.len()).filter(|n| sizes[*n].0 > 0.0).collect();
    order.sort_by_key(|n| lines[*n].len());
    let mut out = vec![None; lines.len()];
    for n in order {
        let candidates = candidates(&lines[n], sizes[n]).filter(|(_, area)| taken.is_free(area));
        let costs = candidates.map(|(step, area)| (step as f64 + COVERED * points.others(&area, n) as f64, area));
        let best = costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, area)| area);
        if let Some(area) = best {
            taken.add(area);
            out[n] = Some((area[0], area[1]));
        }
    }
    out
}

/// Places right and left of a line, from its beginning on.
fn candidates(line: &[Curve], size: Point) -> impl Iterator<Item = (usize, Area)> {
    let points = line.iter().flat_map(|curve| (1..STEPS).map(|n| curve.at(n as f64 / STEPS as f64)));
    points.enumerate().flat_map(move |(step, (x, y))| {
        let top = y - size.1 / 2.0;
        [x + APART, x - APART - size.0]
            .map(|left| (step, [left, top, left + size.0, top + size.1]))
            .into_iter()
            .filter(|(_, area)| area[0] >= 0.0)
    })
}

fn overlap(a: &Area, b: &Area) -> bool {
    a[0] < b[2] + APART && b[0] < a[2] + APART && a[1] < b[3] && b[1] < a[3]
}

fn squares(area: &Area) -> impl Iterator<Item = (i64, i64)> + use<> {
    let at = |value: f64| (value / SQUARE).floor() as i64;
    let [left, top, right, bottom] = *area;
    (at(left - APART)..=at(right + APART)).flat_map(move |x| (at(top)..=at(bottom)).map(move |y| (x, y)))
}

/// What is covered already, by squares.
#[derive(Default)]
struct Taken(HashMap<(i64, i64), Vec<Area>>);

impl Taken {
    fn of(areas: &[Area]) -> Self {
        let mut taken = Self::default();
        areas.iter().for_each(|area| taken.add(*area));
        taken
    }

    fn add(&mut self, area: Area) {
        squares(&area).for_each(|square| self.0.entry(square).or_default().push(area));
    }

    fn is_free(&self, area: &Area) -> bool {
        !squares(area).filter_map(|square| self.0.get(&square)).flatten().any(|other| overlap(area, other))
    }
}

/// Points of lines, by squares, with the lines' numbers.
struct Points(HashMap<(i64, i64), Vec<(Point, usize)>>);

impl Points {
    fn of(lines: &[Vec<Curve>]) -> Self {
        let mut points: HashMap<_, Vec<_>> = HashMap::new();
        for (n, line) in lines.iter().enumerate() {
            for point in line.iter().flat_map(|curve| (0..=2 * STEPS).map(|n| curve.at(n as f64 / (2 * STEPS) as f64))) {
                let square = ((point.0 / SQUARE).floor() as i64, (point.1 / SQUARE).floor() as i64);
                points.entry(square).or_default().push((point, n));
            }
        }
        Self(points)
    }

    /// How many points of other lines are in an area.
    fn others(&self, area: &Area, line: usize) -> usize {
        let inside = |(x, y): Point| x >= area[0] && x <= area[2] && y >= area[1] && y <= area[3];
        let points = squares(area).filter_map(|square| self.0.get(&square)).flatten();
        points.filter(|(point, other)| *other != line && inside(*point)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::curves;
    use super::*;

    #[test]
    fn labels_stand_apart_and_on_no_box() {
        let lines: Vec<_> = (0..8).map(|n| curves(&[(100.0 + 20.0 * f64::from(n), 40.0), (90.0 * f64::from(n), 200.0)], false)).collect();
        let sizes = vec![(80.0, 22.0); lines.len()];
        let boxes = [[90.0, 0.0, 260.0, 40.0], [-50.0, 200.0, 700.0, 240.0]];
        let placed: Vec<Point> = places(&lines, &sizes, &boxes).into_iter().flatten().collect();
        assert_eq!(placed.len(), lines.len(), "there is room for all");
        let areas: Vec<Area> = placed.iter().map(|(x, y)| [*x, *y, x + 80.0, y + 22.0]).chain(boxes).collect();
        for (n, a) in areas.iter().enumerate() {
            assert!(areas[..n].iter().all(|b| !overlap(a, b) || boxes.contains(a)), "{n}");
        }
        assert_eq!(places(&lines, &sizes, &[[-1e3, -1e3, 1e3, 1e3]]), vec![None; 8]);
    }
}
