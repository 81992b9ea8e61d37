//! Predictions by the simulator, in which wires, disks and processors are shared fairly and nothing
//! else delays bytes. The start-up time is not simulated but measured, with a file of one byte.

use std::fmt::{self, Display, Formatter};

use garland_core::plan::{Layout, Plan};
use garland_predict::{
    CopyTry, Costs, Network, NoWay, Processors, Transfer, Use, Wires, copy, transfers,
};
use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::{NodeId, Topology};
use serde::Serialize;

use crate::pairs::Wire;

/// The length of the file whose copy measures the start-up time, in bytes.
pub const NEXT_TO_NOTHING: u64 = 1;

/// Returns the simulated seconds of a copy of a file of `length` bytes along a chain of nodes;
/// `places` are these nodes, the head first. `processors` are those that all nodes share; `None` if
/// they do not limit the copy.
pub fn chain(
    topology: &Topology,
    processors: Option<Processors>,
    places: &[NodeId],
    length: u64,
) -> Result<f64, Failure> {
    let receivers = places.iter().skip(1);
    let names: Vec<String> = receivers.map(|place| topology.nodes[*place].name.clone()).collect();
    let plan = Plan::broadcast(Layout::fitting(length), &names, 1)
        .or_nothing("cannot plan the copy to simulate")?;
    let costs = Costs { processors, ..Costs::default() };
    copy(&CopyTry { wires: Wires::Drawn(topology), plan: &plan, places, costs })
        .map(|run| run.seconds)
        .map_err(|way| no_way(topology, &way))
}

/// A topology in which copies are simulated.
#[derive(Clone, Copy)]
pub struct SimulatedNetwork<'a> {
    /// The nodes, their disks and the wires.
    pub topology: &'a Topology,
    /// The measured factor of [`Network::with_overtaking`]; `None` if it is not known.
    pub overtaking: Option<f64>,
}

impl<'a> SimulatedNetwork<'a> {
    /// Creates a network without that factor.
    pub fn new(topology: &'a Topology) -> Self {
        Self { topology, overtaking: None }
    }

    /// Returns the simulated seconds until each of `flows` has carried a file of `bytes` bytes; all
    /// start at the same time.
    pub fn pairs(self, flows: &[(NodeId, NodeId)], bytes: u64) -> Result<f64, Failure> {
        self.balance(flows, flows.len(), bytes)
    }

    /// Returns the simulated seconds until the copies of all `flows` are done, each of `bytes`
    /// bytes. The first `remote` copies go from sender to receiver; the others stay on the sender,
    /// whose disk is then both read and written. Packets overtake each other only where queues
    /// form: where wires are the limit, and not disks.
    pub fn balance(
        self,
        flows: &[(NodeId, NodeId)],
        remote: usize,
        bytes: u64,
    ) -> Result<f64, Failure> {
        let in_order = Self::new(self.topology);
        let without = in_order.slowest(flows, remote, true, bytes)?;
        let by_wires = in_order.slowest(flows, remote, false, bytes)? >= without * (1.0 - 1e-6);
        if self.overtaking.is_some() && by_wires {
            self.slowest(flows, remote, true, bytes)
        } else {
            Ok(without)
        }
    }

    /// Returns the seconds of the slowest copy, in which disks take part if `with_disks`.
    fn slowest(
        self,
        flows: &[(NodeId, NodeId)],
        remote: usize,
        with_disks: bool,
        bytes: u64,
    ) -> Result<f64, Failure> {
        let topology = self.topology;
        let mut network = Network::new().with_overtaking(self.overtaking);
        let ways =
            network.between(topology, &flows[..remote]).map_err(|way| no_way(topology, &way))?;
        let stay = std::iter::repeat_with(Vec::new).take(flows.len() - remote);
        let mut of_flow = |(&(from, to), mut uses): (&(NodeId, NodeId), Vec<Use>), stays: bool| {
            if with_disks {
                uses.extend(network.disk(topology, from));
                uses.extend(network.disk(topology, if stays { from } else { to }));
            }
            Transfer { bytes: bytes as f64, uses }
        };
        let all: Vec<Transfer> = flows
            .iter()
            .zip(ways.into_iter().chain(stay))
            .enumerate()
            .map(|(at, flow)| of_flow(flow, at >= remote))
            .collect();
        Ok(transfers(&network, &all).into_iter().fold(0.0, f64::max))
    }
}

/// Returns the failure for a node that the simulator cannot reach in a topology.
pub fn no_way(topology: &Topology, way: &NoWay) -> Failure {
    Failure::usage(format!("in {} {way}", topology.name))
}

/// Inputs of predictions that several experiments have.
pub mod inputs {
    pub const WIRES: &str =
        "wires: the rates of the topology's file, less the headers of Ethernet, IP and TCP";
    pub const PROCESSORS: &str =
        "processors: what a byte costs, measured on this machine without any copy, at first use";
    pub const MEMORY: &str = "disks: those of the topology's file; where it has none, files are in this machine's memory";
    pub const SET_UP: &str = "set-up: the same commands with a file of one byte, before the copies";
    pub const FORECAST: &str = "forecast: the times of all jobs on the smaller numbers of nodes, which were measured before";
}

/// What it costs that packets of connections over several routes overtake each other: measured with
/// half of the pairs and with all, each the other way. Predictions use it for copies that are not
/// these.
#[derive(Clone, Debug, Serialize)]
pub struct Overtaking {
    /// The topology's name.
    pub topology: String,
    /// The kind of wire between the nodes of a pair.
    pub wire: Wire,
    /// The measured times as multiples of the simulated ones: their mean, at least 1.
    pub factor: f64,
}

