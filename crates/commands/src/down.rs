//! `garland down`: ends standing agents.

use garland_control::shut_down;
use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_protocol::RetireRequest;

use super::status::standing_nodes;
use crate::args;
use crate::cluster_key::{self, MemberKeys};
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::lab;
use garland_fleet::standing::{RecordDir, Standing, UnreadableRecord};
use garland_results::head::{Head, NodeVerdict, Phases};
use garland_results::places::Places;
use garland_results::standing::{NodeState, StandingResult};
use garland_sys::error::reason;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// Ends standing agents. A node without a standing agent is skipped.
pub fn run(context: &Context, down: &args::Down) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let nodes = match &down.which.nodes {
        Some(list) => Inventory::open(context)?.nodes(list)?,
        None => standing_nodes(&places, down.which.lab.as_deref())?,
    };
    let lab = down.which.lab.as_deref().unwrap_or(DEFAULT_LAB);
    let lab = lab::enter(&nodes, &places, lab, None)?;
    let shelf = RecordDir::open(&places, lab.as_ref().map(Lab::name))?;
    let keys = places.controller_keys()?;
    let find = |node: &Node| Standing::find(&shelf, &node.name);
    let records: Vec<Result<Option<Standing>, UnreadableRecord>> = nodes.iter().map(find).collect();
    let agents = at_once(&records, ASKED, |record| {
        let record = record.as_ref().ok()?.as_ref()?;
        if record.is_over() {
            // It takes no new session.
            return Some(record.retire(&keys, RetireRequest::End).map(|_| None));
        }
        Some(match record.connect(&keys).map(Some) {
            // An agent of another release understands only this.
            Err(error) if error.other_release().is_some() => {
                record.retire(&keys, RetireRequest::End).map(|_| None)
            }
            connected => connected,
        })
    });
    phases.end("set-up");
    let mut states: Vec<NodeState> = Vec::new();
    let mut told = Vec::new();
    for ((node, record), agent) in nodes.iter().zip(&records).zip(agents) {
        states.push(match (&agent, record) {
            (_, Err(error)) if down.forget => forget(node, error, &shelf),
            (_, Err(error)) => NodeState::but(node, NodeVerdict::Failed, error.of_node()),
            (Some(Ok(_)), _) => NodeState::ok(node, "down"),
            (Some(Err(error)), _) if !error.is_refused() && down.forget => NodeState::but(
                node,
                NodeVerdict::Skipped,
                format!("its record is removed: {error}"),
            ),
            (Some(Err(error)), _) if !error.is_refused() => {
                let reason = match error.other_release() {
                    None => error.of_standing(),
                    Some(_) => error.of_retirement(),
                };
                NodeState::but(node, NodeVerdict::Failed, reason)
            }
            (Some(Err(_)) | None, _) => {
                NodeState::but(node, NodeVerdict::Skipped, "no agent was up")
            }
        });
        told.push(agent.and_then(Result::ok).flatten().ok_or_else(String::new));
    }
    let asked: Vec<bool> = told.iter().map(Result::is_ok).collect();
    for (id, reason) in shut_down(told).or_nothing("ending the agents")? {
        let at = id.index() - 1;
        if asked[at] {
            states[at] = NodeState::but(&nodes[at], NodeVerdict::Failed, reason);
        }
    }
    phases.end("end");
    let over = records.iter().zip(&states).filter(|(_, state)| !state.is(NodeVerdict::Failed));
    let over = over.filter_map(|(record, _)| record.as_ref().ok()?.as_ref());
    over.for_each(|record| record.forget(&shelf));
    if cluster_key::names_are_used(&places, lab.as_ref().map(Lab::name))? {
        // The keys of nodes whose agents have ended are worth nothing from now on.
        // Who cannot be told is printed; the agents that were to end have ended all the same.
        let _ = cluster_key::hand_out(&places, &shelf, MemberKeys::Present, |_| true)?;
    }
    let head = Head::new("garland.down/2", None, phases);
    let result = StandingResult { head, nodes: states, spools: Vec::new() };
    result.print(context.json)?;
    Ok(result.exit(|node| !node.is(NodeVerdict::Failed)))
}

/// Removes the record of a node that cannot be read. Returns the state of the node.
fn forget(node: &Node, unreadable: &UnreadableRecord, records: &RecordDir) -> NodeState {
    match records.remove(&node.name) {
        Ok(()) => NodeState::but(
            node,
            NodeVerdict::Skipped,
            format!("its record is removed: {unreadable}"),
        ),
        Err(error) => NodeState::but(
            node,
            NodeVerdict::Failed,
            format!("{unreadable}; it cannot be removed: {}", reason(&error)),
        ),
    }
}
