//! Curves as SVG: one line for each series over evenly spaced steps, times on a logarithmic axis.

use std::path::Path;

use plotters::prelude::*;

use crate::report::time;

/// Times over steps that grow by a constant factor, or that are listed one by one.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the curve shows, for a title.
    pub title: &'static str,
    /// The name of its file.
    pub name: &'static str,
    /// What the steps are.
    pub axis: &'static str,
    /// The steps.
    pub steps: Vec<String>,
    /// Times for each step, in nanoseconds; a step that a series does not have is `None`.
    pub series: Vec<(&'static str, Vec<Option<f64>>)>,
}

const SIZE: (u32, u32) = (860, 420);
/// Ours, one after the other.
const COLOURS: [RGBColor; 3] = [RGBColor(31, 98, 189), RGBColor(30, 140, 80), RGBColor(120, 120, 120)];
/// The peer's, in every drawing.
const PEER_COLOUR: RGBColor = RGBColor(200, 84, 30);
/// How a peer's series begins.
const PEER: &str = "GGRS";

/// Draws a curve into a file.
///
/// # Errors
/// When the file can't be written, and for a curve without a point.
pub fn draw(curve: &Curve, file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let text = render(curve)?;
    std::fs::write(file, text)?;
    Ok(())
}

fn render(curve: &Curve) -> Result<String, Box<dyn std::error::Error>> {
    let times = || curve.series.iter().flat_map(|(_, times)| times.iter().flatten().copied());
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    if most <= 0.0 {
        return Err("a curve without a point".into());
    }
    // Whole decades, so that a small change does not fill the drawing.
    let (lowest, highest) = (least.log10().floor(), most.log10().ceil());
    let (least, most) = (10f64.powf(lowest), 10f64.powf(highest.max(lowest + 1.0)));
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let last = curve.steps.len().saturating_sub(1).max(1) as f64;
        let mut chart = ChartBuilder::on(&area)
            .caption(curve.title, ("sans-serif", 18))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(-0.15..last + 0.15, (least..most).log_scale())?;
        chart
            .configure_mesh()
            .max_light_lines(1)
            .light_line_style(BLACK.mix(0.0))
            .x_desc(curve.axis)
            .x_labels(curve.steps.len() * 2)
            .x_label_formatter(&|x| label(&curve.steps, *x))
            .y_label_formatter(&|nanos| time(*nanos))
            .draw()?;
        let mut ours = COLOURS.into_iter().cycle();
        for (name, times) in &curve.series {
            let colour = if name.starts_with(PEER) { PEER_COLOUR } else { ours.next().unwrap_or(BLACK) };
            let points = times.iter().enumerate().filter_map(|(step, nanos)| Some((step as f64, (*nanos)?)));
            let points: Vec<_> = points.collect();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
            chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}

/// The step that stands at `x`, if one does.
fn label(steps: &[String], x: f64) -> String {
    let whole = (x - x.round()).abs() < 1e-6 && x > -0.5;
    steps
        .iter()
        .enumerate()
        .find(|(step, _)| whole && *step as f64 == x.round())
        .map_or_else(String::new, |(_, text)| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_names_every_step_and_series() {
        let steps = ["1", "2", "4"].map(str::to_owned).to_vec();
        let series = vec![("retick", vec![Some(10.0), Some(2e3), Some(3e6)]), ("peer", vec![None, Some(5.0), None])];
        let curve = Curve { title: "cost", name: "cost", axis: "steps", steps, series };
        let svg = render(&curve).expect("points");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for word in ["cost", "retick", "peer", "\n1\n", "\n2\n", "\n4\n"] {
            assert!(svg.contains(word), "{word:?} in {svg}");
        }
    }

    #[test]
    fn a_curve_without_a_point_is_an_error() {
        let curve = Curve { title: "", name: "", axis: "", steps: Vec::new(), series: vec![("none", vec![None])] };
        assert!(render(&curve).is_err());
    }
}
