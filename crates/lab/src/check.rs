//! The self-check: does a flow in the lab get what the wire it stands for would give?

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Lab, LabError, apply, hidden};
use garland_sys::namespace::Kind;

/// How far from theory a rate may be: 1 %.
pub const TOLERANCE: f64 = 0.01;

/// One flow of TCP, measured at its receiver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Who sent.
    pub from: String,
    /// Who received.
    pub to: String,
    /// How many flows ran at once, this one included.
    pub at_once: usize,
    /// Payload, in bits per second.
    pub goodput: f64,
    /// What the wire would give, in bits per second; none for unshaped wires.
    pub theory: Option<f64>,
}

impl Measured {
    /// Measured through theory.
    pub fn ratio(&self) -> Option<f64> {
        self.theory.map(|theory| self.goodput / theory)
    }

    /// Whether it is within [`TOLERANCE`] of theory; an unshaped wire always is.
    pub fn holds(&self) -> bool {
        self.ratio().is_none_or(|ratio| (ratio - 1.0).abs() <= TOLERANCE)
    }
}

/// What the probe is told, on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The user namespace to enter, if any.
    pub(crate) user: Option<PathBuf>,
    pub(crate) flows: Vec<FlowTask>,
    /// How long each flow sends, the first quarter of a second not counted.
    pub(crate) duration: Duration,
}

/// One flow of a [`Task`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FlowTask {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    pub(crate) address: Ipv4Addr,
}

/// What the probe answers: bits per second of every flow, or what went wrong.
pub(crate) type Answer = Result<Vec<f64>, String>;

impl Lab {
    /// The self-check: one flow from the head to the next node, the same both ways at once, and
    /// between that and the last where they differ. Takes about a second for each.
    pub fn check(&self) -> Result<Vec<Measured>, LabError> {
        let nodes: Vec<&str> = self.nodes().collect();
        let [head, first, .., last] = nodes[..] else {
            return self.measure(&[(nodes[0], nodes[1])]);
        };
        let mut measured = self.measure(&[(head, first)])?;
        measured.extend(self.measure(&[(head, first), (first, head)])?);
        measured.extend(self.measure(&[(first, last)])?);
        Ok(measured)
    }

    /// Measures flows between nodes, all at once, for about a second; longer on slow wires, which
    /// take longer to show their rate.
    pub fn measure(&self, flows: &[(&str, &str)]) -> Result<Vec<Measured>, LabError> {
        let rate = self.spec().topology.media[0].rate.map(|rate| rate.bits_per_second());
        let slow = rate.map_or(0.0, |rate| (10e6 / rate as f64).min(10.0));
        let answer = self.probe(flows, Duration::from_secs_f64(1.25 + slow))?;
        let exact = crate::shaping::Shaping::of(&self.spec().topology).exact(0);
        let measured = flows.iter().zip(answer).map(|(&(from, to), goodput)| Measured {
            from: from.to_owned(),
            to: to.to_owned(),
            at_once: flows.len(),
            goodput,
            theory: if flows.contains(&(to, from)) {
                rate.map(|rate| crate::shaping::goodput_both_ways(rate, exact))
            } else {
                self.spec().goodput()
            },
        });
        Ok(measured.collect())
    }

    fn probe(&self, flows: &[(&str, &str)], duration: Duration) -> Result<Vec<f64>, LabError> {
        let failed = |reason: String| LabError::Probe { lab: self.name().to_owned(), reason };
        let flow = |(from, to): &(&str, &str)| {
            let net =
                |node: &str| self.id(node).map(|_| self.inside(&apply::path(Kind::Net, node)));
            Ok(FlowTask { from: net(from)?, to: net(to)?, address: self.address(to)? })
        };
        let task = Task {
            user: self.user_path(self.head())?,
            flows: flows.iter().map(flow).collect::<Result<_, LabError>>()?,
            duration,
        };
        let run = || -> std::io::Result<Answer> {
            let mut child = hidden::command(hidden::PROBE, self.name())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut input = child.stdin.take().expect("standard input was asked for");
            input.write_all(&serde_json::to_vec(&task)?)?;
            drop(input);
            let output = child.wait_with_output()?;
            Ok(serde_json::from_slice(&output.stdout)?)
        };
        run().map_err(|error| failed(format!("run the probe: {error}")))?.map_err(failed)
    }
}
