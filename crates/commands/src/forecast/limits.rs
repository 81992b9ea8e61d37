//! The limits of the work: those that the simulator derives from the topology, and those that the
//! user specifies.

use std::cell::RefCell;
use std::collections::HashMap;

use garland_analysis::forecast::{Demand, Floor};
use garland_core::plan::{Layout, Plan};
use garland_core::units::bytes;
use garland_predict::{CopyRun, CopyTry, Costs, Network, NoWay, Processors, Wires, copy};
use garland_terminal::failure::Failure;
use garland_topology::Topology;

use super::drawn::{Drawn, MAX_DRAWN_NODES};
use super::measured::{Measured, seconds};
use crate::args::{Forecast, PlanName};

/// The number of nodes for which the shares of resources are computed; the shares do not depend on
/// it.
const MANY: u32 = 8;

/// Processors are no limit if they are busy for less than this fraction of the shortest measured
/// time.
const NEGLIGIBLE: f64 = 0.01;

/// Returns for how long the whole work of a farm keeps each shared resource busy.
pub fn find_demands(
    asked: &Forecast,
    drawn: Option<&mut Drawn>,
    measured: &mut Measured,
    processors: Option<&Processors>,
) -> Result<Vec<Demand>, Failure> {
    let mut demands: Vec<Demand> =
        asked.limit.iter().map(|text| limit(text)).collect::<Result<_, _>>()?;
    let moved = Moved::new(asked, measured)?;
    if let Some(drawn) = drawn
        && moved.sum() > 0.0
    {
        let topology = drawn.with(MANY).cloned().or_else(|_| drawn.as_written())?;
        demands.extend(of_wires(&topology, moved).map_err(|way| no_way(&way))?);
    }
    let shared = processors.map(|known| of_processors(known, moved.sum(), measured.cpu));
    let shortest = measured.points.iter().map(|point| point.seconds).fold(f64::INFINITY, f64::min);
    demands.extend(shared.filter(|demand| {
        let matters = demand.seconds > shortest * NEGLIGIBLE;
        matters && measured.allows(&demand.name, |_| demand.seconds)
    }));
    Ok(demands)
}

/// Returns for how long a farm keeps the processors busy that all of its nodes use: those of the
/// head, which sends and receives all files, or those of the machine that emulates all nodes, which
/// also run the jobs, for `cpu` seconds.
fn of_processors(processors: &Processors, bytes: f64, cpu: f64) -> Demand {
    let jobs = if processors.is_shared { cpu } else { 0.0 };
    let seconds = (processors.staging() * bytes + jobs) / processors.count;
    Demand { name: processors.common_name().to_owned(), seconds }
}

/// The bytes that a farm moves between the head and its nodes.
#[derive(Clone, Copy, Default)]
pub struct Moved {
    /// The bytes that all jobs receive.
    pub bytes_in: f64,
    /// The bytes that they send back.
    pub bytes_out: f64,
}

impl Moved {
    /// Returns the values of `--bytes-in` and `--bytes-out`, or else the bytes of the runs.
    pub fn new(asked: &Forecast, measured: &Measured) -> Result<Self, Failure> {
        let amount = |text: &Option<String>, moved: u64| match text {
            Some(text) => bytes::parse(text).map(|bytes| bytes as f64).map_err(Failure::usage),
            None => Ok(moved as f64),
        };
        Ok(Self {
            bytes_in: amount(&asked.bytes_in, measured.bytes_in)?,
            bytes_out: amount(&asked.bytes_out, measured.bytes_out)?,
        })
    }

    fn sum(self) -> f64 {
        self.bytes_in + self.bytes_out
    }
}

/// Parses a limit such as `disk=100s`.
fn limit(text: &str) -> Result<Demand, Failure> {
    let parts = text.split_once('=').and_then(|(name, time)| Some((name.trim(), seconds(time)?)));
    let (name, seconds) = parts.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        Failure::usage(format!("{text:?} is not a limit"))
            .hint("write the name of the resource and the time for which the whole work keeps it busy: disk=100s")
    })?;
    Ok(Demand { name: name.to_owned(), seconds })
}

/// Returns, for each resource that several nodes share, for how long the traffic between the first
/// node and all others keeps it busy; the busiest resource first.
fn of_wires(topology: &Topology, moved: Moved) -> Result<Vec<Demand>, NoWay> {
    let others = topology.nodes.len().saturating_sub(1).max(1);
    let mut network = Network::new();
    let ways = network.there_and_back(topology, 0, 1..topology.nodes.len())?;
    let mut busy: HashMap<usize, (f64, usize)> = HashMap::new();
    for (uses, bytes) in ways
        .into_iter()
        .flat_map(|(there, back)| [(there, moved.bytes_in), (back, moved.bytes_out)])
    {
        for (place, weight) in uses {
            let (sum, count) = busy.entry(place).or_default();
            *sum += weight * bytes / others as f64;
            *count += 1;
        }
    }
    let disk = network.disk(topology, 0).map(|(place, _)| (place, moved.sum()));
    let shared = busy.into_iter().filter(|(_, (_, count))| *count > 2);
    let shared = shared.map(|(place, (sum, _))| (place, sum)).chain(disk);
    let mut demands: Vec<Demand> = shared
        .map(|(place, sum)| Demand {
            name: network.name(place).to_owned(),
            seconds: sum / network.capacity_of(place),
        })
        .filter(|demand| demand.seconds > 0.0)
        .collect();
    demands.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.name.cmp(&b.name)));
    Ok(demands)
}

