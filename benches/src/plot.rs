//! A picture of a run for the README: what f1 to f9 cost on the mixed trace, engines side by side,
//! on a logarithmic scale.

use crate::engines::Row;
use plotters::prelude::*;
use std::path::Path;

/// What is shown, from the slowest to the quickest, with its colour.
const SHOWN: [(&str, &str, RGBColor); 7] = [
    ("libpcap", "libpcap bpf_filter", RGBColor(150, 150, 150)),
    ("dpdk jit", "DPDK rte_bpf", RGBColor(204, 121, 167)),
    ("kernel jit", "kernel's eBPF compiler (XDP)", RGBColor(0, 158, 115)),
    ("jit", "netvm jit", RGBColor(230, 159, 0)),
    ("C inlined", "hand-written C, gcc -O3", RGBColor(86, 180, 233)),
    ("aot-avx512", "netvm aot, AVX-512", RGBColor(0, 114, 178)),
    ("touch", "touching one byte", RGBColor(0, 0, 0)),
];
const SIZE: (u32, u32) = (860, 360);
/// The part of a filter's column that bars take.
const FILLED: f64 = 0.8;
/// Nanoseconds at the foot of the bars.
const FOOT: f64 = 0.3;

/// Draws the rows of the mixed trace.
///
/// # Errors
/// The file cannot be written.
pub fn draw(rows: &[Row], path: &Path) -> Result<(), String> {
    picture(rows, path).map_err(|e| format!("{}: {e}", path.display()))
}

fn picture<'p>(rows: &[Row], path: &'p Path) -> Result<(), Box<dyn std::error::Error + 'p>> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let most = rows.iter().flat_map(|row| &row.engines).filter(|e| e.engine != "interp").map(|e| e.median_ns).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption("ns per packet, mixed traffic (less is better)", ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..rows.len() as f64, (FOOT..most * 1.3).log_scale())?;
    chart.configure_mesh().disable_x_mesh().x_labels(0).y_label_formatter(&|y| format!("{y}")).draw()?;
    for (n, (engine, name, colour)) in SHOWN.into_iter().enumerate() {
        let wide = FILLED / SHOWN.len() as f64;
        let bar = |(at, row): (usize, &Row)| {
            let ns = row.engines.iter().find(|e| e.engine == engine && e.wrong.is_none())?.median_ns;
            let left = at as f64 + (1.0 - FILLED) / 2.0 + n as f64 * wide;
            Some(Rectangle::new([(left, FOOT), (left + wide * 0.9, ns)], colour.filled()))
        };
        let bars: Vec<_> = rows.iter().enumerate().filter_map(bar).collect();
        let key = move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled());
        chart.draw_series(bars)?.label(name).legend(key);
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8)).draw()?;
    for (at, row) in rows.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(at as f64 + 0.5, FOOT));
        area.draw(&Text::new(row.filter.as_str(), (x - 7, y + 8), ("sans-serif", 13)))?;
    }
    area.present()?;
    Ok(())
}
