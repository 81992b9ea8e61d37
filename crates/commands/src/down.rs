//! `garland down`: ends standing agents.

use garland_control::NamesPatience;
use garland_core::cluster::Node;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::context::Context;
use garland_fleet::default_nodes;
use garland_fleet::ending::{self, AgentEnd};
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::lab;
use garland_fleet::members::{self, MemberKeys};
use garland_fleet::processes::Processes;
use garland_fleet::standing::{RecordDir, Standing, UnreadableRecord};
use garland_lab::Lab;
use garland_results::head::{Head, NodeVerdict, Phases};
use garland_results::standing::{NodeState, StandingResult};
use garland_state::places::Places;
use garland_sys::error::reason;
use garland_terminal::failure::{Exit, Failure};

use crate::args;

/// Ends standing agents. A node without a standing agent is skipped.
pub fn run(context: &Context, down: &args::Down) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let nodes = match &down.which.nodes {
        Some(list) => Inventory::open(context)?.nodes(list)?,
        None => default_nodes::standing(&places, down.which.lab.as_deref())?,
    };
    let lab = down.which.lab.as_deref().unwrap_or(DEFAULT_LAB);
    let lab = lab::enter(&nodes, &places, lab, None)?;
    let shelf = RecordDir::open(&places, lab.as_ref().map(Lab::name))?;
    let keys = places.controller_keys()?;
    let find = |node: &Node| Standing::find(&shelf, &node.name);
    let records: Vec<Result<Option<Standing>, UnreadableRecord>> = nodes.iter().map(find).collect();
    phases.end("set-up");
    let inventory = Inventory::open(context);
    let processes = Processes::from_inventory(&inventory, &places);
    let ends = at_once(&records, ASKED, |record| {
        let record = record.as_ref().ok()?.as_ref()?;
        Some(ending::end_by(&keys, record, &processes))
    });
    let mut states: Vec<NodeState> = Vec::new();
    for ((node, record), end) in nodes.iter().zip(&records).zip(ends) {
        states.push(match (end, record) {
            (_, Err(error)) if down.forget => forget(node, error, &shelf),
            (_, Err(error)) => NodeState::but(node, NodeVerdict::Failed, error.of_node()),
            (Some(Ok(AgentEnd::Consented | AgentEnd::Killed)), _) => NodeState::ok(node, "down"),
            (Some(Ok(AgentEnd::Before)) | None, _) => {
                NodeState::but(node, NodeVerdict::Skipped, "no agent was up")
            }
            (Some(Err(unended)), _) if down.forget => NodeState::but(
                node,
                NodeVerdict::Skipped,
                format!("its record is removed: {}", unended.reason()),
            ),
            (Some(Err(unended)), _) => {
                NodeState::but(node, NodeVerdict::Failed, unended.of_node(&node.name))
            }
        });
    }
    phases.end("end");
    let over = records.iter().zip(&states).filter(|(_, state)| !state.is(NodeVerdict::Failed));
    let over = over.filter_map(|(record, _)| record.as_ref().ok()?.as_ref());
    over.for_each(|record| record.forget(&shelf));
    if members::names_are_used(&places, lab.as_ref().map(Lab::name))? {
        // The keys of nodes whose agents have ended are worth nothing from now on.
        // Who cannot be told is printed; the agents that were to end have ended all the same.
        let patience = NamesPatience::default();
        let _ = members::hand_out(&places, &shelf, MemberKeys::Present, &patience, |_| true)?;
    }
    let head = Head::new("garland.down/2", None, phases);
    let result = StandingResult { head, nodes: states, spools: Vec::new() };
    let exit = result.exit(|node| !node.is(NodeVerdict::Failed));
    result.print(context.json).map_err(|failure| failure.after(exit))?;
    Ok(exit)
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
