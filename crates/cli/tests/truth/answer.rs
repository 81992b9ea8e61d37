//! What `explain` says of a run.

use std::fmt;

use serde_json::Value;

/// A cause and its place, as `explain` names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub cause: String,
    /// The number of the node, or of the sending end of a hop; 0 is the head.
    pub node: Option<u32>,
    /// The number of the receiving end of a hop.
    pub to: Option<u32>,
}

/// An explanation, as far as it is judged.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The faults, the first one first, with their share of the time.
    pub faults: Vec<(Answer, f64)>,
    /// What is to be done next, and the gain that is promised.
    pub next: Option<(Answer, Gain)>,
    /// The whole time of the command in seconds.
    pub wall_s: f64,
}

/// A promised gain, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    pub value_s: f64,
    /// The ends of the interval; `None` for an upper bound without one.
    pub interval_s: Option<(f64, f64)>,
}

impl Answer {
    fn from_json(value: &Value) -> Option<Self> {
        let number = |field: &str| {
            let name = value[field].as_str()?.trim_start_matches("lab:");
            if name == "head" { Some(0) } else { name.trim_start_matches('n').parse().ok() }
        };
        Some(Self {
            cause: value["cause"].as_str()?.to_owned(),
            node: number("node"),
            to: number("to"),
        })
    }
}

impl Explanation {
    /// Reads the result object of `garland explain`.
    pub fn from_json(value: &Value) -> Self {
        let seconds = |value: &Value| value.as_f64().map(|ns| ns / 1e9);
        let wall_s = seconds(&value["wall_ns"]).unwrap_or(0.0);
        let faults = value["faults"].as_array().into_iter().flatten();
        let faults = faults.filter_map(|fault| {
            Some((Answer::from_json(fault)?, seconds(&fault["ns"])? / wall_s.max(1e-9)))
        });
        let fix = &value["fix"];
        let gain = seconds(&fix["gain_ns"]).map(|value_s| Gain {
            value_s,
            interval_s: seconds(&fix["low_ns"]).zip(seconds(&fix["high_ns"])),
        });
        Self { faults: faults.collect(), next: Answer::from_json(fix).zip(gain), wall_s }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        self.node.iter().try_for_each(|node| write!(f, " n{node}"))?;
        self.to.iter().try_for_each(|to| write!(f, " to n{to}"))
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.value_s)?;
        match self.interval_s {
            Some((low, high)) => write!(f, " ({low:.2} to {high:.2}) s"),
            None => write!(f, " s at most"),
        }
    }
}
