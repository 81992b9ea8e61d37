//! Checks measured points, and sorts them by node count.

use super::point::Point;
use super::question::Work;
use super::refusal::Refusal;

/// The largest node count that is accepted.
pub(super) const MOST_NODES: u32 = 1_000_000;

/// The longest time that is accepted, in seconds: a hundred years.
const MAX_SECONDS: f64 = 3.2e9;

/// The shortest time that is accepted, in seconds.
const SHORTEST: f64 = 1e-6;

/// The largest accepted ratio of two times at one node count.
const ALIKE: f64 = 2.0;

/// The largest ratio of two times in the wrong order that still counts as noise.
const NOISE: f64 = 1.15;

/// Checked points, sorted by their nodes.
#[derive(Clone, Debug)]
pub(super) struct Points {
    /// All points, sorted by node count.
    pub(super) all: Vec<Point>,
    /// For each node count, a point with the median of its times.
    pub(super) medians: Vec<Point>,
}

impl Points {
    /// Checks `points`, which were measured with `work`.
    pub(super) fn new(points: &[Point], work: &Work<'_>) -> Result<Self, Refusal> {
        for point in points {
            let sound = (SHORTEST..=MAX_SECONDS).contains(&point.seconds);
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

    /// Returns sorted points without checking them.
    pub(super) fn sorted(points: &[Point]) -> Self {
        let mut all = points.to_vec();
        all.sort_by(|a, b| a.nodes.cmp(&b.nodes).then(a.seconds.total_cmp(&b.seconds)));
        let groups = all.chunk_by(|a, b| a.nodes == b.nodes);
        let median = |group: &[Point]| {
            let low = group[(group.len() - 1) / 2];
            let high = group[group.len() / 2];
            Point { nodes: low.nodes, seconds: f64::midpoint(low.seconds, high.seconds) }
        };
        let medians = groups.map(median).collect();
        Self { all, medians }
    }

    /// Returns the number of different node counts.
    pub(super) fn counts(&self) -> usize {
        self.medians.len()
    }

    /// Returns the largest node count.
    pub(super) fn most(&self) -> u32 {
        self.medians.last().map_or(0, |point| point.nodes)
    }

    /// Splits off the points at the largest node count; returns (the other points, these points).
    pub(super) fn without_largest(&self) -> (Self, Vec<Point>) {
        let most = self.most();
        let (rest, held): (Vec<Point>, Vec<Point>) =
            self.all.iter().copied().partition(|point| point.nodes < most);
        (Self::sorted(&rest), held)
    }

    /// Checks that the times at each node count differ by at most a factor of 2.
    fn agree(&self) -> Result<(), Refusal> {
        for group in self.all.chunk_by(|a, b| a.nodes == b.nodes) {
            let least = group[0].seconds;
            let most = group[group.len() - 1].seconds;
            if most > least * ALIKE {
                return Err(Refusal::Disagree { nodes: group[0].nodes, least, most });
            }
        }
        Ok(())
    }

    /// Checks, for fixed work, that more nodes are not slower, apart from noise.
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

    /// Checks, for a copy, that more nodes are not faster, apart from noise.
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
