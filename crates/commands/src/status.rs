//! `garland status`: shows standing agents.

use garland_control::count_links;
use garland_fleet::args::DEFAULT_LAB;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::context::Context;
use garland_fleet::default_nodes;
use garland_fleet::ending;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::lab;
use garland_fleet::processes::Processes;
use garland_fleet::reach::Unreached;
use garland_fleet::standing::{RecordDir, Stage, Standing};
use garland_lab::Lab;
use garland_results::head::{Head, NodeVerdict, Phases};
use garland_results::standing::{NodeState, StandingResult};
use garland_state::places::Places;
use garland_terminal::failure::{Exit, Failure};

use crate::args;
use crate::spool::record::served;

/// Shows standing agents.
pub fn run(context: &Context, status: &args::Standing) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let keys = places.controller_keys()?;
    let nodes = match &status.nodes {
        Some(list) => Inventory::open(context)?.nodes(list)?,
        None => default_nodes::standing(&places, status.lab.as_deref())?,
    };
    let lab = status.lab.as_deref().unwrap_or(DEFAULT_LAB);
    let lab = lab::enter(&nodes, &places, lab, None)?;
    let shelf = RecordDir::open(&places, lab.as_ref().map(Lab::name))?;
    let inventory = Inventory::open(context);
    let processes = Processes::from_inventory(&inventory, &places);
    phases.end("set-up");
    let nodes = at_once(&nodes, ASKED, |node| match Standing::find(&shelf, &node.name) {
        Err(error) => NodeState::but(node, NodeVerdict::Failed, error.of_node()),
        Ok(None) => NodeState::but(node, NodeVerdict::Skipped, "no standing agent"),
        Ok(Some(record)) if record.stage() == Stage::Interrupted => {
            // Nobody has used that agent, if there is one.
            match ending::end_by(&keys, &record, &processes) {
                Ok(_) => {
                    record.forget(&shelf);
                    NodeState::but(node, NodeVerdict::Skipped, "no standing agent")
                }
                Err(unended) => {
                    NodeState::but(node, NodeVerdict::Failed, unended.of_node(&node.name))
                }
            }
        }
        Ok(Some(record)) => {
            let state = match record.connect(&keys) {
                Ok(agent) => NodeState::ok(node, "up").with_links(count_links(agent), Vec::new()),
                Err(error @ Unreached::Starting(_)) => {
                    NodeState::but(node, NodeVerdict::Skipped, error.to_string())
                }
                Err(error) if error.other_release().is_some() => {
                    NodeState::but(node, NodeVerdict::Failed, error.of_standing())
                }
                Err(error) => NodeState::but(node, NodeVerdict::Dead, error.to_string()),
            };
            let ends_in = record.ends_in();
            let age_s = record.age_s();
            state.with_log(record.log).with_life(ends_in).with_release(record.release, age_s)
        }
    });
    phases.end("ask");
    let head = Head::new("garland.status/2", None, phases);
    let result = StandingResult { head, nodes, spools: served(&places)? };
    result.print(context.json)?;
    if !context.json {
        result.print_log_folders()?;
    }
    Ok(result.status())
}
