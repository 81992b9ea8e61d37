//! The result of a self-check.

use serde::Serialize;

/// The largest relative deviation from theory of a flow through one medium.
pub const TOLERANCE: f64 = 0.01;

/// The largest relative deviation from theory of a flow between two nodes while other flows run.
pub const TOLERANCE_OF_PAIRS: f64 = 0.05;

/// A TCP flow, measured at its receiver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The sender's name.
    pub from: String,
    /// The receiver's name.
    pub to: String,
    /// The number of flows that were measured at the same time, including this one.
    pub at_once: usize,
    /// The measured goodput in bits per second.
    pub goodput: f64,
    /// The expected goodput in bits per second; `None` for unshaped wires.
    pub theory: Option<f64>,
    /// The largest relative deviation from theory that is accepted.
    pub tolerance: f64,
}

impl Measured {
    /// Returns the ratio of measured to expected goodput; `None` for unshaped wires.
    pub fn ratio(&self) -> Option<f64> {
        self.theory.map(|theory| self.goodput / theory)
    }

    /// Whether the deviation is within the tolerance; always true on unshaped wires.
    pub fn holds(&self) -> bool {
        self.ratio().is_none_or(|ratio| (ratio - 1.0).abs() <= self.tolerance)
    }
}

/// The check of one medium.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MediumCheck {
    /// The medium's name.
    pub medium: String,
    /// A single flow through the medium.
    pub alone: Measured,
    /// Two opposite flows through the medium. On a hub only their sum is checked.
    pub both_ways: [Measured; 2],
    /// The expected sum of both flows in bits per second; `None` unless the medium is a hub.
    pub shared: Option<f64>,
}

impl MediumCheck {
    /// Whether all deviations are within [`TOLERANCE`]; for the sum of two flows on a hub, within
    /// twice that.
    pub fn holds(&self) -> bool {
        let sum: f64 = self.both_ways.iter().map(|flow| flow.goodput).sum();
        let both = match self.shared {
            Some(theory) => (sum / theory - 1.0).abs() <= 2.0 * TOLERANCE,
            // Receivers that merge acknowledgements leave more for data, but at most the goodput of
            // a single flow.
            None => self.both_ways.iter().all(|flow| {
                let alone =
                    self.alone.theory.map_or(f64::INFINITY, |rate| rate * (1.0 + TOLERANCE));
                let least = flow.theory.map_or(0.0, |rate| rate * (1.0 - TOLERANCE));
                (least..=alone).contains(&flow.goodput)
            }),
        };
        self.alone.holds() && both
    }
}

/// The result of a self-check.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The media that were measured alone. Media without nodes cannot be measured alone; of very
    /// many media, only some are measured alone.
    pub media: Vec<MediumCheck>,
    /// The number of media of the lab.
    pub all_media: usize,
    /// The pairs of nodes that were measured.
    pub pairs: Vec<Measured>,
    /// The number of ordered pairs of nodes of the lab.
    pub all_pairs: usize,
    /// Stray frames, and media that carried more than their rate, as text for the user.
    pub anomalies: Vec<String>,
    /// The CPU utilization of this machine during the check, 0 to 1.
    pub busy: f64,
}

impl Report {
    /// Whether all measurements are within their tolerances, and there are no anomalies.
    pub fn holds(&self) -> bool {
        self.media.iter().all(MediumCheck::holds)
            && self.pairs.iter().all(Measured::holds)
            && self.anomalies.is_empty()
    }
}
