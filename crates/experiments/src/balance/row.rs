//! A measured point, compared with the bound of wires and disks.

use garland_analysis::grade::Sample;
use garland_terminal::failure::Failure;
use garland_topology::{NodeId, bounds};
use serde::{Deserialize, Serialize};

use crate::pairs::Wire;
use crate::predicted::SimulatedNetwork;
use crate::scenario_lab::Busy;

/// The fields of `garland.balance/2` that are read.
#[derive(Deserialize)]
pub struct Report {
    /// The measured points.
    pub points: Vec<Point>,
}

/// The fields of a point that are read; rates are in bytes per second.
#[derive(Deserialize)]
pub struct Point {
    size: u64,
    remote: usize,
    rate: f64,
    resource: Option<String>,
    disk_twice: f64,
    network_twice: f64,
}

/// Copies of files of one size, of which a certain number are remote. Rates are in bytes per
/// second.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the topology that was measured.
    pub topology: String,
    /// The kind of wire between the nodes of a pair.
    pub wire: Wire,
    /// The length of the file of each copy, in bytes.
    pub size: u64,
    /// The number of copies between two nodes; all other copies stay on one node.
    pub remote: usize,
    /// The total bytes of all copies, divided by the time until the last copy ended.
    pub rate: f64,
    /// The rate that the simulator predicts.
    pub predicted: f64,
    /// The upper bound of the rate that wires and disks allow.
    pub bound: f64,
    /// The upper bound that the wires alone allow; `None` without remote copies.
    pub wires: Option<f64>,
    /// The bottleneck: `disk`, `network` or `cpu`; `None` if unknown.
    pub resource: Option<String>,
    /// The share of this machine's processor time that was in use during the test.
    pub busy: Busy,
    /// The forecast rate with disks twice as fast.
    pub disk_twice: f64,
    /// The forecast rate with wires twice as fast.
    pub network_twice: f64,
}

impl Row {
    /// Returns the sample of a value from this row, which is void if the emulator lagged.
    pub fn sample(&self, value: f64) -> Sample {
        Sample::new(value).voided(self.busy.lags())
    }

    /// Returns the measured rate as a share of the bound.
    pub fn share(&self) -> f64 {
        self.rate / self.bound
    }

    /// Creates the row of a measured point, during which the machine was so busy; `flows` are the
    /// sender and receiver of each copy. The bound assumes that a local copy is read and written on
    /// one disk, and that all remote copies share the wires.
    pub fn new(
        network: SimulatedNetwork<'_>,
        wire: Wire,
        flows: &[(NodeId, NodeId)],
        point: Point,
        busy: Busy,
    ) -> Result<Self, Failure> {
        let Point { size, remote, rate, resource, disk_twice, network_twice } = point;
        let topology = network.topology;
        let copies = flows.len();
        let disk = topology.nodes.iter().filter_map(|node| node.disk).min();
        let disk_s = disk.map_or(0.0, |disk| size as f64 / disk.bytes_per_second());
        let wires_s = (remote > 0).then(|| bounds::seconds(topology, &flows[..remote], size));
        let local_s = if remote < copies { 2.0 * disk_s } else { 0.0 };
        let longest = [local_s, disk_s, wires_s.unwrap_or(0.0)].into_iter().fold(0.0, f64::max);
        let all = size as f64 * copies as f64;
        Ok(Self {
            topology: topology.name.clone(),
            wire,
            size,
            remote,
            rate,
            predicted: all / network.balance(flows, remote, size)?,
            bound: all / longest,
            wires: wires_s.map(|seconds| all / seconds),
            resource,
            busy,
            disk_twice,
            network_twice,
        })
    }
}
