//! The self-check: do flows in the lab get what the wires they stand for would give?
//!
//! Every medium is measured by one flow alone and by two against each other, then pairs of nodes
//! over all their ways. Each time the ports' counters say whether frames went where they should,
//! and whether any medium carried more than it can.

mod audit;
mod display;
mod measure;
mod pairs;
mod rounds;
mod singles;

use garland_topology::NodeId;
use garland_topology::paths::Ways;
use serde::Serialize;

use crate::shaping::Shaping;
use crate::{Lab, LabError};

pub(crate) use measure::{Answer, FlowTask, Task};
pub use rounds::{Flow, Round};

/// How far from theory one flow through one medium may be: 1 %.
pub const TOLERANCE: f64 = 0.01;

/// How far from prediction a pair of nodes may be when others send too: 5 %.
pub const TOLERANCE_OF_PAIRS: f64 = 0.05;

/// How often something that looks off is measured again: other programs use this machine as well.
const AGAIN: usize = 4;

/// So many pairs that stay off are enough to know, and none is measured again.
const MOST_OFF: usize = 5;

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
    /// What the wires would give, in bits per second; none for unshaped wires.
    pub theory: Option<f64>,
    /// How far from theory it may be, as a share of that.
    pub tolerance: f64,
}

impl Measured {
    /// Measured through theory.
    pub fn ratio(&self) -> Option<f64> {
        self.theory.map(|theory| self.goodput / theory)
    }

    /// Whether it is as near to theory as it must be; an unshaped wire always is.
    pub fn holds(&self) -> bool {
        self.ratio().is_none_or(|ratio| (ratio - 1.0).abs() <= self.tolerance)
    }
}

/// A medium, measured for itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MediumCheck {
    /// Its name.
    pub medium: String,
    /// One flow through it alone.
    pub alone: Measured,
    /// Two flows against each other. On a hub they share its rate, so their sum is what counts.
    pub both_ways: [Measured; 2],
    /// What both together must be when they share: the hub's goodput.
    pub shared: Option<f64>,
}

