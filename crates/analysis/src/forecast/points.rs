//! Measured points, and whether they can carry anything.

use serde::Serialize;

use super::{Refusal, Work};

/// What was measured once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// On so many nodes.
    pub nodes: u32,
    /// The whole work's seconds.
    pub seconds: f64,
}

/// More nodes than anybody has.
pub(super) const MOST_NODES: u32 = 1_000_000;

/// The longest time that is believed, in seconds: a hundred years.
const LONGEST: f64 = 3.2e9;

/// The shortest, in seconds: no work on a node takes less.
const SHORTEST: f64 = 1e-6;

/// Times at one node count may differ by this factor, and not more.
const ALIKE: f64 = 2.0;

/// So much against the expected way is noise, and no contradiction.
const NOISE: f64 = 1.15;

/// Points that can be worked with, in the order of their nodes.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// All of them.
    pub(super) all: Vec<Point>,
    /// For each node count the median.
    pub(super) medians: Vec<Point>,
}

impl Points {
    /// Takes the points of a kind of work.
    pub(super) fn new(points: &[Point], work: &Work<'_>) -> Result<Self, Refusal> {
        for point in points {
            let sound = (SHORTEST..=LONGEST).contains(&point.seconds);
            if !sound || !(1..=MOST_NODES).contains(&point.nodes) {
                return Err(Refusal::NoPoint { nodes: point.nodes, seconds: point.seconds });
            }
        }
        let points = Self::sorted(points);
        points.agree()?;
        match work {
            Work::Fixed { .. } => points.fall()?,
            Work::Growing { .. } => points.rise()?,
        }
        Ok(points)
    }

    /// Those that are known to be sound.
    pub(super) fn sorted(points: &[Point]) -> Self {
        let mut all = points.to_vec();
        all.sort_by(|a, b| a.nodes.cmp(&b.nodes).then(a.seconds.total_cmp(&b.seconds)));
        let groups = all.chunk_by(|a, b| a.nodes == b.nodes);
        let median = |group: &[Point]| {
            let (low, high) = (group[(group.len() - 1) / 2], group[group.len() / 2]);
            Point { nodes: low.nodes, seconds: f64::midpoint(low.seconds, high.seconds) }
        };
        let medians = groups.map(median).collect();
        Self { all, medians }
    }

    /// How many different node counts there are.
    pub(super) fn counts(&self) -> usize {
        self.medians.len()
    }

    /// The largest node count.
    pub(super) fn most(&self) -> u32 {
        self.medians.last().map_or(0, |point| point.nodes)
    }

    /// Without those of the largest node count, and these.
    pub(super) fn without_largest(&self) -> (Self, Vec<Point>) {
        let most = self.most();
        let (rest, held): (Vec<Point>, Vec<Point>) =
            self.all.iter().copied().partition(|point| point.nodes < most);
        (Self::sorted(&rest), held)
    }

    /// Times at one node count must be of the same work.
    fn agree(&self) -> Result<(), Refusal> {
        for group in self.all.chunk_by(|a, b| a.nodes == b.nodes) {
            let (least, most) = (group[0].seconds, group[group.len() - 1].seconds);
            if most > least * ALIKE {
                return Err(Refusal::Disagree { nodes: group[0].nodes, least, most });
            }
        }
        Ok(())
    }

    /// More nodes may not make a given work slower.
    fn fall(&self) -> Result<(), Refusal> {
        let mut best: Option<Point> = None;
        for &point in &self.medians {
            if let Some(best) = best.filter(|best| point.seconds > best.seconds * NOISE) {
                return Err(Refusal::Slower { few: best, many: point });
            }
            best = best.filter(|best| best.seconds <= point.seconds).or(Some(point));
        }
        Ok(())
    }

    /// A copy to more nodes may not take less time.
    fn rise(&self) -> Result<(), Refusal> {
        let mut longest: Option<Point> = None;
        for &point in &self.medians {
            if let Some(longest) = longest.filter(|long| point.seconds * NOISE < long.seconds) {
                return Err(Refusal::Quicker { few: longest, many: point });
            }
            longest = longest.filter(|long| long.seconds >= point.seconds).or(Some(point));
        }
        Ok(())
    }
}
