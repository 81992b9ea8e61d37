//! The reasons to refuse a forecast.

use super::point::Point;

/// The reason why there is no forecast.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// There are no points.
    #[error(
        "there are no measured points: give at least two node counts with their times, preferably four"
    )]
    Nothing,
    /// A node count or a time is out of range.
    #[error(
        "{nodes} nodes in {seconds} s is not a valid point: a point has at least 1 node and a time above 0"
    )]
    NoPoint {
        /// The node count of the point.
        nodes: u32,
        /// The time of the point, in seconds.
        seconds: f64,
    },
    /// All points have the same node count.
    #[error(
        "all points are at {nodes} nodes, which says nothing about other node counts: measure \
         at least one other node count"
    )]
    OneCount {
        /// The node count of all points.
        nodes: u32,
    },
    /// There are two node counts and no known limits.
    #[error(
        "{few} and {many} nodes are only two node counts, which fit any curve: measure a third node \
         count, or give a shared resource and how long the work keeps it busy"
    )]
    TwoCounts {
        /// The smaller node count.
        few: u32,
        /// The larger node count.
        many: u32,
    },
    /// Times at one node count differ too much.
    #[error(
        "{nodes} nodes took {least:.3} s in one run and {most:.3} s in another: the work differed, \
         or one of the runs was disturbed; repeat the runs at {nodes} nodes, or leave the disturbed \
         one out"
    )]
    Disagree {
        /// The node count of both runs.
        nodes: u32,
        /// The shortest time, in seconds.
        least: f64,
        /// The longest time, in seconds.
        most: f64,
    },
    /// For fixed work, more nodes took longer.
    #[error(
        "{} nodes took {:.3} s and {} took {:.3} s: more nodes were slower, so nodes are not the \
         bottleneck, and a curve over nodes cannot be forecast; find the bottleneck first (garland explain)",
        few.nodes, few.seconds, many.nodes, many.seconds
    )]
    Slower {
        /// The faster point, with fewer nodes.
        few: Point,
        /// The slower point, with more nodes.
        many: Point,
    },
    /// A copy to more nodes took less time.
    #[error(
        "a copy to {} nodes took {:.3} s and one to {} took {:.3} s: these runs differ in more than the \
         number of nodes",
        few.nodes, few.seconds, many.nodes, many.seconds
    )]
    Quicker {
        /// The slower point, with fewer nodes.
        few: Point,
        /// The faster point, with more nodes.
        many: Point,
    },
    /// A measured time is below a limit by more than rounding.
    #[error(
        "{} nodes took {:.3} s, but {name} alone needs {seconds:.3} s: one of the two is wrong; correct \
         the measured time, or the limit",
        point.nodes, point.seconds
    )]
    BelowLimit {
        /// The point that is faster than the limit allows.
        point: Point,
        /// The name of the resource that sets the limit.
        name: String,
        /// The minimum time that the limit allows, in seconds.
        seconds: f64,
    },
    /// A demand is negative, too large, or not a number.
    #[error("{name} cannot be busy for {seconds} s")]
    NoDemand {
        /// The name of the resource.
        name: String,
        /// The invalid demand, in seconds.
        seconds: f64,
    },
    /// A requested node count is out of range.
    #[error("{0} nodes cannot be forecast: allowed are 1 to 1000000")]
    Ahead(u32),
    /// No law fits the points.
    #[error(
        "no curve fits these points (the best one is off by {:.0} %): the times do not depend only on \
         the number of nodes; use runs of the same work on nodes of the same kind", miss * 100.0
    )]
    NoLaw {
        /// The root mean square of the best law's relative errors.
        miss: f64,
    },
}
