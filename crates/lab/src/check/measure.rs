//! Running a round: what the probe is told, and what it answers.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use garland_sys::clock;
use garland_sys::namespace::Kind;
use serde::{Deserialize, Serialize};

use super::{Measured, Round, audit};
use crate::{Lab, LabError, apply, bond, hidden};

/// What the probe is told, on its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The user namespace to enter, if any.
    pub(crate) user: Option<PathBuf>,
    pub(crate) flows: Vec<FlowTask>,
    /// How long each flow sends before anything is counted.
    pub(crate) warm_up: Duration,
    /// How long it is counted.
    pub(crate) window: Duration,
}

/// One flow of a [`Task`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FlowTask {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    pub(crate) address: Ipv4Addr,
    /// Whether both nodes are bonded by subflows.
    pub(crate) mptcp: bool,
}

/// What the probe answers: bits per second of every flow, or what went wrong.
pub(crate) type Answer = Result<Vec<f64>, String>;

impl Lab {
    /// Runs the flows of a round, and says what they got.
    pub fn measure(&self, round: &Round) -> Result<Vec<Measured>, LabError> {
        let answer = self.probe(round)?;
        let name = |node: usize| self.spec().topology.nodes[node].name.clone();
        let measured = round.flows.iter().zip(answer).map(|(flow, goodput)| Measured {
            from: name(flow.from),
            to: name(flow.to),
            at_once: round.flows.len(),
            goodput,
            theory: flow.theory.is_finite().then_some(flow.theory),
            tolerance: round.tolerance,
        });
        Ok(measured.collect())
    }

    /// The same, with what the counters have to say about it.
    pub(super) fn watch(&self, round: &Round) -> Result<(Vec<Measured>, Vec<String>), LabError> {
        let before = self.counters()?;
        let started = clock::now_ns();
        let measured = self.measure(round)?;
        let after = self.counters()?;
        let seconds = (clock::now_ns() - started) as f64 / 1e9;
        let odd = audit::judge(&self.spec().topology, round, &before, &after, seconds);
        Ok((measured, odd))
    }

    fn probe(&self, round: &Round) -> Result<Vec<f64>, LabError> {
        let failed = |reason: String| LabError::Probe { lab: self.name().to_owned(), reason };
        let topology = &self.spec().topology;
        let net = |node: usize| {
            let name = &topology.nodes[node].name;
            self.inside(&apply::path(Kind::Net, name))
        };
        let flow = |flow: &super::Flow| FlowTask {
            from: net(flow.from),
            to: net(flow.to),
            address: flow.address,
            mptcp: [flow.from, flow.to].iter().all(|node| bond::by_subflow(topology, *node)),
        };
        let task = Task {
            user: self.user_path(self.head())?,
            flows: round.flows.iter().map(flow).collect(),
            warm_up: round.warm_up,
            window: round.window,
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
