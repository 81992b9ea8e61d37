//! `garland ping`: small gets, puts and messages between nodes.

mod evidence;
mod fabric;
mod point;
mod request;
mod result;
mod sweep;
mod table;

use std::time::Duration;

use garland_control::{Session, bring_helper, meet};
use garland_core::cluster::Node;
use garland_fleet::context::Context;
use garland_fleet::inventory::{Inventory, LAB_PREFIX, is_local};
use garland_lab::Lab;
use garland_protocol::measure::{PingTransport, Task};
use garland_protocol::operation::{Pair, PairEnd};
use garland_results::head::{Phases, print_json};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_topology::bounds;

use crate::args::Ping;
use crate::gather::{Gathered, Talk, end_agents, gather};
use request::PingRequest;
use result::{PairResult, PingResult};
use sweep::Wire;

/// Time allowed for a pair in addition to the time for measuring its points.
const PAIR_EXTRA_TIME: Duration = Duration::from_secs(20);

/// Runs `garland ping`: times operations between the first node and each of the others.
pub fn run(context: &Context, ping: &Ping) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let request = request::read(ping)?;
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(&ping.nodes)?;
    if nodes.len() < 2 {
        return Err(Failure::usage("ping needs two nodes or more")
            .hint("the first node sends requests to each of the others in turn")
            .hint("to measure this machine alone, run garland ping 'local[1-2]'"));
    }
    let over = Talk::OverWires;
    let mut gathered =
        gather("ping", &nodes, &inventory, &ping.launch, context.json, over, phases)?;
    gathered.ensure_links(&nodes)?;
    let Gathered { mut phases, interrupts, lab, run, mut fleet } = gathered;
    if request.task.means == PingTransport::Fabric {
        // Agents on this machine find the helper where this process finds it.
        let elsewhere = |node: &Node| lab.is_none() && !is_local(&node.name);
        let agents = nodes.iter().zip(&mut fleet.agents).filter(|(node, _)| elsewhere(node));
        bring_helper(agents.filter_map(|(_, agent)| agent.as_mut().ok()));
    }
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let series =
        Series { names: &names, request: &request, lab: lab.as_ref(), tells: !context.json };
    let session = Session::new(fleet.agents, Some(&interrupts));
    let (pairs, interrupted) = series.measure(session)?;
    phases.end("ping");
    end_agents(fleet.children, interrupted, &mut phases);
    let result = PingResult::new(&run, phases, &request, &names, pairs, interrupted);
    run.keep("result.json", &result)?;
    if context.json {
        print_json(&result)?;
    } else {
        output::print(format_args!("\nrun     {}\n", run.name()))?;
    }
    Ok(result.exit())
}

/// The measurement of all pairs, with the parameters that they share.
struct Series<'a> {
    names: &'a [String],
    request: &'a PingRequest,
    /// The lab of the nodes; none without a lab.
    lab: Option<&'a Lab>,
    /// Whether to print the table of each pair as soon as the pair is done.
    tells: bool,
}

impl Series<'_> {
    /// Measures one pair after the other, so that they do not disturb each other. Returns the
    /// results, and whether the user interrupted.
    fn measure(&self, mut session: Session<'_>) -> Result<(Vec<PairResult>, bool), Failure> {
        let mut pairs = Vec::new();
        let mut interrupted = false;
        for to in 1..self.names.len() {
            let mut pair = PairResult::new(self.names, to, self.request);
            interrupted |= self.meet(&mut session, to, &mut pair)?;
            pair.conclude(self.request, self.wire(to));
            if self.tells {
                output::print(table::Table { pair: &pair, request: self.request, place: to })?;
            }
            pairs.push(pair);
        }
        Ok((pairs, interrupted))
    }

    /// Returns the emulated wire between the first node and node `to`; none without a lab, or if
    /// the wire has no rate limit.
    fn wire(&self, to: usize) -> Option<Wire> {
        let topology = &self.lab?.spec().topology;
        let place = |name: &str| topology.node(name.strip_prefix(LAB_PREFIX).unwrap_or(name));
        let from = place(&self.names[0])?;
        let to = place(&self.names[to])?;
        let mtu = topology.nics_of(from).map(|(_, nic)| nic.mtu).min()?;
        let payload = *bounds::max_min(topology, &[(from, to)]).first()?;
        let bits = payload / bounds::payload_share(mtu);
        (bits.is_finite() && bits > 0.0).then_some(Wire { bits, mtu })
    }

    /// Measures the points between the first node and node `to`, and adds them to `pair`. Returns
    /// whether the user interrupted.
    fn meet(
        &self,
        session: &mut Session<'_>,
        to: usize,
        pair: &mut PairResult,
    ) -> Result<bool, Failure> {
        let points = &self.request.task.points;
        let time: u64 = points.iter().map(|point| u64::from(point.time_ms)).sum();
        let meeting = Pair {
            from: 0,
            to,
            rail: 0,
            streams: 1,
            limit: Duration::from_millis(2 * time) + PAIR_EXTRA_TIME,
            pin: self.request.pin,
            task: Task::Ping(self.request.task.clone()),
        };
        let ends = meet(session, &[meeting]).or_nothing("cannot measure with the agents")?;
        for (end, findings) in ends {
            findings.into_iter().for_each(|(node, finding)| pair.found(node == 0, finding));
            match end {
                PairEnd::Failed(node, reason) => pair.fail(&self.names[node], &reason),
                PairEnd::Interrupted => {
                    pair.skip();
                    return Ok(true);
                }
                PairEnd::Done => {}
            }
        }
        Ok(false)
    }
}
