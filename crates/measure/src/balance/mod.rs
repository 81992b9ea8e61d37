//! `garland balance`: all pairs of nodes copy at once, a growing number of them over the network.

mod ask;
mod notes;
mod point;
mod result;
mod series;
mod table;
mod took;
mod words;

use garland_control::{Agent, Exchange};
use garland_core::cluster::Node;
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::processors::Processors;

use self::ask::BalanceRequest;
use self::result::BalanceResult;
use self::series::Series;
use crate::args::Balance;
use crate::gather::{Gathered, Talk, gather};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::head::{Phases, tell};
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::screen::Screen;

/// Runs `garland balance`: measures whether disks or the network limit a growing number of remote copies.
pub fn run(context: &Context, balance: &Balance) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let inventory = Inventory::open(context)?;
    let (nodes, path) = crate::disk::place(&inventory, &balance.target)?;
    let asked = BalanceRequest::read(balance, path, nodes.len())?;
    let (launch, beside) = (&balance.launch, Talk::BesideWires);
    let gathered = gather("balance", &nodes, &inventory, launch, context.json, beside, phases)?;
    let Gathered { mut phases, interrupts, lab, run, fleet } = gathered;
    let transport = Transport::mptcp_if(launch.speaks_mptcp(lab.as_ref(), 1));
    let mut series = series_of(&asked, &nodes, fleet.agents, transport);
    let mut screen = Screen::new(context.json);
    let since = Processors::now();
    let measured = series.stock(&interrupts).and_then(|()| {
        phases.end("files");
        series.measure(&interrupts, &mut |line| screen.draw(clock::now_ns(), &[line]))
    });
    screen.clear();
    measured.or_nothing("failed to measure")?;
    let cpu = since.busy_since();
    phases.end("rounds");
    let (findings, exchange) = series.into_findings();
    let patience = if findings.interrupted { HURRY } else { FAREWELL };
    // Agents exit when their channels close; their unnamed files go with them.
    drop(exchange);
    fleet.children.end(patience, |_| false);
    phases.end("teardown");
    let mut result = BalanceResult::new(&run, phases, &asked, &findings, cpu);
    result.notes = notes::of(&result, &asked, lab.as_ref());
    tell(&run, context.json, &result)?;
    Ok(result.exit())
}

fn series_of<'a>(
    asked: &'a BalanceRequest,
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