impl MediumCheck {
    /// Whether all of it is as near to theory as it must be.
    pub fn holds(&self) -> bool {
        let sum: f64 = self.both_ways.iter().map(|flow| flow.goodput).sum();
        let both = match self.shared {
            Some(theory) => (sum / theory - 1.0).abs() <= 2.0 * TOLERANCE,
            // Receivers that merge acknowledgements leave more for data, but no more than one flow
            // has alone.
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

/// What a self-check found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The media that a flow was sent through alone: those that only join others aren't here, and
    /// of very many not all are.
    pub media: Vec<MediumCheck>,
    /// How many media there are.
    pub all_media: usize,
    /// The pairs of nodes that were measured.
    pub pairs: Vec<Measured>,
    /// How many pairs there are, each way counted.
    pub all_pairs: usize,
    /// Frames where none should be, and media that carried more than they can; in words.
    pub oddities: Vec<String>,
    /// The share of this machine's processors that was used meanwhile, 0 to 1.
    pub busy: f64,
}

impl Report {
    /// Whether the lab is what it stands for.
    pub fn holds(&self) -> bool {
        self.media.iter().all(MediumCheck::holds)
            && self.pairs.iter().all(Measured::holds)
            && self.oddities.is_empty()
    }
}

impl Lab {
    /// The self-check. Takes some 15 s at most, so of many pairs it measures a part.
    pub fn check(&self) -> Result<Report, LabError> {
        let topology = &self.spec().topology;
        let (ways, shaping) = (Ways::of(topology), Shaping::of(topology));
        let mut report = Report {
            all_media: topology.media.len(),
            all_pairs: topology.nodes.len() * (topology.nodes.len() - 1),
            ..Report::default()
        };
        let started = garland_sys::processors::Processors::now();
        let singles = singles::plan(topology, &ways, &shaping);
        for group in rounds::side_by_side(singles, &shaping) {
            self.check_media(&group, &mut report)?;
        }
        for round in pairs::plan(topology, &ways, &shaping) {
            self.check_pairs(&round, &mut report)?;
        }
        report.busy = started.busy_since();
        Ok(report)
    }

    /// Measures one flow between two nodes only: some half a second.
    pub fn check_pair(&self, from: NodeId, to: NodeId) -> Result<Report, LabError> {
        let topology = &self.spec().topology;
        let mut report = Report {
            all_media: topology.media.len(),
            all_pairs: topology.nodes.len() * (topology.nodes.len() - 1),
            ..Report::default()
        };
        let started = garland_sys::processors::Processors::now();
        self.check_pairs(&pairs::one(topology, from, to), &mut report)?;
        report.busy = started.busy_since();
        Ok(report)
    }

    /// Measures media that don't disturb each other, each alone and then both ways.
    fn check_media(&self, group: &[singles::Single], report: &mut Report) -> Result<(), LabError> {
        let oddities = &mut report.oddities;
        let alone = |single: &singles::Single| vec![single.alone.clone()];
        let alone = self.together(group, alone, oddities, |_, flows| flows[0].holds())?;
        let check = |at: usize, both: &[Measured]| MediumCheck {
            medium: self.spec().topology.media[group[at].medium].name.clone(),
            alone: alone[at][0].clone(),
            both_ways: [both[0].clone(), both[1].clone()],
            shared: group[at].shared,
        };
        let both = |single: &singles::Single| single.both_ways.to_vec();
        let both = self.together(group, both, oddities, |at, both| check(at, both).holds())?;
        report.media.extend(both.iter().enumerate().map(|(at, both)| check(at, both)));
        Ok(())
    }

    /// Measures some flows of every medium, all at once, and of those that are off each again by
    /// itself: on a busy machine they may disturb each other after all.
    fn together(
        &self,
        group: &[singles::Single],
        flows: impl Fn(&singles::Single) -> Vec<Flow>,
        oddities: &mut Vec<String>,
        is_well: impl Fn(usize, &[Measured]) -> bool,
    ) -> Result<Vec<Vec<Measured>>, LabError> {
        let flows: Vec<Vec<Flow>> = group.iter().map(flows).collect();
        let (measured, odd) = self.watch(&Round::of(flows.iter().flatten().cloned(), TOLERANCE))?;
        let mut rest = measured.into_iter();
        let mut all: Vec<Vec<Measured>> =
            flows.iter().map(|flows| rest.by_ref().take(flows.len()).collect()).collect();
        for (at, flows) in flows.iter().enumerate() {
            if !odd.is_empty() || !is_well(at, &all[at]) {
                let round = Round::of(flows.iter().cloned(), TOLERANCE);
                all[at] = self.settle(&round, oddities, |measured| is_well(at, measured))?;
            }
        }
        Ok(all)
    }

    /// Measures a round of pairs; one that is off again, alone and for longer.
    fn check_pairs(&self, round: &Round, report: &mut Report) -> Result<(), LabError> {
        let (mut measured, odd) = self.watch(round)?;
        report.oddities.extend(odd);
        for (pair, flow) in measured.iter_mut().zip(&round.flows) {
            let off = report.pairs.iter().filter(|pair| !pair.holds()).count();
            if !pair.holds() && off < MOST_OFF {
                let alone = Round::of([flow.clone()].into_iter(), round.tolerance);
                let alone = self.settle(&alone, &mut report.oddities, |measured| {
                    measured.iter().all(Measured::holds)
                })?;
                *pair = alone.into_iter().next().expect("a flow gives a figure");
            }
        }
        report.pairs.extend(measured);
        Ok(())
    }

    /// Measures a round, again when it isn't as it should be.
    fn settle(
        &self,
        round: &Round,
        oddities: &mut Vec<String>,
        is_well: impl Fn(&[Measured]) -> bool,
    ) -> Result<Vec<Measured>, LabError> {
        let mut again = 0;
        loop {
            let (measured, odd) = self.watch(round)?;
            if (is_well(&measured) && odd.is_empty()) || again == AGAIN {
                oddities.extend(odd);
                return Ok(measured);
            }
            again += 1;
        }
    }
}
