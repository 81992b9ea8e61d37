//! The steps of a survey: what several pairs measure at the same time.

use garland_analysis::pairs::{Component, MatchUp};

use super::super::meetings::Pair;
use super::task::{ping, streams};
use crate::measure::Task;

/// A step of a survey: meetings that are held at the same time.
#[derive(Debug)]
pub struct Step {
    /// The meetings; none if no pair of the step can be measured any more.
    pub meetings: Vec<Pair>,
    /// How far the survey is; `None` if that is as before.
    pub progress: Option<Progress>,
}

/// How far a survey is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A round of pairs begins.
    Round {
        /// The number of the round; the first one is 1.
        number: usize,
        /// The number of rounds of the rail.
        count: usize,
        /// The index of the rail; `None` if there is only one.
        rail: Option<usize>,
    },
    /// A pair is measured alone.
    Alone {
        /// The number of the pair; the first one is 1.
        number: usize,
        /// The number of pairs that are measured alone.
        count: usize,
    },
}

/// A planned step.
#[derive(Debug)]
pub struct Measurement {
    /// The pairs, which are measured at the same time.
    pub pairs: Vec<MatchUp>,
    /// What is measured of them.
    pub kind: Kind,
    /// What begins with this step.
    pub begins: Begins,
}

/// What begins with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// Nothing: the step is not the first of its round, or belongs to no round.
    Nothing,
    /// A round.
    Round(Option<Progress>),
    /// Another round of a pair that failed.
    Repetition,
}

/// What a step measures of each of its pairs.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The rate of one stream beside `count - 1` others.
    Load {
        /// The number of pairs at once.
        count: usize,
        /// Whether this is the last step with so many pairs.
        is_last: bool,
    },
    /// Round trips, and the conditions of both nodes.
    Latency,
    /// One stream.
    OneWay {
        /// Whether the first node of each pair sends.
        is_forward: bool,
    },
    /// One stream in each direction at the same time.
    TwoWay,
    /// Several streams in one direction.
    Many,
    /// What several pairs over an accused link carry at once.
    Across(Component),
    /// A stream of a second over a part that loses segments.
    Sustained(Component),
    /// One stream in each direction, on all rails.
    Bisection,
}

impl Kind {
    /// Returns the number of connections of each pair, and what these measure. `many` is the number
    /// of several streams.
    pub fn task(&self, many: u16) -> (u16, Task) {
        match self {
            Self::Load { .. } => (1, streams(1, 60, 150, 300)),
            Self::Latency => (1, ping()),
            Self::OneWay { is_forward } => (1, streams(u16::from(*is_forward), 60, 80, 300)),
            Self::TwoWay => (2, streams(1, 60, 150, 150)),
            Self::Many => (many, streams(many, 60, 150, 150)),
            Self::Across(_) => (1, streams(1, 60, 300, 300)),
            Self::Sustained(_) => (1, streams(1, 60, 1000, 1000)),
            Self::Bisection => (2, streams(1, 60, 250, 250)),
        }
    }
}
