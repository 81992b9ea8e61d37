//! The order and shape of a broadcast: what the user specified, and for the rest the fastest that
//! is predicted.

use std::fmt::Display;
use std::time::Duration;

use garland_core::plan::{Layout, Pace, Plan, PlanError, RouteShape, Shape};
use garland_core::units::Nanos;
use garland_predict::{Broadcast, OrderChoice, Payload, RouteShapes, Suggestion};
use garland_protocol::copy::Encoding;

use crate::known_wires::{Handling, KnownWires};
use crate::spec::{CopySpec, FASTEST_ORDER, ShapeChoice};

/// The assumed rate of wires of which nothing is known, in bytes per second: TCP payload of 1
/// Gbit/s.
const USUAL_RATE: f64 = 117.7e6;

/// The assumed time from the arrival of data at one node to its arrival at the next: wake-up and
/// wire.
const HOP: Duration = Duration::from_micros(100);

/// A copy that may choose compresses if that takes less than this fraction of the time.
const CHOSEN: f64 = 0.9;

/// The length of a stream that is assumed to find the order of its chain, in bytes.
const STREAM: u64 = 1 << 30;

/// The order, shape, lanes and blocks of a copy that are predicted to be the fastest ones.
pub struct FastestPlan {
    /// The order of the nodes, as indices into the listed ones.
    pub order: Vec<usize>,
    /// The number of lanes.
    pub lanes: u16,
    /// The size of a block in bytes; `None` for the usual one.
    pub block_size: Option<u32>,
    /// Why this plan, with its predicted time.
    pub why: String,
    /// The form of the bytes on wires.
    pub payload: Payload,
    /// The encoding of blocks that gives them this form.
    pub encoding: Encoding,
    /// Whether shapes and orders were tried, which takes time.
    pub was_searched: bool,
    route: RouteShape,
    reason: Option<String>,
}

impl FastestPlan {
    /// Searches the fastest plan over `wires` with what the user specified; `None` if no plan
    /// reaches all nodes: the copy then finds out which ones it does not reach. `lanes` is the
    /// usual number of lanes. Of several ways to handle bytes, the copy will find out which one is
    /// fastest.
    pub fn find(
        spec: &CopySpec,
        layout: Layout,
        lanes: u16,
        wires: &KnownWires,
        handlings: &[Handling],
    ) -> Option<Self> {
        let searches = handlings.iter().map(|&it| search(spec, layout, lanes, wires, it));
        let (number, broadcast) = fastest(searches.collect())?;
        let plans = broadcast.suggest_in_time().ok()?.plans;
        let best = &plans[0];
        let reason = (best.route != RouteShape::Chain).then(|| {
            let chain = plans.iter().find(|plan| plan.route == RouteShape::Chain);
            reason(best, chain, wires.source())
        });
        let listed = plans.iter().filter(|plan| plan.is_listed() && plan.route == best.route);
        let listed = listed.map(|plan| plan.run.seconds).reduce(f64::min);
        Some(Self {
            order: best.order.clone(),
            lanes: best.lanes,
            block_size: (best.block_size != layout.block_size).then_some(best.block_size),
            why: why(best, listed, wires.source()),
            payload: broadcast.costs.payload,
            encoding: handlings[number].encoding,
            route: best.route,
            reason,
            was_searched: plans.len() > 1,
        })
    }

    /// Returns `plan`, a chain, in the shape of this plan.
    pub fn shaped(&self, plan: Plan) -> Result<Plan, PlanError> {
        Ok(Plan { reason: self.reason.clone(), ..plan.shaped(self.route)? })
    }
}

/// Returns the search for the fastest plan of a request, with what the user specified.
fn search<'a>(
    spec: &CopySpec,
    layout: Layout,
    lanes: u16,
    wires: &'a KnownWires,
    handling: Handling,
) -> Broadcast<'a> {
    let length = if layout.open { STREAM } else { layout.length };
    let mut broadcast = wires.broadcast(length, lanes, layout.block_size, handling);
    if spec.plan.order != FASTEST_ORDER {
        broadcast.order = OrderChoice::Listed;
    }
    broadcast.route = match spec.plan.shape {
        _ if layout.open => RouteShapes::Only(RouteShape::Chain),
        ShapeChoice::Auto => RouteShapes::Any,
        ShapeChoice::Tree => RouteShapes::Tree,
        ShapeChoice::Only(route) => RouteShapes::Only(route),
    };
    if spec.plan.rails.is_some() || layout.open {
        broadcast.lanes = vec![lanes];
    }
    broadcast.any_block = spec.plan.block_size.is_none() && !layout.open;
    broadcast
}

