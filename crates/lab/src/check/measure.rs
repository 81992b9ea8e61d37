//! Runs rounds of flows in a probe process.

use std::io::Write;
use std::process::Stdio;

use garland_sys::clock;
use garland_sys::namespace::Kind;

use super::audit;
use super::confirm::Watched;
use super::report::Measured;
use super::round::{Flow, Round};
use super::task::{Answer, FlowTask, Task};
use crate::{Lab, LabError, apply, bond, role};

impl Lab {
    /// Measures the flows of a round at the same time.
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

    /// Measures the flows of a round; also returns the anomalies that the counters show, as text.
    pub(super) fn watch(&self, round: &Round) -> Result<Watched, LabError> {
        let before = self.counters()?;
        let started = clock::now_ns();
        let flows = self.measure(round)?;
        let after = self.counters()?;
        let seconds = (clock::now_ns() - started) as f64 / 1e9;
        let anomalies = audit::judge(&self.spec().topology, round, &before, &after, seconds);
        Ok(Watched { flows, anomalies })
    }

    fn probe(&self, round: &Round) -> Result<Vec<f64>, LabError> {
        let failed = |reason: String| LabError::Probe { lab: self.name().to_owned(), reason };
        let topology = &self.spec().topology;
        let net = |node: usize| {
            let name = &topology.nodes[node].name;
            self.inside(&apply::path(Kind::Net, name))
        };
        let flow = |flow: &Flow| FlowTask {
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
            let mut child = role::command(role::PROBE, self.name())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut input = child.stdin.take().expect("standard input is a pipe");
            input.write_all(&serde_json::to_vec(&task)?)?;
            drop(input);
            let output = child.wait_with_output()?;
            Ok(serde_json::from_slice(&output.stdout)?)
        };
        run()
            .map_err(|error| failed(format!("failed to run the probe process: {error}")))?
            .map_err(failed)
    }
}
