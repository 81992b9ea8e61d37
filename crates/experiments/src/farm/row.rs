//! What was measured, row by row.

use garland_analysis::farm::{Losses, Spread};
use garland_core::units::Rate;
use garland_topology::Topology;
use serde::Serialize;

use super::job::ONE;

/// By how much the emulation differs from what was.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scaling {
    /// Files, as a share of the published ones.
    pub files: f64,
    /// So many seconds of then are a second of the emulation.
    pub seconds: f64,
    /// Wires are so many times as fast: as many bytes of a job go over them in the time that it takes.
    pub wires: f64,
}

impl Scaling {
    /// That of files of so much of their length, where a second stands for so many.
    pub fn new(files: f64, seconds: f64) -> Self {
        Self { files, seconds, wires: files * seconds }
    }

    /// A topology with wires faster by that.
    pub fn of(&self, topology: &Topology) -> Topology {
        let faster = |rate: Rate| {
            Rate::from_bits_per_second((rate.bits_per_second() as f64 * self.wires) as u64)
        };
        let mut topology = topology.clone();
        topology.media.iter_mut().for_each(|medium| medium.rate = medium.rate.map(faster));
        topology
    }
}

/// All jobs of a load over one topology, or on one machine.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Over which topology; `one`: on one machine alone.
    pub topology: String,
    /// Which load.
    pub load: String,
    /// Seconds by the simulator, from what one machine takes alone; none of that one.
    pub predicted_s: Option<f64>,
    /// Of one machine, by some of the jobs and with wires that hold nobody up: seconds until jobs begin that
    /// have their files through a mount, and that each of them takes.
    pub mounted_s: Option<[f64; 2]>,
    /// Seconds until all were done.
    pub seconds: f64,
    /// The slowest and the fastest job.
    pub spread: Option<Spread>,
    /// The power of one machine that would take as long.
    pub equivalent: Option<f64>,
    /// How far that is from all nodes' together, as a share.
    pub difference: Option<f64>,
    /// Where the time went.
    pub losses: Option<Losses>,
    /// Bytes that crossed the wires, and bytes of the files that jobs on other nodes than the first have
    /// read and made; 0 of one machine.
    pub carried: [u64; 2],
    /// Bytes that a job has made, on average.
    pub made: f64,
    /// Whether all results were there, and equal.
    pub equal: bool,
    /// The run that it was.
    pub run: String,
}

/// The seconds of `row` as a share of those of one machine with the same load; none if `rows` lacks it.
pub fn share_of_one(rows: &[Row], row: &Row) -> Option<f64> {
    let one = rows.iter().find(|one| one.topology == ONE && one.load == row.load)?;
    Some(row.seconds / one.seconds)
}

/// The copy through the mount over one topology.
#[derive(Clone, Debug, Serialize)]
pub struct CopyRow {
    /// Over which topology.
    pub topology: String,
    /// Seconds by the simulator.
    pub predicted_s: f64,
    /// Seconds.
    pub seconds: f64,
    /// Seconds that its wires alone take.
    pub bound_s: f64,
    /// Bytes.
    pub bytes: u64,
}

/// A copy over the networks of the riddle, with something wrong; rates in bytes per second.
#[derive(Clone, Debug, Serialize)]
pub struct SuspectRow {
    /// What was wrong; nothing the first time.
    pub suspect: Option<String>,
    /// The rate over the network that was too slow.
    pub slow: f64,
    /// The rate over the one that it should have beaten, with the same wrong where it can be there.
    pub fast: f64,
    /// Whether it makes the one slower than the other, by about as much as was published.
    pub reproduces: bool,
}
