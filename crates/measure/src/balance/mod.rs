//! `garland balance`: all pairs of nodes copy at once, a growing number of them over the network.

mod notes;
mod point;
mod request;
mod result;
mod series;
mod table;
mod took;
mod words;

use garland_control::{Exchange, Session};
use garland_fleet::context::Context;
use garland_fleet::destination::{NodesAndPath, nodes_with_path};
use garland_fleet::inventory::Inventory;
use garland_results::head::{Phases, tell};
use garland_sys::clock;
use garland_sys::processors::Processors;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::screen::Screen;

use self::request::BalanceRequest;
use self::result::BalanceResult;
use self::series::Series;
use crate::args::Balance;
use crate::gather::{Gathered, Talk, end_agents, gather};

/// Runs `garland balance`: measures a growing number of remote copies, and prints whether disks or
/// the network limit them.
pub fn run(context: &Context, balance: &Balance) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let inventory = Inventory::open(context)?;
    let NodesAndPath { nodes, path } = nodes_with_path(&inventory, &balance.target)?;
    let request = BalanceRequest::read(balance, path, nodes.len())?;
    let launch = &balance.launch;
    let beside = Talk::BesideWires;
    let gathered = gather("balance", &nodes, &inventory, launch, context.json, beside, phases)?;
    let Gathered { mut phases, interrupts, lab, run, fleet } = gathered;
    let mptcp = launch.speaks_mptcp(lab.as_ref(), 1);
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let session = Session::new(fleet.agents, Some(&interrupts));
    let absent = session.closed().to_vec();
    let exchange = Exchange::new(names.clone(), session);
    let mut series = Series::new(&request, names, exchange, absent, mptcp);
    let mut screen = Screen::new(context.json);
    let since = Processors::now();
    let measured = series.stock().and_then(|()| {
        phases.end("files");
        series.measure(&mut |line| screen.draw(clock::now_ns(), &[line]))
    });
    screen.clear();
    measured.or_nothing("cannot measure with the agents")?;
    let cpu = since.busy_since();
    phases.end("rounds");
    let findings = series.into_findings();
    end_agents(fleet.children, findings.interrupted, &mut phases);
    let mut result = BalanceResult::new(&run, phases, &request, &findings, cpu);
    result.notes = notes::of(&result, &request, lab.as_ref());
    tell(&run, context.json, &result)?;
    Ok(result.exit())
}
