//! `retick replay plot`: a match as a drawing.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use plotters::coord::Shift;
use plotters::prelude::*;
use retick_core::replay::Replay;
use retick_core::tick::Tick;

use super::parse;
use super::stats::MatchStats;
use crate::failure::Failure;

const SIZE: (u32, u32) = (960, 640);
/// Columns of a drawing; a longer match has several ticks in each.
const MAX_COLUMNS: u64 = 800;
const LEAD: RGBColor = RGBColor(31, 98, 189);
const ROLLBACKS: RGBColor = RGBColor(200, 84, 30);
const SUBSTITUTIONS: RGBColor = RGBColor(30, 140, 80);

/// Arguments of `retick replay plot`.
#[derive(Args)]
pub struct PlotArguments {
    /// The replay
    file: PathBuf,
    /// The figures of the client that recorded it [default: the file that stands beside the replay, if one does]
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Where to write the drawing [default: beside the replay]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Draws a match into a file.
pub fn run(arguments: &PlotArguments) -> Result<(), Failure> {
    let replay = parse(&arguments.file)?;
    let beside = MatchStats::path_beside(&arguments.file);
    let stats = match &arguments.stats {
        Some(path) => Some(MatchStats::read(path)?),
        None if beside.exists() => Some(MatchStats::read(&beside)?),
        None => None,
    };
    let path = arguments.output.clone().unwrap_or_else(|| {
        let mut name = arguments.file.as_os_str().to_owned();
        name.push(".svg");
        PathBuf::from(name)
    });
    let svg = render(&Drawing::new(&replay, stats.as_ref()))
        .map_err(|error| Failure::Run(format!("drawing {}: {error}", arguments.file.display())))?;
    fs::write(&path, svg).map_err(|error| Failure::Write { path: path.clone(), error })?;
    match stats {
        Some(_) => println!("drawn to {}", path.display()),
        None => println!("drawn to {}, without lead and rollbacks: no client's figures are known", path.display()),
    }
    Ok(())
}

/// A panel: its title, colour and a value for each column.
struct Panel {
    title: &'static str,
    colour: RGBColor,
    values: Vec<u64>,
}

/// What is drawn, in columns of so many ticks.
struct Drawing {
    title: String,
    ticks_per_column: u64,
    panels: Vec<Panel>,
}

impl Drawing {
    fn new(replay: &Replay, stats: Option<&MatchStats>) -> Drawing {
        let ticks = replay.ticks().index();
        let per_column = ticks.div_ceil(MAX_COLUMNS).max(1);
        let columns = usize::try_from(ticks.div_ceil(per_column).max(1)).unwrap_or(1);
        let column = |tick: u64| usize::try_from(tick / per_column).unwrap_or(columns).min(columns - 1);
        let (mut substitutions, mut lead, mut rollbacks) = (vec![0; columns], vec![0; columns], vec![0; columns]);
        replay.each_frame(Tick::ZERO, replay.ticks(), |frame| {
            substitutions[column(frame.tick().index())] += frame.substituted().len() as u64;
        });
        for row in stats.map_or(&[][..], MatchStats::rows).iter().filter(|row| row.tick <= ticks) {
            let column = column(row.tick.saturating_sub(1));
            lead[column] = lead[column].max(row.lead_ticks);
            rollbacks[column] = rollbacks[column].max(row.rollback_ticks);
        }
        let mut panels = vec![Panel { title: "substituted inputs", colour: SUBSTITUTIONS, values: substitutions }];
        if stats.is_some() {
            panels.insert(0, Panel { title: "rollback depth, ticks", colour: ROLLBACKS, values: rollbacks });
            panels.insert(0, Panel { title: "lead over the confirmed state, ticks", colour: LEAD, values: lead });
        }
        let (rate, seats) = (replay.descriptor().tick_rate(), replay.descriptor().seats());
        let title = match per_column {
            1 => format!("{ticks} ticks at {rate}, {seats} seats"),
            _ => format!("{ticks} ticks at {rate}, {seats} seats, {per_column} ticks a column"),
        };
        Drawing { title, ticks_per_column: per_column, panels }
    }
}

fn render(drawing: &Drawing) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let area = area.titled(&drawing.title, ("sans-serif", 18))?;
        for (panel, area) in drawing.panels.iter().zip(area.split_evenly((drawing.panels.len(), 1))) {
            draw_panel(panel, drawing.ticks_per_column, &area)?;
        }
        area.present()?;
    }
    Ok(svg)
}

fn draw_panel(
    panel: &Panel,
    ticks_per_column: u64,
    area: &DrawingArea<SVGBackend<'_>, Shift>,
) -> Result<(), Box<dyn std::error::Error>> {
    let most = panel.values.iter().copied().max().unwrap_or(0).max(1);
    let columns = panel.values.len() as u64;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", 14))
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(48)
        .build_cartesian_2d(0..columns * ticks_per_column, 0..most + 1)?;
    chart.configure_mesh().disable_x_mesh().light_line_style(BLACK.mix(0.0)).y_labels(5).draw()?;
    // Only columns with something in them, so that a drawing is as large as what happened.
    let bars = (0..).zip(&panel.values).filter(|(_, value)| **value > 0).map(|(column, value)| {
        let from: u64 = column * ticks_per_column;
        Rectangle::new([(from, 0), (from + ticks_per_column, *value)], panel.colour.filled())
    });
    chart.draw_series(bars)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_a_drawing_has_a_panel_for_each_figure_and_a_bar_where_something_happened() {
        let panel = |title, values| Panel { title, colour: LEAD, values };
        let panels = vec![panel("lead", vec![3, 0, 5]), panel("substituted", vec![0, 0, 0])];
        let svg = render(&Drawing { title: "a match".into(), ticks_per_column: 2, panels }).expect("drawn");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        ["a match", "lead", "substituted"].iter().for_each(|word| assert!(svg.contains(word), "{word} in {svg}"));
        let coloured = svg.matches("#1F62BD").count();
        assert_eq!(coloured, 2, "{svg}");
    }
}
