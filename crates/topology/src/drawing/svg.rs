//! Writes a layout as SVG: plain shapes with tooltips, without scripts and fonts.

use std::fmt::Write;

use super::crossed::hub;
use super::layout::{Cable, Layout, Point};
use super::{caption, lay_out};
use crate::{NicId, Topology};

/// The width of the margin around the picture; captions of bars extend into it.
const MARGIN: f64 = 70.0;
/// Half of the width and height of a node's box.
const HALF: Point = (26.0, 14.0);

const STYLE: &str = "\
text { font: 12px sans-serif; text-anchor: middle; dominant-baseline: central; fill: #222 }
text.medium { text-anchor: start; fill: #555; font-size: 11px }
rect { fill: #eef4fb; stroke: #2b5d8c }
rect.head { fill: #fdf0d5; stroke: #a86a00 }
line { stroke: #888; stroke-width: 1.2 }
path { fill: none; stroke: #888; stroke-width: 1.2 }
line.hub { stroke: #b3432b; stroke-width: 5; stroke-linecap: round }
line.switch { stroke: #2f7d4f; stroke-width: 7 }
circle { fill: #555 }
";

/// Returns the topology as an SVG document.
pub fn svg(topology: &Topology) -> String {
    element(topology, "", |Frame { left, top, width, height }| {
        format!(
            "<title>{}</title>\n<style>\n{STYLE}</style>\n\
             <path d=\"M{left:.0} {top:.0}h{width:.0}v{height:.0}h-{width:.0}z\" \
             style=\"fill: #fff; stroke: none\"/>\n",
            escape(&topology.name)
        )
    })
}

/// Returns the topology as an SVG element for an HTML page, whose style sheet sets the colours.
pub fn inline(topology: &Topology) -> String {
    element(topology, " class=\"topology\"", |_| String::new())
}

/// Returns the SVG element with further attributes, and with contents before the shapes.
fn element(
    topology: &Topology,
    attributes: &str,
    contents: impl FnOnce(&Frame) -> String,
) -> String {
    let layout = lay_out(topology);
    let frame = Frame::around(&layout);
    let Frame { left, top, width, height } = frame;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{attributes} width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"{left:.0} {top:.0} {width:.0} {height:.0}\">\n{}",
        contents(&frame)
    );
    shapes(&mut svg, topology, &layout);
    svg.push_str("</svg>\n");
    svg
}

/// The visible area.
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame {
    fn around(layout: &Layout) -> Self {
        let bars = layout.bars.iter().flat_map(|bar| [bar.from, bar.to]);
        let lines = layout.lines.iter().flat_map(|line| [line.from, line.to]);
        let all = layout.nodes.iter().copied().chain(bars).chain(lines);
        let mut low = (0.0_f64, 0.0_f64);
        let mut high = (0.0_f64, 0.0_f64);
        for (x, y) in all {
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        // Captions of bars start at their right ends.
        let captions = if layout.bars.is_empty() { 0.0 } else { 90.0 };
        Self {
            left: low.0 - MARGIN,
            top: low.1 - MARGIN,
            width: high.0 - low.0 + 2.0 * MARGIN + captions,
            height: high.1 - low.1 + 2.0 * MARGIN,
        }
    }
}

/// Draws all shapes. Lines are first, so that bars and nodes are on top of them.
fn shapes(svg: &mut String, topology: &Topology, layout: &Layout) {
    // Writing to a string cannot fail.
    let _ = draw_lines(svg, topology, layout)
        .and_then(|()| draw_bars(svg, topology, layout))
        .and_then(|()| draw_nodes(svg, topology, layout));
}

fn draw_lines(svg: &mut String, topology: &Topology, layout: &Layout) -> std::fmt::Result {
    for line in &layout.lines {
        let ((x1, y1), (x2, y2)) = (line.from, line.to);
        let title = escape(&title(topology, line.what));
        let key = line.what.key();
        // A wire between nodes in a row is drawn below the nodes between them.
        let below = matches!(line.what, Cable::Wire(_)) && !layout.bars.is_empty();
        if below {
            let x = (x1 + x2) / 2.0;
            let y = y1 + 30.0 + (x2 - x1).abs() / 6.0;
            writeln!(
                svg,
                "<path data-cable=\"{key}\" d=\"M{x1:.1} {y1:.1}Q{x:.1} {y:.1} {x2:.1} {y2:.1}\"><title>{title}</title></path>"
            )?;
            continue;
        }
        writeln!(
            svg,
            "<line data-cable=\"{key}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"><title>{title}</title></line>"
        )?;
        if !matches!(line.what, Cable::Wire(_)) {
            writeln!(svg, "<circle cx=\"{x2:.1}\" cy=\"{y2:.1}\" r=\"3\"/>")?;
        }
    }
    Ok(())
}

fn draw_bars(svg: &mut String, topology: &Topology, layout: &Layout) -> std::fmt::Result {
    for bar in &layout.bars {
        let medium = &topology.media[bar.medium];
        let ((x1, y1), (x2, y2)) = (bar.from, bar.to);
        let what = caption(medium);
        let class = what.split(',').next().unwrap_or_default();
        let name = escape(&medium.name);
        writeln!(
            svg,
            "<line class=\"{class}\" data-cable=\"{}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\">\
             <title>{name}: {}</title></line>",
            hub(bar.medium),
            escape(&what)
        )?;
        let ((x, y), flat) = (bar.caption, (y1 - y2).abs() < 1.0);
        let text = if flat { format!("{name}, {}", escape(&what)) } else { name };
        writeln!(svg, "<text class=\"medium\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>")?;
    }
    Ok(())
}

fn draw_nodes(svg: &mut String, topology: &Topology, layout: &Layout) -> std::fmt::Result {
    for (id, (node, &(x, y))) in topology.nodes.iter().zip(&layout.nodes).enumerate() {
        let class = if id == 0 { " class=\"head\"" } else { "" };
        // A long name needs a wide box: about 7 units per letter.
        let half = HALF.0.max(3.6 * node.name.chars().count() as f64 + 6.0);
        let left = x - half;
        let top = y - HALF.1;
        let wide = 2.0 * half;
        let tall = 2.0 * HALF.1;
        let name = escape(&node.name);
        writeln!(
            svg,
            "<g><title>{name}: {}</title><rect{class} x=\"{left:.1}\" y=\"{top:.1}\" \
             width=\"{wide:.1}\" height=\"{tall:.1}\" rx=\"4\"/><text x=\"{x:.1}\" y=\"{y:.1}\">{name}</text></g>",
            node.address
        )?;
    }
    Ok(())
}

/// Returns the tooltip of a line: `n1 eth0 10.88.0.11 on switch`.
fn title(topology: &Topology, what: Cable) -> String {
    let nic = |id: NicId| {
        let nic = &topology.nics[id];
        let address = nic.address.map_or_else(String::new, |address| format!(" {address}"));
        format!("{} {}{address}", topology.nodes[nic.node].name, nic.name)
    };
    match what {
        Cable::Port(id) => {
            format!("{} on {}", nic(id), topology.media[topology.nics[id].medium].name)
        }
        Cable::Wire(id) => {
            let medium = &topology.media[id];
            let stations: Vec<_> = topology.stations(id).map(|(id, _)| nic(id)).collect();
            format!("{}: {} ({})", medium.name, stations.join(" - "), caption(medium))
        }
        Cable::Uplink(id) => {
            let uplink = &topology.uplinks[id];
            let name = |medium: usize| topology.media[medium].name.as_str();
            format!("{} - {}", name(uplink.from), name(uplink.to))
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
