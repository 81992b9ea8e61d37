//! The rows of the tables.

use garland_analysis::farm::{Losses, Spread};
use garland_analysis::grade::{Condition, Sample};
use garland_core::units::Rate;
use garland_topology::Topology;
use serde::Serialize;

use super::job::ONE;
use crate::scenario_lab::Busy;

/// The factors by which the emulation is smaller and faster than the original.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scaling {
    /// The length of the files as a share of the published length.
    pub files: f64,
    /// The seconds of the original that correspond to one second of the emulation.
    pub seconds: f64,
    /// The factor by which wires are faster than in the original, so that they carry a job's bytes
    /// in the same share of the job's time.
    pub wires: f64,
}

impl Scaling {
    /// Creates a scaling; the factor of the wires follows from the other two.
    pub fn new(files: f64, seconds: f64) -> Self {
        Self { files, seconds, wires: files * seconds }
    }

    /// Returns `topology` with the rates of its media multiplied by `wires`.
    pub fn of(&self, topology: &Topology) -> Topology {
        let faster = |rate: Rate| {
            Rate::from_bits_per_second((rate.bits_per_second() as f64 * self.wires) as u64)
        };
        let mut topology = topology.clone();
        topology.media.iter_mut().for_each(|medium| medium.rate = medium.rate.map(faster));
        topology
    }
}

/// The result of running all jobs of a load over one topology, or on one machine alone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The topology's name; `one` for one machine alone.
    pub topology: String,
    /// The load's name.
    pub load: String,
    /// The simulated seconds, computed from the times on one machine alone; `None` for that
    /// machine.
    pub predicted_s: Option<f64>,
    /// The times of jobs that read through a mount, with wires that delay no job: seconds
    /// until they start, and seconds per job. `None` for topologies.
    pub mounted_s: Option<[f64; 2]>,
    /// Seconds until the last job was done.
    pub seconds: f64,
    /// The times of the slowest and the fastest job; `None` for one machine.
    pub spread: Option<Spread>,
    /// The seconds of each job; empty for one machine.
    pub jobs_s: Vec<f64>,
    /// The power of one machine that would be as fast as the cluster; `None` for one machine.
    pub equivalent: Option<f64>,
    /// The relative difference of `equivalent` from the total power of the nodes.
    pub difference: Option<f64>,
    /// The time that was lost, by cause; `None` if unknown.
    pub losses: Option<Losses>,
    /// The bytes that the NICs of the first node carried, and the bytes of inputs and outputs of
    /// jobs on all other nodes; 0 for one machine.
    pub carried: [u64; 2],
    /// The mean size of a job's outputs in bytes.
    pub made: f64,
    /// Whether all outputs were equal.
    pub equal: bool,
    /// The share of this machine's processor time that was in use meanwhile.
    pub busy: Busy,
    /// The run's name.
    pub run: String,
}

impl Row {
    /// Returns the sample of a value from this row, which is void if the emulator lagged.
    pub fn sample(&self, value: Option<f64>) -> Sample {
        value.map_or_else(Sample::none, Sample::new).voided(self.busy.lags())
    }

    /// Returns the topology's name for tables.
    pub fn name(&self) -> &str {
        if self.topology == ONE { "one PC" } else { &self.topology }
    }
}

/// Returns the seconds of `row` as a share of the seconds of one machine with the same load; `None`
/// if `rows` has no row of one machine with this load.
pub fn share_of_one(rows: &[Row], row: &Row) -> Option<f64> {
    let one = rows.iter().find(|one| one.topology == ONE && one.load == row.load)?;
    Some(row.seconds / one.seconds)
}

/// The copy through the mount, over one topology.
#[derive(Clone, Debug, Serialize)]
pub struct CopyRow {
    /// The topology's name.
    pub topology: String,
    /// The seconds that the simulator predicts.
    pub predicted_s: f64,
    /// The seconds that were measured in the lab.
    pub seconds: f64,
    /// The seconds that the wires alone need.
    pub bound_s: f64,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
}

impl CopyRow {
    /// Returns the sample of a value from this copy, which is void if the emulator lagged.
    pub fn sample(&self, value: f64) -> Sample {
        Sample::new(value).voided(self.busy.lags())
    }
}

/// Copies over the two networks of the riddle, with one suspect; rates in bytes per second.
#[derive(Clone, Debug, Serialize)]
pub struct SuspectRow {
    /// The fault; `None` in the first row, which is without a fault.
    pub suspect: Option<Condition>,
    /// The rate over the slow network; `None` if a copy reached its timeout.
    pub slow: Option<f64>,
    /// The rate over the faster network, with the fault if it can occur there.
    pub fast: Option<f64>,
    /// The share of this machine's processor time that was in use during the copies.
    pub busy: Busy,
}

/// The jobs of a load over the slow network of the riddle, with a fault.
#[derive(Clone, Debug, Serialize)]
pub struct FaultRow {
    /// The fault.
    pub fault: Condition,
    /// The result, as without the fault.
    #[serde(flatten)]
    pub row: Row,
}
