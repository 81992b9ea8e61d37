//! `garland balance`: pairs of nodes copy all at once, more and more of them over the network.

mod ask;
mod notes;
mod result;
mod series;
mod table;
mod took;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;

use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_node::{Agent, Exchange};
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::processors::Processors;
use garland_sys::signal::Interrupts;

use self::ask::Asked;
use self::result::BalanceResult;
use self::series::Series;
use crate::args::{Args, Balance};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY};
use crate::nodes::{Inventory, LAB_PREFIX};
use crate::places::Places;
use crate::result::{Phases, print_json};
use crate::run::Run;
use crate::ui::output;
use crate::ui::screen::Screen;

/// Measures where the balance lies.
pub fn run(args: &Args, balance: &Balance) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(args)?;
    let (nodes, path) = super::disk::place(&inventory, &balance.target)?;
    let asked = Asked::read(balance, path, nodes.len())?;
    let places = Places::open()?;
    let lab = balance.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "balance")?;
    let muster = Muster {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: args.json,
        // A lab's wires are slow enough for orders to be seen on them.
        beside_wires: lab.is_some(),
        ..Muster::new(&nodes, &inventory, &places, &balance.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    phases.end("set-up");
    let agents = fleet.agents.into_iter().zip(&nodes);
    let agents: Vec<Result<Agent, String>> =
        agents.map(|(agent, node)| on_wires(agent?, lab.as_ref(), node)).collect();
    let mptcp = balance.launch.speaks_mptcp(lab.as_ref(), 1);
    let mut series = series_of(&asked, &nodes, agents, Transport::mptcp_if(mptcp));
    let mut screen = Screen::new(args.json);
    let since = Processors::now();
    let measured = series.stock(&interrupts).and_then(|()| {
        phases.end("files");
        series.measure(&interrupts, &mut |line| screen.draw(clock::now_ns(), &[line]))
    });
    screen.clear();
    measured.or_nothing("measuring")?;
    let cpu = since.busy_since();
    phases.end("rounds");
    let (findings, exchange) = series.into_findings();
    let patience = if findings.interrupted { HURRY } else { FAREWELL };
    // Agents end with their channels, and their files with them.
    drop(exchange);
    fleet.children.end(patience, |_| false);
    phases.end("teardown");
    let result = BalanceResult::new(&run, phases, &asked, &findings, lab.as_ref(), cpu);
    run.keep("result.json", &result)?;
    if args.json {
        print_json(&result)?;
    } else {
        output::print(&result)?;
    }
    Ok(result.exit())
}

fn series_of<'a>(
    asked: &'a Asked,
    nodes: &[Node],
    agents: Vec<Result<Agent, String>>,
    transport: Transport,
) -> Series<'a> {
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let absent = agents.iter().map(|agent| agent.as_ref().err().cloned()).collect();
    let agents = agents.into_iter().map(Result::ok).collect();
    let exchange = Exchange::new(names.clone(), agents);
    Series::new(asked, names, exchange, absent, transport)
}

/// An agent that is spoken to beside a lab's wires is reached by its neighbours over them.
fn on_wires(agent: Agent, lab: Option<&Lab>, node: &Node) -> Result<Agent, String> {
    let (Some(lab), Some(first)) = (lab, agent.addresses.first()) else { return Ok(agent) };
    let name = node.name.strip_prefix(LAB_PREFIX).unwrap_or(&node.name);
    let rails = lab.rails(name).map_err(|error| error.to_string())?;
    let port = first.port();
    let addresses = rails.into_iter().map(|rail| SocketAddr::new(rail.into(), port)).collect();
    Ok(Agent { addresses, ..agent })
}
