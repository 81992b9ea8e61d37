//! `garland up`: starts standing agents.

use garland_control::{NamesPatience, stand_chain};
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::members::{self, MemberKeys, StandingKeys, TellEnded};
use garland_fleet::standing::{RecordDir, Standing};
use garland_lab::Lab;
use garland_protocol::operation::Links;
use garland_results::head::{Head, NodeVerdict, Phases};
use garland_results::standing::{NodeState, StandingResult};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_state::unreached;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::args::Up;
use crate::spool;

/// Starts standing agents on the nodes that have none, and opens the data links of a chain through
/// all nodes, in their order, for the next copy.
pub fn run(context: &Context, up: &Up, tell_ended: TellEnded<'_>) -> Result<Exit, Failure> {
    if let Some(directory) = &up.spool {
        return spool::run(context, up, directory, tell_ended);
    }
    let mut phases = Phases::begin();
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(&up.nodes.to_string_lossy())?;
    let places = Places::open()?;
    let lab = up.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "up")?;
    let builder = FleetBuilder {
        stay: Some(up.idle_seconds()),
        max_life: up.max_life_seconds(inventory.cluster()),
        quiet: context.json,
        ..FleetBuilder::new(&nodes, &inventory, &places, &up.launch, &run, lab.as_ref())
    };
    phases.end("set-up");
    let shelf = RecordDir::open(&places, lab.as_ref().map(Lab::name))?;
    let before = StandingKeys::read(&shelf)?;
    let fleet = builder.assemble()?;
    phases.end("start");
    let mut agents = Vec::new();
    let mut reasons = Vec::new();
    for agent in fleet.agents {
        reasons.push(agent.as_ref().err().cloned());
        agents.push(agent.ok());
    }
    // The next copy uses the chain in the nodes' order, unless its options ask for another.
    let links = unreached::update(&places, |hops| stand_chain(agents, hops));
    let links = links.or_nothing("cannot link the nodes")?;
    let mut are_told = true;
    if members::names_are_used(&places, lab.as_ref().map(Lab::name))? {
        let keys = if up.new_cluster_key { MemberKeys::Fresh } else { MemberKeys::Present };
        // An agent that keeps the old keys after a change matters, wherever it is.
        let must_know = |name: &str| {
            let mut ours = nodes.iter().zip(&reasons);
            up.new_cluster_key || ours.any(|(node, reason)| node.name == name && reason.is_none())
        };
        are_told = members::hand_out(&places, &shelf, keys, &NamesPatience::default(), must_know)?;
        let interrupts = Interrupts::by_hand().or_nothing("cannot wait for agents")?;
        tell_ended(&places, lab.as_ref(), &before.begun_since(&shelf)?, &interrupts)?;
    }
    phases.end("link");
    let mut states = Vec::new();
    for ((node, reason), Links { count, failed }) in nodes.iter().zip(reasons).zip(links) {
        states.push(match reason {
            None => {
                let record = Standing::find(&shelf, &node.name).ok().flatten();
                let log = record.and_then(|record| record.log);
                NodeState::ok(node, "up").with_log(log).with_links(Some(count), failed)
            }
            Some(reason) => NodeState::but(node, NodeVerdict::Failed, reason),
        });
    }
    let result = StandingResult {
        head: Head::new("garland.up/2", Some(&run), phases),
        nodes: states,
        spools: Vec::new(),
    };
    run.keep("result.json", &result)?;
    let exit = match result.exit(|node| node.is(NodeVerdict::Ok)) {
        Exit::Done if !are_told => Exit::SomeFailed,
        exit => exit,
    };
    result.print(context.json).map_err(|failure| failure.after(exit))?;
    Ok(exit)
}
