//! The self-check of a lab: whether flows get the goodput of the emulated wires.
//!
//! Every medium is measured with a single flow and with two opposite flows, then pairs of nodes
//! over all their routes. The counters of the ports show whether frames took the right routes, and
//! whether a medium carried more than its rate.

mod audit;
mod confirm;
mod display;
mod measure;
mod pairs;
mod report;
mod round;
mod singles;
mod task;

use garland_sys::processors::Processors;
use garland_topology::NodeId;
use garland_topology::paths::Ways;

use crate::shaping::Shaping;
use crate::{Lab, LabError};

pub use report::{Measured, MediumCheck, Report, TOLERANCE, TOLERANCE_OF_PAIRS};
pub use round::{Flow, Round};
pub(crate) use task::{Answer, FlowTask, Task};

/// The number of deviating pairs after which pairs are no longer repeated one by one.
const MOST_OFF: usize = 5;

impl Lab {
    /// Checks the lab in about 15 s at most. If there are many pairs of nodes, only some of them
    /// are measured.
    pub fn check(&self) -> Result<Report, LabError> {
        let topology = &self.spec().topology;
        let ways = Ways::new(topology);
        let shaping = Shaping::new(topology);
        self.report(|report| {
            let singles = singles::plan(topology, &ways, &shaping);
            for group in singles::side_by_side(singles, &shaping) {
                self.check_media(&group, report)?;
            }
            let mut rounds = pairs::plan(topology, &ways, &shaping).into_iter();
            rounds.try_for_each(|round| self.check_pairs(&round, report))
        })
    }

    /// Measures one flow between two nodes, for about half a second.
    pub fn check_pair(&self, from: NodeId, to: NodeId) -> Result<Report, LabError> {
        let round = pairs::one(&self.spec().topology, from, to);
        self.report(|report| self.check_pairs(&round, report))
    }

    /// Returns a report that `check` fills in.
    fn report(
        &self,
        check: impl FnOnce(&mut Report) -> Result<(), LabError>,
    ) -> Result<Report, LabError> {
        let nodes = self.spec().topology.nodes.len();
        let media = self.spec().topology.media.len();
        let mut report =
            Report { all_media: media, all_pairs: nodes * (nodes - 1), ..Report::default() };
        let started = Processors::now();
        check(&mut report)?;
        report.busy = started.busy_since();
        Ok(report)
    }

    /// Measures several media at once, first with single and then with opposite flows.
    fn check_media(&self, group: &[singles::Single], report: &mut Report) -> Result<(), LabError> {
        let anomalies = &mut report.anomalies;
        let alone = |single: &singles::Single| vec![single.alone.clone()];
        let alone = self.together(group, alone, anomalies, |_, flows| flows[0].holds())?;
        let check = |at: usize, both: &[Measured]| MediumCheck {
            medium: self.spec().topology.media[group[at].medium].name.clone(),
            alone: alone[at][0].clone(),
            both_ways: [both[0].clone(), both[1].clone()],
            shared: group[at].shared,
        };
        let both = |single: &singles::Single| single.both_ways.to_vec();
        let both = self.together(group, both, anomalies, |at, both| check(at, both).holds())?;
        report.media.extend(both.iter().enumerate().map(|(at, both)| check(at, both)));
        Ok(())
    }

    /// Measures the flows of several media at once. Flows may disturb each other on a busy machine,
    /// so media that deviate are then measured again one by one. `is_well` gets the index of a
    /// medium in `group` and the measurements of its flows, and returns whether they are accepted.
    fn together(
        &self,
        group: &[singles::Single],
        flows: impl Fn(&singles::Single) -> Vec<Flow>,
        anomalies: &mut Vec<String>,
        is_well: impl Fn(usize, &[Measured]) -> bool,
    ) -> Result<Vec<Vec<Measured>>, LabError> {
        let flows: Vec<Vec<Flow>> = group.iter().map(flows).collect();
        let watched = self.watch(&Round::new(flows.iter().flatten().cloned(), TOLERANCE))?;
        let mut rest = watched.flows.into_iter();
        let mut all: Vec<Vec<Measured>> =
            flows.iter().map(|flows| rest.by_ref().take(flows.len()).collect()).collect();
        for (at, flows) in flows.iter().enumerate() {
            if !watched.anomalies.is_empty() || !is_well(at, &all[at]) {
                let round = Round::new(flows.iter().cloned(), TOLERANCE);
                all[at] = self.settle(&round, anomalies, |measured| is_well(at, measured))?;
            }
        }
        Ok(all)
    }

    /// Measures a round of pairs, and again if anything deviates. Each pair that still does is
    /// measured alone and for longer.
    fn check_pairs(&self, round: &Round, report: &mut Report) -> Result<(), LabError> {
        let watched = confirm::twice(|| self.watch(round))?;
        report.anomalies.extend(watched.anomalies);
        let mut measured = watched.flows;
        for (pair, flow) in measured.iter_mut().zip(&round.flows) {
            let off = report.pairs.iter().filter(|pair| !pair.holds()).count();
            if !pair.holds() && off < MOST_OFF {
                let alone = Round::new([flow.clone()].into_iter(), round.tolerance);
                let alone = self.settle(&alone, &mut report.anomalies, |measured| {
                    measured.iter().all(Measured::holds)
                })?;
                *pair = alone.into_iter().next().expect("one measurement per flow");
            }
        }
        report.pairs.extend(measured);
        Ok(())
    }

    /// Runs a round, and repeats it as long as `is_well` does not accept its measurements or there
    /// are anomalies, within bounds.
    fn settle(
        &self,
        round: &Round,
        anomalies: &mut Vec<String>,
        is_well: impl Fn(&[Measured]) -> bool,
    ) -> Result<Vec<Measured>, LabError> {
        let watched = confirm::confirmed(|| self.watch(round), is_well)?;
        anomalies.extend(watched.anomalies);
        Ok(watched.flows)
    }
}