fn no_way(way: &NoWay) -> Failure {
    Failure::usage(format!("{way} in this topology"))
}

/// A simulator of the shortest possible time of a copy to any number of nodes.
pub struct CopyFloor {
    drawn: RefCell<Drawn>,
    known: RefCell<HashMap<u32, Option<CopyRun>>>,
    length: u64,
    plan: PlanName,
    processors: Option<Processors>,
}

impl CopyFloor {
    /// Creates the simulation of copies of `length` bytes over a topology, by these processors.
    ///
    /// # Errors
    /// If the topology's number of nodes cannot be changed, or a route is missing.
    pub fn new(
        mut drawn: Drawn,
        length: u64,
        plan: PlanName,
        processors: Option<Processors>,
    ) -> Result<Self, Failure> {
        let run = simulate(drawn.with(2)?, length, plan, processors, 2).map_err(|way| {
            no_way(&way).hint("use --shape star, or a topology whose nodes forward packets")
        })?;
        let known = RefCell::new(HashMap::from([(2, Some(run))]));
        Ok(Self { drawn: RefCell::new(drawn), known, length, plan, processors })
    }

    /// Returns this simulation without processors, if with them a copy that was measured would have
    /// been impossible.
    pub fn allowing(self, measured: &mut Measured) -> Self {
        let Some(processors) = self.processors else { return self };
        if measured.allows(processors.common_name(), |nodes| self.to(nodes).seconds) {
            return self;
        }
        self.known.borrow_mut().clear();
        Self { processors: None, ..self }
    }

    /// Returns the shortest time that wires, disks and processors allow, and the bottleneck. Beyond
    /// [`MAX_DRAWN_NODES`] nodes the time is extrapolated; it is 0 if the copy cannot be simulated.
    pub fn to(&self, nodes: u32) -> Floor {
        let floor = |nodes: u32| {
            let run = self.run(nodes);
            let seconds = run.as_ref().map_or(0.0, |run| run.seconds);
            let name = run.and_then(|run| run.limit).unwrap_or_default();
            Floor { seconds, name }
        };
        if nodes <= MAX_DRAWN_NODES {
            return floor(nodes);
        }
        let half = floor(MAX_DRAWN_NODES / 2);
        let all = floor(MAX_DRAWN_NODES);
        let each = (all.seconds - half.seconds) / f64::from(MAX_DRAWN_NODES - MAX_DRAWN_NODES / 2);
        Floor { seconds: all.seconds + each * f64::from(nodes - MAX_DRAWN_NODES), name: all.name }
    }

    fn run(&self, nodes: u32) -> Option<CopyRun> {
        if let Some(known) = self.known.borrow().get(&nodes) {
            return known.clone();
        }
        let mut drawn = self.drawn.borrow_mut();
        let topology = drawn.with(nodes).ok();
        let run = topology.and_then(|topology| {
            simulate(topology, self.length, self.plan, self.processors, nodes).ok()
        });
        self.known.borrow_mut().insert(nodes, run.clone());
        run
    }
}

/// Simulates a copy of `length` bytes from the first node of a topology to the next `nodes` nodes,
/// by a plan of the shape `shape`.
fn simulate(
    topology: &Topology,
    length: u64,
    shape: PlanName,
    processors: Option<Processors>,
    nodes: u32,
) -> Result<CopyRun, NoWay> {
    let names: Vec<String> =
        topology.nodes.iter().skip(1).take(nodes as usize).map(|node| node.name.clone()).collect();
    let count = garland_topology::bounds::rails(topology);
    let count = u16::try_from(count).unwrap_or(1);
    let chain = Plan::broadcast(Layout::fitting(length), &names, count);
    let Ok(chain) = chain else {
        return Err(NoWay { from: topology.nodes[0].name.clone(), to: "nobody".to_owned() });
    };
    let plan = match shape {
        PlanName::Chain => chain,
        PlanName::Tree => chain.branching(2),
        PlanName::Star => chain.branching(names.len().max(1)),
    };
    let places: Vec<usize> = (0..plan.nodes.len()).collect();
    let wires = Wires::Drawn(topology);
    let costs = Costs { processors, ..Costs::default() };
    copy(&CopyTry { wires, plan: &plan, places: &places, costs })
}
