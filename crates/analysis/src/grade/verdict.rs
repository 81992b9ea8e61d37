//! The grades of statements.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::{RUNS, WIDEST};

/// The grade of a statement.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "grade", rename_all = "kebab-case")]
pub enum Grade {
    /// The runs have it.
    Reproduced,
    /// The runs have it with a condition of its time, and do not without.
    Explained {
        /// The condition's name.
        by: String,
    },
    /// Neither.
    Open(Why),
}

/// Why a statement is open.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Why {
    /// Nothing measures it.
    NotMeasured,
    /// Too few runs are valid.
    Void {
        /// How many are.
        valid: usize,
    },
    /// A valid run does not show it.
    NotShown,
    /// The interval is too wide to judge.
    Wide {
        /// Its half-width as a share of the median.
        half: f64,
    },
    /// The published figure is outside of the interval.
    Outside,
    /// The figure is less than the least that was published.
    Less,
    /// The order is that of the publication, but the quotient is another one.
    OtherSize,
    /// The order came out the other way.
    OtherWay,
    /// The two are equal within the interval.
    NoOrder,
    /// The curve is flat.
    Flat,
    /// The curve has its peak at another place.
    PeakElsewhere,
    /// A condition whose size has no source would explain it.
    Unsourced {
        /// The condition's name.
        condition: String,
    },
}

impl Grade {
    /// Returns whether the statement is open.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl Why {
    /// Returns whether the runs show that the statement does not hold, rather than too little to
    /// judge it.
    pub(super) fn is_judged(&self) -> bool {
        !matches!(self, Self::NotMeasured | Self::Void { .. } | Self::Wide { .. })
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reproduced => write!(f, "reproduced"),
            Self::Explained { by } => write!(f, "explained by {by}"),
            Self::Open(why) => write!(f, "open: {why}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured => write!(f, "not measured"),
            Self::Void { valid } => write!(f, "valid runs: {valid} of {RUNS}"),
            Self::NotShown => write!(f, "not in every run"),
            Self::Wide { half } => {
                let half = half * 100.0;
                let widest = WIDEST * 100.0;
                write!(f, "half-width {half:.1} %, above {widest:.0} %")
            }
            Self::Outside => write!(f, "another figure"),
            Self::Less => write!(f, "less"),
            Self::OtherSize => write!(f, "the same order, by another factor"),
            Self::OtherWay => write!(f, "the other way round"),
            Self::NoOrder => write!(f, "neither is ahead"),
            Self::Flat => write!(f, "the curve is flat"),
            Self::PeakElsewhere => write!(f, "the peak is elsewhere"),
            Self::Unsourced { condition } => {
                write!(f, "{condition} would do it, but its size has no source")
            }
        }
    }
}
