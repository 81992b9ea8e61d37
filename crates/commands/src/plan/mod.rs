//! `garland plan suggest`: finds the fastest plan for a copy.

mod table;

use garland_copy::known_wires::{Handling, KnownWires, unreachable};
use garland_core::cluster::{Node, nodelist};
use garland_core::plan::{Layout, RouteShape};
use garland_core::units::bytes;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::lab;
use garland_predict::{Payload, Suggestion};
use garland_protocol::copy::Encoding;
use garland_results::head::{Head, Phases, show};
use garland_state::places::Places;
use garland_terminal::failure::{Exit, Failure};
use garland_topology::Topology;
use serde::Serialize;

use super::forecast::Drawn;
use crate::args::{PlanCommand, PlanSuggest};

/// The result object `garland.plan-suggest/2`.
#[derive(Serialize)]
struct SuggestResult {
    #[serde(flatten)]
    head: Head,
    bytes: u64,
    nodes: usize,
    /// The options for `garland cp` that select the fastest plan.
    options: String,
    /// The nodes as they were listed, for the printed command.
    list: String,
    why: String,
    /// The simulated plans, the best first.
    plans: Vec<Tried>,
}

/// A plan that was simulated, and its times in seconds.
#[derive(Clone, Serialize)]
struct Tried {
    /// The nodes in the order of the plan, as a node list; `list` if that is how they are listed.
    order: String,
    shape: String,
    #[serde(skip)]
    route: RouteShape,
    fanout: usize,
    lanes: u16,
    block_size: u32,
    seconds: f64,
    fill: f64,
    stream: f64,
    drain: f64,
    /// The bottleneck: the resource that is busy all the time.
    limit: Option<String>,
}

/// Simulates plans for a copy.
pub fn run(context: &Context, command: &PlanCommand) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Suggest(asked) => suggest(context, asked),
    }
}

/// Simulates plans for a copy; prints the fastest plans, and the options for the fastest one.
fn suggest(context: &Context, asked: &PlanSuggest) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let length = bytes::parse(&asked.bytes)?;
    let (wires, names, list) = wires(context, asked)?;
    phases.end("read");
    let lanes = wires.lanes();
    let block = Layout::fitting(length).block_size;
    let broadcast = wires.broadcast(length, lanes, block, handling(asked));
    let plans = broadcast.suggest().map_err(|way| unreachable(&way))?;
    let plans: Vec<Tried> = plans.into_iter().map(|plan| Tried::new(plan, &names)).collect();
    let options = chosen_options(&plans[0], asked);
    let why = reasons(&plans, length, wires.source());
    phases.end("simulate");
    let head = Head::new("garland.plan-suggest/2", None, phases);
    let nodes = names.len();
    let result = SuggestResult { head, bytes: length, nodes, options, list, why, plans };
    show(context.json, &result)?;
    Ok(Exit::Done)
}

/// Returns the wires, the names of the nodes, and the list of the nodes for a command.
fn wires(
    context: &Context,
    asked: &PlanSuggest,
) -> Result<(KnownWires, Vec<String>, String), Failure> {
    let places = Places::open()?;
    let Some(list) = &asked.list else {
        let (topology, nodes) = topology(asked)?;
        let names = topology.nodes.iter().skip(1).take(nodes as usize);
        let names = names.map(|node| node.name.clone()).collect();
        return Ok((KnownWires::drawn(topology, nodes, &places), names, "NODES".to_owned()));
    };
    let inventory = Inventory::open(context)?;
    let nodes: Vec<Node> = inventory.nodes(list)?;
    let lab = lab::find(&nodes, &places, asked.lab.as_deref().unwrap_or(DEFAULT_LAB))?;
    let known = KnownWires::between(&nodes, &places, lab.as_ref(), None)?;
    let known = known.ok_or_else(|| {
        Failure::usage(format!("the wires between {list} are not known")).hint(format!(
            "measure them: garland wires '{list}', or describe them: --topology FILE"
        ))
    })?;
    Ok((known, nodes.into_iter().map(|node| node.name).collect(), list.clone()))
}

fn topology(asked: &PlanSuggest) -> Result<(Topology, u32), Failure> {
    let name = asked.topology.as_deref().unwrap_or_default();
    let mut drawn = Drawn::load(name, asked.rate.as_deref(), asked.nics)?;
    if let Some(nodes) = asked.nodes {
        // A topology with enough nodes is used unchanged.
        let written = drawn.as_written().ok().filter(|t| t.nodes.len() > nodes as usize);
        return Ok((written.map_or_else(|| drawn.with(nodes).cloned(), Ok)?, nodes));
    }
    let topology = drawn.as_written()?;
    let nodes = u32::try_from(topology.nodes.len().saturating_sub(1)).unwrap_or(u32::MAX);
    Ok((topology, nodes))
}

