//! The table of `garland balance`: a line for each file size, and a column for each number of
//! remote copies.

use std::fmt;

use garland_analysis::balance::Resource;
use garland_terminal::verdicts::folded;

use super::point::PointResult;
use super::result::BalanceResult;

/// Bars that show a rate relative to the best one, the shortest first.
const HEAT: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl fmt::Display for BalanceResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.points.is_empty() {
            let pairs = match self.pairs.len() {
                1 => "1 pair".to_owned(),
                many => format!("{many} pairs"),
            };
            let path = &self.path;
            let cache = self.cache;
            let both = self.points.iter().any(|point| point.rounds.len() > 1);
            let ways = if both { "alternating directions" } else { "one direction" };
            writeln!(f, "{path} on {pairs}, {cache} caches, {ways}\n")?;
            heat(f, &self.points)?;
            writeln!(f, "\nMB/s of all copies; bottleneck: D disks, N network, C CPUs\n")?;
            for (verdict, point) in self.verdicts.iter().zip(self.sizes()) {
                writeln!(f, "{}: {}", point.text, verdict.text)?;
                verdict.upgrades.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
            }
            if !self.notes.is_empty() {
                writeln!(f, "\nnotes")?;
                self.notes.iter().try_for_each(|note| writeln!(f, "  {note}"))?;
            }
            writeln!(f)?;
        }
        let failed = self.nodes.iter().filter(|node| !node.end.is_ok());
        f.write_str(&folded(failed.map(|node| node.end.of(&node.name))))?;
        if self.points.is_empty() { Ok(()) } else { writeln!(f, "run     {}", self.run()) }
    }
}

impl BalanceResult {
    /// Returns the first point of each file size, which stands for the size.
    fn sizes(&self) -> impl Iterator<Item = &PointResult> {
        self.points.chunk_by(|one, two| one.text == two.text).map(|points| &points[0])
    }
}

fn heat(f: &mut fmt::Formatter<'_>, points: &[PointResult]) -> fmt::Result {
    let best = points.iter().map(|point| point.rate).fold(0.0, f64::max);
    let mut columns: Vec<usize> = points.iter().map(|point| point.remote).collect();
    columns.sort_unstable();
    columns.dedup();
    write!(f, "{:<14}", "copies remote")?;
    columns.iter().try_for_each(|remote| write!(f, "{remote:>12}"))?;
    writeln!(f)?;
    for row in points.chunk_by(|one, two| one.text == two.text) {
        write!(f, "{:<14}", row[0].text)?;
        for remote in &columns {
            match row.iter().find(|point| point.remote == *remote) {
                Some(point) => write!(f, "{:>12}", cell(point, best))?,
                None => write!(f, "{:>12}", "")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// Formats a point as its rate in MB/s, its bottleneck, and a bar: `6.12 D ▇`.
fn cell(point: &PointResult, best: f64) -> String {
    let level = (point.rate / best.max(1e-9) * HEAT.len() as f64).ceil() as usize;
    let heat = HEAT[level.clamp(1, HEAT.len()) - 1];
    let binds = match point.binding.resource {
        Some(Resource::Disk) => 'D',
        Some(Resource::Network) => 'N',
        Some(Resource::Cpu) => 'C',
        None => '-',
    };
    format!("{:.2} {binds} {heat}", point.rate / 1e6)
}
