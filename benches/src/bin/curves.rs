//! Measures what a tick costs as a match grows, draws the curves, and rewrites their section in the results. `--quick` only
//! sees that everything runs.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use retick_benches::bulk::MAX_STATE_BYTES;
use retick_benches::curves;
use retick_benches::machine;
use retick_benches::plot::{Curve, draw};
use retick_benches::report::{Table, results_file, rewrite_section, time};
use retick_benches::rounds::Plan;

const FULL: Plan = Plan { rounds: 21, block: Duration::from_millis(2), max_ticks: 4096 };

fn main() -> Result<(), Box<dyn Error>> {
    let quick = env::args().skip(1).any(|argument| argument == "--quick");
    let plan = if quick { Plan::QUICK } else { FULL };
    let (most_bytes, most_ticks) = if quick { (65_536, 1_000) } else { (MAX_STATE_BYTES, 1_000_000) };
    let curves =
        [curves::seats(plan), curves::state(plan, most_bytes), curves::depth(plan), curves::length(most_ticks)];
    let text = report(&curves)?;
    write!(io::stdout().lock(), "{text}")?;
    if quick {
        // Drawn beside the build's own files, so that drawing is tried and nothing that is kept changes.
        return draw_all(&curves, &env::temp_dir().join("retick-curves"));
    }
    draw_all(&curves, &Path::new(env!("CARGO_MANIFEST_DIR")).join("plots"))?;
    rewrite_section(&results_file(), "curves", &text)
}

fn draw_all(curves: &[Curve], folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    curves.iter().try_for_each(|curve| draw(curve, &folder.join(format!("{}.svg", curve.name))))
}

fn report(curves: &[Curve]) -> Result<String, Box<dyn Error>> {
    let mut text = format!("{}.\n", machine::describe());
    for curve in curves {
        let (title, name) = (curve.title, curve.name);
        write!(text, "\n### {title}\n\n![{title}](plots/{name}.svg)\n\n{}", table(curve))?;
    }
    Ok(text)
}

fn table(curve: &Curve) -> Table {
    let titles: Vec<_> = [curve.axis].into_iter().chain(curve.series.iter().map(|(name, _)| *name)).collect();
    let mut table = Table::new(&titles);
    for (index, step) in curve.steps.iter().enumerate() {
        let cell = |times: &[Option<f64>]| times.get(index).copied().flatten().map_or_else(|| "-".to_owned(), time);
        table.push([step.clone()].into_iter().chain(curve.series.iter().map(|(_, times)| cell(times))));
    }
    table
}
