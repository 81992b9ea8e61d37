//! The reasons to refuse a forecast.

use super::point::Point;

/// Why there is no forecast, for people.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// No points at all.
    #[error("nothing was measured: give two node counts with their times, or better four")]
    Nothing,
    /// Node counts or times that can't be.
    #[error(
        "{nodes} nodes in {seconds} s can't be: a point has 1 node or more, and a time above 0"
    )]
    NoPoint {
        /// Its nodes.
        nodes: u32,
        /// Its seconds.
        seconds: f64,
    },
    /// All at one node count.
    #[error(
        "all that was measured is at {nodes} nodes: one node count says nothing about others; measure \
         another one"
    )]
    OneCount {
        /// The node count.
        nodes: u32,
    },
    /// Two node counts and nothing known of limits.
    #[error(
        "{few} and {many} nodes are two points, and any curve goes through two: measure a third node \
         count, or say what is shared and how long the work keeps it busy"
    )]
    TwoCounts {
        /// The smaller one.
        few: u32,
        /// The larger one.
        many: u32,
    },
    /// Times at one node count are too far apart.
    #[error(
        "{nodes} nodes took {least:.3} s once and {most:.3} s another time: these aren't the same work, \
         or something disturbed one of them"
    )]
    Disagree {
        /// The node count.
        nodes: u32,
        /// The shortest time, in seconds.
        least: f64,
        /// The longest time, in seconds.
        most: f64,
    },
    /// More nodes took longer.
    #[error(
        "{} nodes took {:.3} s and {} took {:.3} s: more nodes made it slower, so it isn't nodes that it \
         waits for, and no curve over nodes can be forecast; look for the reason first (garland explain)",
        few.nodes, few.seconds, many.nodes, many.seconds
    )]
    Slower {
        /// The quicker one, with fewer nodes.
        few: Point,
        /// The slower one.
        many: Point,
    },
    /// A copy to more nodes took less time.
    #[error(
        "a copy to {} nodes took {:.3} s and one to {} took {:.3} s: these runs differ in something else \
         than nodes",
        few.nodes, few.seconds, many.nodes, many.seconds
    )]
    Quicker {
        /// The longer one, with fewer nodes.
        few: Point,
        /// The shorter one.
        many: Point,
    },
    /// Measured times are below what a limit allows.
    #[error(
        "{} nodes took {:.3} s, but {name} alone is said to be busy for {seconds:.3} s: one of the two is \
         wrong",
        point.nodes, point.seconds
    )]
    BelowLimit {
        /// What was measured.
        point: Point,
        /// The limit.
        name: String,
        /// How long it takes at least.
        seconds: f64,
    },
    /// A demand that is no time.
    #[error("{name} can't be busy for {seconds} s")]
    NoDemand {
        /// The resource.
        name: String,
        /// The seconds.
        seconds: f64,
    },
    /// A node count that is out of range.
    #[error("{0} nodes can't be forecast: from 1 to 1000000 can")]
    Ahead(u32),
    /// No law comes near the points.
    #[error(
        "no law comes nearer to these points than {:.0} % on average: they don't follow from the number \
         of nodes", miss * 100.0
    )]
    NoLaw {
        /// How far the best one is off, as a share.
        miss: f64,
    },
}