impl Tried {
    fn new(plan: Suggestion, names: &[String]) -> Self {
        let shape = match plan.route {
            RouteShape::Tree(fanout) if fanout == names.len() => "star".to_owned(),
            RouteShape::Tree(fanout) => format!("tree of {fanout}"),
            RouteShape::Twins => "pair of trees".to_owned(),
            RouteShape::Chain => "chain".to_owned(),
        };
        let ordered: Vec<&str> = plan.order.iter().map(|&at| names[at].as_str()).collect();
        Self {
            order: if plan.is_listed() { "list".to_owned() } else { in_order(&ordered) },
            shape,
            route: plan.route,
            fanout: plan.route.fanout(),
            lanes: plan.lanes,
            block_size: plan.block_size,
            seconds: plan.run.seconds,
            fill: plan.run.fill,
            stream: plan.run.stream,
            drain: plan.run.drain,
            limit: plan.run.limit,
        }
    }
}

/// Returns the node list of `names` in this order. Names whose last numbers follow each other are
/// folded.
fn in_order(names: &[&str]) -> String {
    let parts = |name: &str| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        (name[..stem].to_owned(), name[stem..].parse::<u64>().ok())
    };
    let follows = |one: &&str, next: &&str| {
        let one = parts(one);
        let next = parts(next);
        one.0 == next.0
            && one.1.is_some()
            && one.1.and_then(|number| number.checked_add(1)) == next.1
    };
    names.chunk_by(follows).map(nodelist::fold).collect::<Vec<_>>().join(",")
}

/// Returns how the options of the copy that is asked about handle its bytes.
fn handling(asked: &PlanSuggest) -> Handling {
    let payload = Payload { sealed: !asked.no_encrypt, ..Payload::USUAL };
    Handling::new(payload, Encoding::Plain, asked.bwlimit)
}

/// Returns the options for `garland cp` that select a plan.
fn chosen_options(plan: &Tried, asked: &PlanSuggest) -> String {
    let order = &plan.order;
    let lanes = plan.lanes;
    let block = plan.block_size >> 10;
    let shape = plan.route;
    let mut options =
        format!("--order '{order}' --shape {shape} --rails {lanes} --block-size {block}KiB");
    if asked.no_encrypt {
        options.push_str(" --no-encrypt");
    }
    if let Some(limit) = asked.bwlimit {
        // As a number of bits, which is exact.
        options.push_str(&format!(" --bwlimit {}bit", (limit.bytes_per_second() * 8.0).round()));
    }
    options
}

/// Returns the reasons for the best plan.
fn reasons(plans: &[Tried], length: u64, source: &str) -> String {
    let best = &plans[0];
    let limit = best.limit.as_deref().unwrap_or("no resource with a known rate");
    let stream = best.stream;
    let seconds = best.seconds;
    let mut why = format!("by {source}, {limit} is busy for {stream:.3} s of {seconds:.3} s");
    let same = |plan: &&Tried| plan.block_size == best.block_size;
    let listed =
        plans.iter().filter(same).find(|plan| plan.order == "list" && plan.route == best.route);
    if let Some(listed) = listed.filter(|_| best.order != "list") {
        why.push_str(&format!("; in the order of the list {:.3} s", listed.seconds));
    }
    let other = plans
        .iter()
        .filter(same)
        .find(|plan| (plan.route == RouteShape::Chain) != (best.route == RouteShape::Chain));
    if let Some(other) = other {
        why.push_str(&format!(
            "; a {} takes {:.3} s, of which {:.3} s pass before the first byte reaches its last node",
            other.shape, other.seconds, other.fill
        ));
    }
    if let Some(one) = plans.iter().filter(same).find(|plan| plan.lanes == 1 && best.lanes > 1) {
        why.push_str(&format!("; one lane takes {:.3} s", one.seconds));
    }
    if best.fill > best.stream && length > 0 {
        why.push_str("; most of the time is latency of the hops, so fewer hops are faster");
    }
    why
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn names_are_folded_only_where_that_keeps_their_order() {
        for (names, list) in [
            (&["n1", "n2", "n3"][..], "n[1-3]"),
            (&["n3", "n1", "n2", "m2"], "n3,n[1-2],m2"),
            (&["lab:n09", "lab:n10", "head"], "lab:n[09-10],head"),
            (&["n9", "n10", "n010"], "n[9-10],n010"),
        ] {
            assert_eq!(in_order(names), list);
        }
    }
}
