//! docs/roots/*.svg: published figures beside those of the kept runs, as bars.

use std::fmt::Write as _;

use garland_analysis::grade::Statement;
use garland_experiments::Judged;
use serde::Deserialize;

use crate::{kept, must_be};

/// Pixels: width of a picture, where bars begin, the longest bar, heights of the title, a bar, and
/// a row's gap.
const WIDTH: f64 = 800.0;
const LEFT: f64 = 170.0;
const LONGEST: f64 = 300.0;
const TITLE: f64 = 52.0;
const BAR: f64 = 16.0;
const GAP: f64 = 12.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pictures {
    picture: Vec<Picture>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Picture {
    /// The scenario, whose name the file has, too.
    scenario: String,
    title: String,
    /// The ids of facts, each with its label.
    rows: Vec<[String; 2]>,
}

/// A bar: what it is, its least and most value, and the CSS class of its fill.
struct Bar {
    what: String,
    least: f64,
    most: f64,
    class: &'static str,
}

/// Returns the bars of a statement: what was published, and the medians of the runs without
/// conditions and with each.
fn bars(one: &Judged) -> Vec<Bar> {
    let (least, most) = match &one.statement {
        Some(Statement::Figure(figure)) => (figure.published.least(), figure.published.most()),
        Some(Statement::AtLeast(least)) => (*least, *least),
        _ => panic!("{}: no figure was published", one.what),
    };
    let published =
        Bar { what: format!("{} published", one.published()), least, most, class: "then" };
    let measured = |median: Option<f64>, name: &str, class| {
        median.map(|value| Bar {
            what: format!("{} {name}", digits(value)),
            least: value,
            most: value,
            class,
        })
    };
    let bare = measured(one.runs.median(), "in the lab", "now");
    let with = one.with.iter().filter_map(|(condition, runs)| {
        // Conditions together are named by all of their names.
        let name = if condition.name().contains(" + ") { "all of these" } else { condition.name() };
        measured(runs.median(), &format!("with {name}"), "with")
    });
    [Some(published), bare].into_iter().flatten().chain(with).collect()
}

/// Formats a value with three digits.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 100.0 => 0,
        usual if usual >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Draws a picture: a row for each statement, with a bar for each figure. A published range ends in
/// a lighter part.
fn draw(picture: &Picture, all: &[Judged]) -> String {
    let rows: Vec<(&str, Vec<Bar>)> = picture
        .rows
        .iter()
        .map(|[fact, label]| {
            let one = all.iter().find(|one| one.fact.as_ref() == Some(fact));
            let one = one.unwrap_or_else(|| panic!("{}: no fact {fact}", picture.scenario));
            (label.as_str(), bars(one))
        })
        .collect();
    let most = rows.iter().flat_map(|(_, bars)| bars).map(|bar| bar.most).fold(0.0, f64::max);
    let height: f64 =
        rows.iter().map(|(_, bars)| bars.len() as f64 * BAR + GAP).sum::<f64>() + TITLE;
    let title = escaped(&picture.title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\">\n<style>text {{ font: 13px sans-serif; fill: #222 }} .title {{ font-weight: bold }} \
         .then {{ fill: #8a8a8a }} .now {{ fill: #2b6cb0 }} .with {{ fill: #d98324 }} .range {{ fill-opacity: 0.45 }}\
         </style>\n<rect width=\"{WIDTH}\" height=\"{height}\" rx=\"6\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"16\" y=\"28\">{title}</text>\n"
    );
    let mut y = TITLE;
    for (label, bars) in rows {
        let middle = y + BAR - 4.0;
        let label = escaped(label);
        let _ = writeln!(svg, "<text x=\"16\" y=\"{middle:.0}\">{label}</text>");
        for Bar { what, least, most: end, class } in bars {
            let length = |value: f64| value.max(0.0) / most * LONGEST;
            let least = length(least);
            let end = length(end);
            let high = BAR - 3.0;
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.0}\" width=\"{least:.1}\" height=\"{high}\"/>"
            );
            if end > least {
                let at = LEFT + least;
                let more = end - least;
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class} range\" x=\"{at:.1}\" y=\"{y:.0}\" width=\"{more:.1}\" height=\"{high}\"/>"
                );
            }
            let x = LEFT + end + 6.0;
            let line = y + BAR - 5.0;
            let what = escaped(&what);
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{line:.0}\">{what}</text>");
            y += BAR;
        }
        y += GAP;
    }
    svg.push_str("</svg>\n");
    svg
}

#[test]
fn every_page_has_its_picture() {
    let Pictures { picture: all } =
        toml::from_str(include_str!("pictures.toml")).expect("pictures");
    for picture in &all {
        let name = &picture.scenario;
        must_be(&format!("{name}.svg"), &draw(picture, &kept(name)));
        let page = std::fs::read_to_string(format!("{}/{name}.md", crate::PAGES)).expect("a page");
        assert!(page.contains(&format!("]({name}.svg)")), "{name}.md does not show its picture");
    }
    assert_eq!(all.len(), 5, "a picture for each of the five documents");
}
