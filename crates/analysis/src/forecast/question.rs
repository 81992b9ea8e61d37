//! The input of a forecast: measured points, the kind of work and its known limits.

use super::cost::Prices;
use super::point::Point;

/// How the amount of work depends on the number of nodes, and its known limits.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// The amount of work is fixed and nodes share it: a farm of jobs.
    Fixed {
        /// The number of jobs, each of which runs on one node; `None` if the work can be divided
        /// arbitrarily.
        jobs: Option<u32>,
        /// The demands on known shared resources.
        demands: &'a [Demand],
    },
    /// The amount of work grows with the nodes: a copy to all of them.
    Growing {
        /// Returns the least possible time at a node count, and its cause.
        floor: &'a dyn Fn(u32) -> Floor,
        /// The seconds that the launcher takes to start each node, one after another; 0 if unknown.
        starts: f64,
    },
}

/// The demand of the whole work on a shared resource.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Demand {
    /// The name of the resource, as shown to the user.
    pub name: String,
    /// Seconds for which the work keeps the resource busy, independent of the number of nodes.
    pub seconds: f64,
}

/// The least possible time at a node count, and its cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floor {
    /// The least possible time in seconds; 0 if unknown.
    pub seconds: f64,
    /// The name of the cause, as shown to the user.
    pub name: String,
}

/// The input of a forecast.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The measured points.
    pub points: &'a [Point],
    /// The work that was measured.
    pub work: Work<'a>,
    /// The node counts to forecast, in any order.
    pub ahead: &'a [u32],
    /// The prices of nodes; `None` for a forecast without costs.
    pub prices: Option<Prices>,
}
