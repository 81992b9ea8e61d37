//! The printed form of the result of `garland disk`.

use std::fmt;

use garland_core::cluster::nodelist;
use garland_core::printable;
use garland_core::units::{Nanos, bytes};
use garland_protocol::measure::{DiskDirection, DiskMode, DiskPattern, DiskTimes};
use garland_terminal::verdicts::folded;

use crate::disk::measurement::{Measurement, NodeDisk, is_disk};
use crate::disk::result::DiskResult;
use DiskDirection::{Read, Write};
use DiskMode::{Buffered, Direct, Stable};
use DiskPattern::{Random, Sequential};

impl fmt::Display for DiskResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measured: Vec<&NodeDisk> =
            self.nodes.iter().filter(|node| !node.measurements.is_empty()).collect();
        if !measured.is_empty() {
            let turns = if self.one_by_one { "one by one" } else { "all at once" };
            let path = &self.path;
            let size = bytes::format(self.size);
            let nodes = match measured.len() {
                1 => "1 node".to_owned(),
                many => format!("{many} nodes"),
            };
            writeln!(f, "{path} on {nodes}, {size} each, {turns}")?;
            places(f, &measured)?;
            sequential(f, &measured)?;
            swept(f, &measured, "random read, 4 KiB, direct", Read)?;
            swept(f, &measured, "random write, 4 KiB, direct", Write)?;
            single(f, &measured, "random read, 4 KiB, cached, cold", Read, Buffered)?;
            single(f, &measured, "random write, 4 KiB, stable (fdatasync each)", Write, Stable)?;
            listed(f, "notes", &self.notes)?;
            listed(f, "slower than the others", &self.outliers)?;
            tuning(f, &measured)?;
        }
        let failed = self.nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(failed.map(|node| node.end.of(&node.name))))
    }
}

fn width(nodes: &[&NodeDisk]) -> usize {
    nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).max(6)
}

/// Writes a line for each pair of file system and device, with the names of its nodes.
fn places(f: &mut fmt::Formatter<'_>, nodes: &[&NodeDisk]) -> fmt::Result {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for node in nodes {
        let Some(place) = &node.place else { continue };
        let device = if place.device.is_empty() { &place.mounted } else { &place.device };
        let text = format!("{} on {device}, {} free", place.system, bytes::format(place.free));
        // It must stay on its line, whatever a node sends.
        let text = printable::line(&text);
        match places.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(&node.name),
            None => places.push((text, vec![&node.name])),
        }
    }
    let mut lines = places.into_iter();
    lines.try_for_each(|(text, names)| writeln!(f, "{}: {text}", nodelist::fold(&names)))
}

fn sequential(f: &mut fmt::Formatter<'_>, nodes: &[&NodeDisk]) -> fmt::Result {
    let name = width(nodes);
    writeln!(f, "\nsequential, 1 MiB, MB/s")?;
    write!(f, "{:name$}", "")?;
    for head in ["write+fsync", "read cold", "write direct", "read direct"] {
        write!(f, "  {head:>12}")?;
    }
    writeln!(f)?;
    for node in nodes {
        write!(f, "{:name$}", node.name)?;
        for (direction, mode) in
            [(Write, Buffered), (Read, Buffered), (Write, Direct), (Read, Direct)]
        {
            match node.find(direction, Sequential, mode) {
                Some(found) => write!(f, "  {:>12.1}", found.rate / 1e6)?,
                None => write!(f, "  {:>12}", "-")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

fn swept(
    f: &mut fmt::Formatter<'_>,
    nodes: &[&NodeDisk],
    title: &str,
    direction: DiskDirection,
) -> fmt::Result {
    let rows: Vec<_> = nodes
        .iter()
        .filter_map(|node| {
            Some((*node, node.find(direction, Random, Direct)?, node.at_knee(direction)?))
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let name = width(nodes);
    writeln!(f, "\n{title}")?;
    let head = format!("{:>8}  {:>9}  {:>9}  {:>9}", "IOPS", "p50", "p99", "max");
    writeln!(f, "{:name$}  {:^41}  {:^48}", "", "depth 1", "knee")?;
    writeln!(f, "{:name$}  {head}  {:>5}  {head}", "", "depth")?;
    for (node, alone, knee) in rows {
        let depth = knee.depth();
        writeln!(f, "{:name$}  {}  {depth:>5}  {}", node.name, cells(alone), cells(knee))?;
    }
    Ok(())
}

fn single(
    f: &mut fmt::Formatter<'_>,
    nodes: &[&NodeDisk],
    title: &str,
    direction: DiskDirection,
    mode: DiskMode,
) -> fmt::Result {
    let find = |node: &&NodeDisk| node.find(direction, Random, mode).cloned();
    let rows: Vec<_> = nodes.iter().filter_map(|node| Some((*node, find(node)?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let name = width(nodes);
    let head = format!("{:>8}  {:>9}  {:>9}  {:>9}", "IOPS", "p50", "p99", "max");
    writeln!(f, "\n{title}\n{:name$}  {head}", "")?;
    rows.into_iter()
        .try_for_each(|(node, found)| writeln!(f, "{:name$}  {}", node.name, cells(&found)))
}

fn cells(measurement: &Measurement) -> String {
    let DiskTimes { p50, p99, max, .. } = measurement.times;
    let [p50, p99, max] = [p50, p99, max].map(|ns| Nanos(ns).to_string());
    format!("{:>8.0}  {p50:>9}  {p99:>9}  {max:>9}", measurement.iops)
}

fn listed(f: &mut fmt::Formatter<'_>, title: &str, lines: &[String]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    lines.iter().try_for_each(|line| writeln!(f, "  {}", printable::line(line)))
}

fn tuning(f: &mut fmt::Formatter<'_>, nodes: &[&NodeDisk]) -> fmt::Result {
    let lines: Vec<String> = nodes
        .iter()
        .flat_map(|node| node.advice.iter().map(move |advice| format!("{}: {advice}", node.name)))
        .collect();
    let judged = |node: &&&NodeDisk| node.place.as_ref().is_some_and(is_disk);
    let judged: Vec<&str> = nodes.iter().filter(judged).map(|node| node.name.as_str()).collect();
    match (lines.is_empty(), judged.is_empty()) {
        (true, true) => writeln!(f),
        (true, false) => writeln!(
            f,
            "\ntuning\n  {}: no change needed to scheduler, read-ahead, queue and write cache\n",
            nodelist::fold(&judged)
        ),
        (false, _) => listed(f, "tuning", &lines).and_then(|()| writeln!(f)),
    }
}

#[cfg(test)]
mod tests {
    use garland_protocol::measure::DiskPlace;
    use garland_results::head::{NodeEnd, NodeVerdict};

    use super::*;

    /// Writes with [`places`] and [`listed`].
    struct Table(NodeDisk);

    impl fmt::Display for Table {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            places(f, &[&self.0])?;
            listed(f, "tuning", &self.0.advice)
        }
    }

    #[test]
    fn what_a_node_sends_of_its_disk_begins_no_line() {
        let place = DiskPlace {
            system: "ext4\nok".to_owned(),
            device: "vda\nok".to_owned(),
            ..DiskPlace::default()
        };
        let table = Table(NodeDisk {
            name: "n1".to_owned(),
            end: NodeEnd::new(NodeVerdict::Failed, None),
            place: Some(place),
            measurements: Vec::new(),
            advice: vec!["scheduler none\nok".to_owned()],
        });
        assert_eq!(
            table.to_string(),
            "n1: ext4\\nok on vda\\nok, 0 B free\n\ntuning\n  scheduler none\\nok\n"
        );
    }
}
