//! `garland doctor`: checks what a copy needs of each node.

mod findings;
mod result;

use garland_control::{Agent, examine, stand_chain};
use garland_core::unreached::UnreachedHops;
use garland_fleet::context::Context;
use garland_fleet::destination::{NodesAndPath, nodes_with_path};
use garland_fleet::inventory::Inventory;
use garland_results::head::{Phases, tell};
use garland_terminal::failure::{Exit, Failure, OrFailure};

use self::result::{DoctorResult, NodeCheck};
use crate::args::Doctor;
use crate::gather::{Gathered, Talk, end_agents, gather};

/// Runs `garland doctor`: starts an agent on each node, examines it, connects each node to the next
/// one, and prints what was found.
pub fn run(context: &Context, doctor: &Doctor) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let inventory = Inventory::open(context)?;
    let NodesAndPath { nodes, path } = nodes_with_path(&inventory, &doctor.target)?;
    let launch = &doctor.launch;
    let talk = Talk::OverWires;
    let gathered = gather("doctor", &nodes, &inventory, launch, context.json, talk, phases)?;
    let Gathered { mut phases, interrupts, run, fleet, .. } = gathered;
    let examined =
        examine(fleet.agents, &path, Some(&interrupts)).or_nothing("cannot examine the nodes")?;
    phases.end("examine");
    let mut agents = Vec::new();
    let mut behind_login = Vec::new();
    let mut checks = Vec::new();
    for (node, examined) in nodes.iter().zip(examined) {
        let (agent, examined) = examined.map_or_else(
            |reason| (None, Err(reason)),
            |(agent, examination)| (Some(agent), Ok(examination)),
        );
        behind_login.push(agent.as_ref().is_some_and(Agent::is_behind_login));
        agents.push(agent);
        checks.push(NodeCheck::new(&node.name, &path, examined));
    }
    // The data of a copy goes from each node to the next one.
    let mut unreached = UnreachedHops::default();
    let links = stand_chain(agents, &mut unreached).or_nothing("cannot link the nodes")?;
    phases.end("link");
    for (at, (check, links)) in checks.iter_mut().zip(links).enumerate() {
        // Those behind it that this machine reaches through ssh it feeds itself.
        let is_behind_login = behind_login[at + 1..].first().is_some_and(|next| *next);
        check.add_links(links, is_behind_login);
    }
    let interrupted = interrupts.have_come();
    end_agents(fleet.children, interrupted, &mut phases);
    let result = DoctorResult::new(&run, phases, checks, path, interrupted);
    tell(&run, context.json, &result)?;
    Ok(result.exit())
}
