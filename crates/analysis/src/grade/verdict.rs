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
    /// The runs have it with constants that were fitted on other figures.
    Follows {
        /// The constants, or the law that has them.
        from: String,
        /// By how much the median is off, as a share of what was published; `None` if that is no
        /// figure.
        off: Option<f64>,
    },
    /// The runs show that it is not so.
    Differs {
        /// What it is instead.
        #[serde(flatten)]
        why: Why,
        /// The median divided by what was published; `None` if that is no figure above 0.
        factor: Option<f64>,
    },
    /// The runs show too little to judge it.
    TooNoisy(Noise),
    /// It is about other hardware, or its conditions are not known.
    OtherHardware {
        /// Why it cannot be compared.
        why: String,
    },
    /// Nothing measures it.
    NotMeasured,
}

/// Why a statement differs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Why {
    /// A valid run does not show it.
    NotShown,
    /// The published figure is outside of the interval.
    Outside,
    /// The figure is less than the least that was published.
    Less,
    /// The figure is more than the most that was published.
    More,
    /// The order came out the other way.
    OtherWay,
    /// The two are equal within the interval.
    NoOrder,
    /// A condition whose size has no source would explain it.
    Unsourced {
        /// The condition's name.
        condition: String,
    },
}

/// Why runs show too little.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "noise", rename_all = "kebab-case")]
pub enum Noise {
    /// Too few runs are valid.
    Void {
        /// How many are.
        valid: usize,
    },
    /// The interval has the published figure, and is too wide to find it.
    Wide {
        /// Its half-width as a share of the median.
        half: f64,
    },
}

impl Grade {
    /// Returns whether the statement came out: reproduced, explained, or as what follows.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Reproduced | Self::Explained { .. } | Self::Follows { .. })
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reproduced => write!(f, "reproduced"),
            Self::Explained { by } => write!(f, "explained by {by}"),
            Self::Follows { from, off: None } => write!(f, "follows from {from}"),
            Self::Follows { from, off: Some(off) } => {
                write!(f, "follows from {from}, {:+.1} %", off * 100.0)
            }
            Self::Differs { why: Why::Outside, factor: Some(factor) } => {
                write!(f, "differs: {factor:.2} times")
            }
            Self::Differs { why, factor: None } => write!(f, "differs: {why}"),
            Self::Differs { why, factor: Some(factor) } => {
                write!(f, "differs: {why}, {factor:.2} times")
            }
            Self::TooNoisy(noise) => write!(f, "too noisy: {noise}"),
            Self::OtherHardware { why } => write!(f, "not compared: {why}"),
            Self::NotMeasured => write!(f, "not measured"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotShown => write!(f, "not in every run"),
            Self::Outside => write!(f, "another figure"),
            Self::Less => write!(f, "less"),
            Self::More => write!(f, "more"),
            Self::OtherWay => write!(f, "the other way round"),
            Self::NoOrder => write!(f, "neither is ahead"),
            Self::Unsourced { condition } => {
                write!(f, "{condition} would do it, but its size has no source")
            }
        }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void { valid } => write!(f, "valid runs: {valid} of {RUNS}"),
            Self::Wide { half } => {
                let half = half * 100.0;
                let widest = WIDEST * 100.0;
                write!(f, "half-width {half:.1} %, above {widest:.0} %")
            }
        }
    }
}
