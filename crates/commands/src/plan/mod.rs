//! `garland plan suggest`: finds the fastest plan for a copy.

mod table;

use garland_core::plan::{Layout, Plan};
use garland_core::units::bytes;
use garland_predict::{CopyRun, CopyTry, Costs, NoWay, copy};
use garland_topology::Topology;
use garland_topology::bounds::rails;
use serde::Serialize;

use super::forecast::Drawn;
use crate::args::{PlanCommand, PlanSuggest};
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, show};
use garland_terminal::failure::{Exit, Failure};

/// The result object `garland.plan-suggest/2`.
#[derive(Serialize)]
struct SuggestResult {
    #[serde(flatten)]
    head: Head,
    bytes: u64,
    nodes: u32,
    /// The options for `garland cp` that select the fastest plan.
    options: String,
    why: String,
    /// The simulated plans, the fastest first.
    plans: Vec<Tried>,
}

/// A plan that was simulated, and its times in seconds.
#[derive(Clone, Serialize)]
struct Tried {
    shape: String,
    fanout: usize,
    lanes: usize,
    block_size: u32,
    seconds: f64,
    fill: f64,
    stream: f64,
    drain: f64,
    /// The bottleneck: the resource that is busy all the time.
    limit: Option<String>,
}

/// The block sizes that are tried, in bytes.
const BLOCKS: [u32; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// The fan-outs of the trees that are tried.
const FANOUTS: [usize; 4] = [2, 3, 4, 8];

/// The assumed rate at which a node decrypts and writes, in bytes per second. It delays the end of
/// the copy by the time for one block.
const OPENS: f64 = 2e9;

/// The cost of a block at both ends (header, encryption, system calls), in seconds.
const BLOCK: f64 = 20e-6;

/// A plan is preferred to a simpler plan only if it takes less than this share of the simpler
/// plan's time.
const BETTER: f64 = 0.98;

/// Simulates plans for a copy; prints the fastest plans, and the options for the fastest one.
pub fn run(context: &Context, command: &PlanCommand) -> Result<Exit, Failure> {
    let PlanCommand::Suggest(asked) = command;
    let mut phases = Phases::begin();
    let length = bytes::parse(&asked.bytes)?;
    let (topology, nodes) = topology(asked)?;
    phases.end("read");
    let plans = tried(&topology, length, nodes).map_err(|way| {
        Failure::usage(format!(
            "no plan reaches all nodes: there is no route from {} to {}",
            way.from, way.to
        ))
    })?;
    let (options, why) = reasons(&plans, length);
    phases.end("simulate");
    let head = Head::new("garland.plan-suggest/2", None, phases);
    let result = SuggestResult { head, bytes: length, nodes, options, why, plans };
    show(context.json, &result)?;
    Ok(Exit::Done)
}

fn topology(asked: &PlanSuggest) -> Result<(Topology, u32), Failure> {
    let mut drawn = Drawn::load(&asked.topology, asked.rate.as_deref(), asked.nics)?;
    if let Some(nodes) = asked.nodes {
        // A topology with enough nodes is used unchanged.
        let written = drawn.as_written().ok().filter(|t| t.nodes.len() > nodes as usize);
        return Ok((written.map_or_else(|| drawn.with(nodes).cloned(), Ok)?, nodes));
    }
    let topology = drawn.as_written()?;
    let nodes = u32::try_from(topology.nodes.len().saturating_sub(1)).unwrap_or(u32::MAX);
    Ok((topology, nodes))
}

/// Simulates all plans that reach every node. Returns the fastest first; of nearly equal plans, the
/// simplest.
fn tried(topology: &Topology, length: u64, nodes: u32) -> Result<Vec<Tried>, NoWay> {
    let names: Vec<String> =
        topology.nodes.iter().skip(1).take(nodes as usize).map(|node| node.name.clone()).collect();
    let most = u16::try_from(rails(topology)).unwrap_or(1);
    let lanes = if most > 1 { vec![1, most] } else { vec![1] };
    let star = (names.len() > 1).then_some(names.len());
    let fanouts = FANOUTS.into_iter().filter(|fanout| *fanout < names.len());
    let fanouts: Vec<usize> = std::iter::once(1).chain(fanouts).chain(star).collect();
    let (mut plans, mut lost) = (Vec::new(), None);
    for lanes in lanes {
        for &fanout in &fanouts {
            for block in BLOCKS {
                let Ok(layout) = Layout::new(length, block) else { continue };
                let Ok(chain) = Plan::broadcast(layout, &names, lanes) else { continue };
                let plan = if fanout > 1 { chain.branching(fanout) } else { chain };
                match simulate(topology, &plan) {
                    Ok(run) => plans.push(Tried::new(&plan, (fanout, names.len()), run)),
                    Err(way) => lost = Some(way),
                }
            }
        }
    }
    let none = || NoWay { from: topology.nodes[0].name.clone(), to: "its nodes".to_owned() };
    if plans.is_empty() {
        return Err(lost.unwrap_or_else(none));
    }
    plans.sort_by(|a: &Tried, b| a.seconds.total_cmp(&b.seconds));
    // Of plans that take nearly as long as the fastest, the simplest comes first.
    let fastest = plans[0].seconds;
    let simple = |plan: &Tried| (plan.fanout > 1, plan.lanes > 1, plan.fanout);
    let near = plans.iter().enumerate().filter(|(_, plan)| plan.seconds * BETTER <= fastest);
    let first =
        near.min_by_key(|(place, plan)| (simple(plan), *place)).map_or(0, |(place, _)| place);
    plans[..=first].rotate_right(1);
    Ok(plans)
}

fn simulate(topology: &Topology, plan: &Plan) -> Result<CopyRun, NoWay> {
    let places: Vec<usize> = (0..plan.nodes.len()).collect();
    let costs = Costs { open: OPENS, ..Costs::default() };
    copy(&CopyTry { topology, plan, places: &places, costs })
}

impl Tried {
    fn new(plan: &Plan, (fanout, nodes): (usize, usize), run: CopyRun) -> Self {
        let layout = &plan.layout;
        let shape = match fanout {
            1 => "chain".to_owned(),
            _ if fanout == nodes => "star".to_owned(),
            _ => format!("tree of {fanout}"),
        };
        let blocks = layout.length.div_ceil(u64::from(layout.block_size).max(1)) as f64;
        let stream = run.stream + blocks * BLOCK / plan.lanes.len().max(1) as f64;
        // The last block is decrypted once all of it has arrived.
        let last = f64::from(layout.block_size).min(layout.length as f64);
        let wire = if layout.length > 0 { run.stream / layout.length as f64 } else { 0.0 };
        let drain = run.drain + last * wire;
        Self {
            shape,
            fanout,
            lanes: plan.lanes.len(),
            block_size: layout.block_size,
            seconds: run.set_up + run.fill + stream + drain,
            fill: run.fill,
            stream,
            drain,
            limit: run.limit,
        }
    }
}

/// Returns the options for `garland cp` that select the fastest plan, and the reasons for these
/// options.
fn reasons(plans: &[Tried], length: u64) -> (String, String) {
    let best = &plans[0];
    let shape = if best.fanout == 1 { "chain" } else { "tree" };
    let block = best.block_size >> 10;
    let mut options = format!("--shape {shape} --block-size {block}KiB");
    if best.lanes > 1 {
        options.push_str(&format!(" --rails {}", best.lanes));
    }
    let limit = best.limit.as_deref().unwrap_or("no resource with a known rate");
    let mut why = format!("{limit} is busy for {:.3} s of {:.3} s", best.stream, best.seconds);
    let same = |plan: &&Tried| plan.block_size == best.block_size;
    let other = plans.iter().filter(same).find(|plan| (plan.fanout == 1) != (best.fanout == 1));
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
    (options, why)
}
