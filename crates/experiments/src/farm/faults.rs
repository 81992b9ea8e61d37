//! Copies and jobs in labs that have the faults of the riddle.

use garland_analysis::grade::Condition;
use garland_core::units::{Rate, bytes};
use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::Topology;

use super::row::{FaultRow, Row, Scaling, SuspectRow};
use super::trial::FarmTrial;
use crate::scenario_lab::{Busy, ScenarioLab};

/// The number of copies that are made with each suspect.
const TRIES: usize = 3;

/// The minimum timeout of a retransmission in milliseconds, in Linux 2.4 as today (`TCP_RTO_MIN`).
const TIMEOUT_MS: f64 = 200.0;

/// The rate over a network with a suspect, or without a fault.
struct SuspectRate {
    suspect: Option<Condition>,
    /// Bytes per second; `None` if a copy timed out.
    rate: Option<f64>,
    busy: Busy,
}

impl FarmTrial<'_> {
    /// Copies over both networks of the riddle at their original rates, without a fault and with
    /// every suspect.
    pub fn suspects(&self, phases: &mut Phases) -> Result<Vec<SuspectRow>, Failure> {
        let riddle = &self.experiment.job.riddle;
        let fast = self.rates(&riddle.fast, phases)?;
        let slow = self.rates(&riddle.slow, phases)?;
        let row = |(slow, fast): (SuspectRate, SuspectRate)| SuspectRow {
            suspect: slow.suspect,
            slow: slow.rate,
            fast: fast.rate,
            busy: slow.busy.max(fast.busy),
        };
        Ok(slow.into_iter().zip(fast).map(row).collect())
    }

    /// Returns the rates of the copy over the topology `name`, in bytes per second: first without a
    /// fault, then with each suspect. On the fast network, suspects that can only concern the slow
    /// one are not injected; they get the rate without a fault.
    fn rates(&self, name: &str, phases: &mut Phases) -> Result<Vec<SuspectRate>, Failure> {
        let riddle = &self.experiment.job.riddle;
        let topology = self.with_old_tcp(self.stage.topology(name)?);
        let length = bytes::parse(&riddle.bytes).map_err(Failure::usage)?;
        let is_hub = name == riddle.fast;
        self.stage.in_lab(&topology, length.saturating_mul(2), phases, |lab, phases| {
            let source = lab.random_file("copied", length)?;
            let to = &self.experiment.job.copy.to;
            self.send_single_frames(lab)?;
            phases.end("set-up");
            // Average several copies, since losses are random.
            let rate = |tries: usize| {
                lab.watch(|| {
                    let seconds = (0..tries).map(|_| self.copy(lab, &source));
                    let seconds = seconds.collect::<Result<Option<Vec<f64>>, Failure>>()?;
                    Ok(seconds.map(|all| length as f64 * tries as f64 / all.iter().sum::<f64>()))
                })
            };
            garland_terminal::errln!("{name} without a fault, a copy through the mount ...");
            let (healthy, busy) = rate(1)?;
            let mut rates = vec![SuspectRate { suspect: None, rate: healthy, busy }];
            for suspect in &riddle.suspect {
                let condition = suspect.condition();
                if is_hub && !suspect.is_on_both() {
                    rates.push(SuspectRate { suspect: Some(condition), rate: healthy, busy });
                    continue;
                }
                garland_terminal::errln!("{name}, {} ...", condition.name());
                on_node(lab, to, &suspect.script(self.wire(&topology)))?;
                let (rate, busy) = rate(TRIES)?;
                rates.push(SuspectRate { suspect: Some(condition), rate, busy });
                on_node(lab, to, &suspect.undo())?;
            }
            phases.end("suspects");
            Ok(rates)
        })
    }

    /// Runs each load over the slow network of the riddle with every suspect that is to be tried
    /// with the jobs.
    pub fn with_faults(
        &self,
        scaling: &Scaling,
        ones: &[Row],
        phases: &mut Phases,
    ) -> Result<Vec<FaultRow>, Failure> {
        let job = &self.experiment.job;
        let suspects: Vec<_> = job.riddle.suspect.iter().filter(|one| one.is_for_jobs()).collect();
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let topology = self.with_old_tcp(self.stage.topology(&job.riddle.slow)?);
        let topology = scaling.of(&self.with_shares(&topology));
        self.stage.in_lab(&topology, self.room(), phases, |lab, phases| {
            let sounds = self.sounds(lab)?;
            self.send_single_frames(lab)?;
            for node in [&job.nodes[0], &job.copy.to] {
                on_node(lab, node, &timeouts(scaling.wires))?;
            }
            phases.end("set-up");
            let mut rows = Vec::new();
            for suspect in suspects {
                let fault = suspect.condition();
                garland_terminal::errln!("with {}:", fault.name());
                on_node(lab, &job.copy.to, &suspect.script(self.wire(&topology)))?;
                for (load, one) in job.load.iter().zip(ones) {
                    let row = self.encode(lab, &topology.name, load, one, &sounds)?;
                    rows.push(FaultRow { fault: fault.clone(), row });
                }
                on_node(lab, &job.copy.to, &suspect.undo())?;
            }
            phases.end("encodes with faults");
            Ok(rows)
        })
    }

    /// Returns `topology` with the TCP of 2004 on the server and the copying node.
    fn with_old_tcp(&self, topology: &Topology) -> Topology {
        let mut topology = topology.clone();
        for node in [0, self.reader(&topology)] {
            topology.nodes[node].vintage.tcp.reno = Some(true);
        }
        topology
    }

    /// Lets the server and the copying node send single frames, so that frames are lost and not the
    /// long segments of segmentation offload.
    fn send_single_frames(&self, lab: &ScenarioLab<'_>) -> Result<(), Failure> {
        let job = &self.experiment.job;
        let script = "ip link set dev eth0 gso_max_segs 1";
        [&job.nodes[0], &job.copy.to].into_iter().try_for_each(|node| on_node(lab, node, script))
    }

    /// Returns the rate of the copying node's wire.
    fn wire(&self, topology: &Topology) -> Rate {
        let nic = topology.nics_of(self.reader(topology)).next();
        nic.and_then(|(_, nic)| topology.media[nic.medium].rate).unwrap_or_default()
    }
}

/// Returns a script that shortens the timeouts of retransmissions as frames are shortened on wires
/// that are `faster` times as fast: each lost frame then costs the same share of a job's time as in
/// the original.
fn timeouts(faster: f64) -> String {
    let ms = (TIMEOUT_MS / faster).round().max(1.0);
    format!(
        "ip -4 route show | while read -r route; do ip route change $route rto_min {ms}ms; done"
    )
}

/// Runs a shell script in a node's network namespace.
fn on_node(lab: &ScenarioLab<'_>, node: &str, script: &str) -> Result<(), Failure> {
    lab.garland(&["lab", "exec", node, "--", "sh", "-ec", script]).map(drop)
}
