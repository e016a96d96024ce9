//! Lines of a picture as cubic curves: they leave a box downwards, pass between boxes, and enter
//! one from above.

pub(super) type Point = (f64, f64);

/// A cubic curve: its ends, and two points between that pull it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve([Point; 4]);

/// How far lines that lead up reach below and above their boxes.
const REACH: f64 = 26.0;
/// The length of an arrow's head.
pub(super) const HEAD: f64 = 6.0;

/// The curves along a route, up to the arrow's head.
pub(super) fn curves(route: &[Point], upward: bool) -> Vec<Curve> {
    let [first, .., last] = route else { return Vec::new() };
    let end = (last.0, last.1 - HEAD);
    let points: Vec<Point> = route[1..route.len() - 1].iter().copied().chain([end]).collect();
    let mut before = *first;
    let mut out = Vec::with_capacity(points.len());
    for (n, point) in points.iter().enumerate() {
        let (leaves, enters) = match upward {
            true if n == 0 => (before.1 + REACH, point.1 + REACH),
            true if n + 1 == points.len() => (before.1 - REACH, point.1 - REACH),
            _ => ((before.1 + point.1) / 2.0, (before.1 + point.1) / 2.0),
        };
        out.push(Curve([before, (before.0, leaves), (point.0, enters), *point]));
        before = *point;
    }
    out
}

impl Curve {
    /// The point at that part of it, between 0 and 1.
    pub fn at(&self, t: f64) -> Point {
        let s = 1.0 - t;
        let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
        self.0.iter().zip(weights).fold((0.0, 0.0), |sum, (point, weight)| (sum.0 + weight * point.0, sum.1 + weight * point.1))
    }

    /// In the language of SVG's paths, from where the one before ended.
    pub fn path(&self) -> String {
        let [a, b, c, d] = self.0;
        match a.0 == d.0 && (a.1 <= b.1) == (a.1 <= d.1) && (c.1 <= d.1) == (a.1 <= d.1) {
            true => format!(" L{:.1} {:.1}", d.0, d.1),
            false => format!(" C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", b.0, b.1, c.0, c.1, d.0, d.1),
        }
    }
}