impl Overtaking {
    /// Returns the numbers of pairs that are measured.
    pub fn counts(pairs: usize) -> [usize; 2] {
        [pairs.div_ceil(2), pairs]
    }

    /// Creates the factor of copies of which each took so many times as long as expected.
    pub fn new(topology: &Topology, wire: Wire, longer: &[f64]) -> Self {
        let mean = longer.iter().sum::<f64>() / longer.len().max(1) as f64;
        Self { topology: topology.name.clone(), wire, factor: mean.max(1.0) }
    }
}

impl Display for Overtaking {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { topology, wire, factor } = self;
        let wire = wire.name();
        write!(
            f,
            "{topology}, {wire} wire: packets that overtake each other cost {factor:.2} times their bytes, as \
             copies the other way took"
        )
    }
}

/// A predicted figure, and the figure that was measured in the lab.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// A description of what was measured.
    pub what: String,
    /// The unit of both figures: `s`, `us`, `MB/s`.
    pub unit: &'static str,
    /// The predicted figure.
    pub predicted: f64,
    /// The measured figure.
    pub emulated: f64,
    /// Whether the emulation was not what it says when this was measured, so that the prediction
    /// can be neither right nor wrong.
    #[serde(skip_serializing_if = "is_not")]
    pub void: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_not(void: &bool) -> bool {
    !*void
}

impl Prediction {
    /// Creates a prediction of a time in seconds.
    pub fn seconds(what: String, predicted: f64, emulated: f64) -> Self {
        Self { what, unit: "s", predicted, emulated, void: false }
    }

    /// Marks what was measured as void if the emulation was not what it says.
    #[must_use]
    pub fn voided(self, void: bool) -> Self {
        Self { void: self.void || void, ..self }
    }
}

/// The absolute values of the relative errors of predictions, with respect to the emulated figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of predictions that count.
    pub count: usize,
    /// Number of void ones, which are left out.
    pub void: usize,
    /// The median of the relative errors.
    pub median: f64,
    /// The largest of the relative errors.
    pub worst: f64,
}

impl Agreement {
    /// Returns the relative errors of these predictions; `None` if none counts.
    pub fn from_predictions(predictions: &[Prediction]) -> Option<Self> {
        let off = |one: &Prediction| (one.predicted / one.emulated - 1.0).abs();
        let counts = predictions.iter().filter(|one| !one.void);
        let mut all: Vec<f64> = counts.map(off).filter(|off| off.is_finite()).collect();
        let void = predictions.iter().filter(|one| one.void).count();
        all.sort_by(f64::total_cmp);
        let worst = *all.last()?;
        let low = all[(all.len() - 1) / 2];
        let high = all[all.len() / 2];
        Some(Self { count: all.len(), void, median: low.midpoint(high), worst })
    }
}

#[cfg(test)]
mod tests {
    use garland_predict::CpuCosts;
    use garland_topology::shapes::{Basis, hub, switch};

    use super::*;

    fn basis(nodes: u32) -> Basis {
        Basis::numbered("try", nodes).at("80mbit".parse().unwrap())
    }

    #[test]
    fn copies_that_stay_take_the_disk_twice_and_others_the_wires() {
        let mut topology = switch(&basis(4), None);
        let flows = [(0, 1), (2, 3)];
        let wire = SimulatedNetwork::new(&topology).pairs(&flows, 10_000_000).unwrap();
        assert!((wire - 10.0 / 9.41).abs() < 0.01, "{wire}");
        topology.nodes.iter_mut().for_each(|node| node.disk = Some("5MB/s".parse().unwrap()));
        for (remote, wanted) in [(0, 4.0), (1, 4.0), (2, 2.0)] {
            let seconds =
                SimulatedNetwork::new(&topology).balance(&flows, remote, 10_000_000).unwrap();
            assert!((seconds - wanted).abs() < 1e-6, "{remote}: {seconds}");
        }
        let shared = SimulatedNetwork::new(&hub(&basis(4))).pairs(&flows, 10_000_000).unwrap();
        assert!(shared > 2.0 * wire, "{shared}");
    }

    #[test]
    fn a_chain_takes_what_its_wire_or_its_processors_take() {
        let topology = switch(&basis(4), None);
        let seconds = chain(&topology, None, &[0, 1, 2, 4], 10_000_000).unwrap();
        assert!((1.06..1.12).contains(&seconds), "{seconds}");
        // A second for each of the 10 MB, at least.
        let costs = CpuCosts { copy: 1e-7, hash: 0.0, seal: 0.0, stream: 0.0 };
        let processors = Some(Processors { costs, count: 1.0, is_shared: true });
        let slow = chain(&topology, processors, &[0, 1, 2, 4], 10_000_000).unwrap();
        assert!(slow > 2.0 * seconds, "{slow}");
    }

    #[test]
    fn errors_are_shares_of_what_was_emulated() {
        let of = |(predicted, emulated)| Prediction::seconds(String::new(), predicted, emulated);
        let all = [(1.1, 1.0), (0.8, 1.0), (2.0, 2.0), (1.0, 0.0)].map(of);
        let told = Agreement::from_predictions(&all).unwrap();
        assert_eq!(told.count, 3);
        assert!((told.median - 0.1).abs() < 1e-9 && (told.worst - 0.2).abs() < 1e-9, "{told:?}");
        assert_eq!(Agreement::from_predictions(&[]), None);
        let lagged = of((9.0, 1.0)).voided(true);
        assert_eq!(Agreement::from_predictions(std::slice::from_ref(&lagged)), None);
        let told = Agreement::from_predictions(&[all.to_vec(), vec![lagged]].concat()).unwrap();
        assert_eq!((told.count, told.void), (3, 1));
        assert!((told.worst - 0.2).abs() < 1e-9, "{told:?}");
    }
}