/// Returns the search whose nodes, as listed, are reached fastest, with its number; one that is not
/// the first only if it is much faster, as a copy chooses.
fn fastest(searches: Vec<Broadcast<'_>>) -> Option<(usize, Broadcast<'_>)> {
    let listed = |search: &Broadcast<'_>| {
        let search = Broadcast { order: OrderChoice::Listed, ..search.clone() };
        search.suggest().map_or(f64::INFINITY, |plans| plans[0].run.seconds)
    };
    let mut searches = searches.into_iter().enumerate();
    let first = searches.next()?;
    if searches.len() == 0 {
        return Some(first);
    }
    let usual = listed(&first.1) * CHOSEN;
    let times = searches.map(|search| (listed(&search.1), search));
    let best = times.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(seconds, _)| *seconds < usual);
    Some(best.map_or(first, |(_, search)| search))
}

fn time(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

fn why(best: &Suggestion, listed: Option<f64>, source: &str) -> String {
    let seconds = time(best.run.seconds);
    match listed.filter(|_| !best.is_listed()) {
        Some(listed) => format!(
            "the fastest by {source}, {seconds}; as listed, the copy would take {}",
            time(listed)
        ),
        None if best.is_listed() => format!("as listed; {seconds} by {source}"),
        None => format!("the fastest by {source}, {seconds}"),
    }
}

fn reason(tree: &Suggestion, chain: Option<&Suggestion>, source: &str) -> String {
    let chain = chain.map_or_else(
        || "as asked for, or since no chain reaches all nodes".to_owned(),
        |chain| format!("since a chain would take {}", time(chain.run.seconds)),
    );
    let takes = format!("{} by {source}", time(tree.run.seconds));
    of_route(tree.route, &chain, takes)
}

/// Returns the reason for routes other than a chain, which is `since`, with the time that it
/// `takes`.
fn of_route(route: RouteShape, since: &str, takes: impl Display) -> String {
    match route {
        RouteShape::Twins => {
            format!("two trees, each with half of the blocks, {since}; the trees take {takes}")
        }
        RouteShape::Chain => format!("a chain, {since}; the chain takes {takes}"),
        RouteShape::Tree(fanout) => {
            format!("a tree in which each node feeds {fanout}, {since}; the tree takes {takes}")
        }
    }
}

/// Returns `plan` over wires of which nothing is known in the shape that `--shape` specifies, with
/// the reason if the shape is a tree. The plan of a stream is returned unchanged.
pub fn shaped(spec: &CopySpec, plan: Plan) -> Result<Plan, PlanError> {
    // The length of a stream is unknown, so the time of either shape cannot be predicted.
    if plan.layout.open {
        return Ok(plan);
    }
    let nodes = plan.nodes.len() - 1;
    let (rate, over) = match spec.tuning.link_limit {
        Some(limit) if limit.bytes_per_second() < USUAL_RATE => {
            (limit.bytes_per_second(), format!("links of at most {limit}"))
        }
        _ => (USUAL_RATE, "wires of 1 Gbit/s".to_owned()),
    };
    let pace = Pace { rate, hop: HOP };
    let layout = plan.layout;
    let asked = || "as asked for".to_owned();
    let (shape, reason): (Option<Shape>, _) = match spec.plan.shape {
        ShapeChoice::Only(route) => (Some(pace.shape(layout, nodes, route)), asked()),
        ShapeChoice::Tree => (Some(pace.tree(layout, nodes)), asked()),
        ShapeChoice::Auto => {
            let chain = pace.shape(layout, nodes, RouteShape::Chain);
            let since = format!("since a chain would take {chain} over {over}");
            (pace.better_tree(layout, nodes), since)
        }
    };
    let Some(shape) = shape.filter(|shape| shape.route != RouteShape::Chain) else {
        return Ok(plan);
    };
    let reason = of_route(shape.route, &reason, shape);
    Ok(Plan { reason: Some(reason), ..plan.shaped(shape.route)? })
}
