//! `garland down`: ends agents that stay.

use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_node::shut_down;

use super::standing_result::{NodeState, StandingResult};
use crate::args::{Args, Nodes};
use crate::at_once::{ASKED, at_once};
use crate::failure::{Exit, Failure, OrFailure};
use crate::launch::lab;
use crate::nodes::Inventory;
use crate::places::Places;
use crate::result::{Head, Phases};
use crate::standing::{Shelf, Standing};

/// Ends agents that stay. Where there is none, nothing is left to do.
pub fn run(args: &Args, down: &Nodes) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(&down.nodes)?;
    let places = Places::open()?;
    let lab = lab::enter(&nodes, &places, &down.lab)?;
    let shelf = Shelf::open(&places, lab.as_ref().map(Lab::name))?;
    let keys = places.controller_keys()?;
    let find = |node: &Node| Standing::find(&shelf, &node.name);
    let records: Vec<Option<Standing>> = nodes.iter().map(find).collect();
    let agents = at_once(&records, ASKED, |record| match record {
        Some(record) => record.connect(&keys),
        None => Err(String::new()),
    });
    // Nobody there: the agent is down, which is what was asked for.
    let answers: Vec<bool> = agents.iter().map(Result::is_ok).collect();
    phases.end("set-up");
    let failed = shut_down(agents).or_nothing("ending the agents")?;
    phases.end("end");
    let mut states: Vec<NodeState> = Vec::new();
    for (at, (node, record)) in nodes.iter().zip(&records).enumerate() {
        let reason = failed.iter().find(|(id, _)| id.index() == at + 1 && answers[at]);
        states.push(match (record, reason) {
            (None, _) => NodeState::but(node, "skipped", "no agent stays there"),
            (Some(_), Some((_, reason))) => NodeState::but(node, "failed", reason),
            (Some(record), None) => {
                record.forget(&shelf);
                NodeState::ok(node, "down")
            }
        });
    }
    let head = Head::new("garland.down/1", None, phases);
    let result = StandingResult { head, nodes: states };
    result.print(args.json)?;
    Ok(result.exit(|node| !node.is("failed")))
}
