//! The account of a run: reads counters before and after it, and makes its result.

use garland_core::farm::{Engine, Record};
use garland_fleet::inventory::is_local;
use garland_fleet::launch::lab;
use garland_lab::Lab;
use garland_results::head::{Head, Phases};
use garland_sys::{clock, process};
use garland_terminal::failure::Failure;
use garland_topology::Inventory as Parts;

use super::driver::{Ending, Work};
use crate::args::{EngineName, word};
use crate::result::{
    FarmResult, Farmed, NodeAccount, OneMachine, RunConditions, SCHEMA, Traffic, Unit,
};

/// The counters before the first job, and the user's options for the result.
pub struct Account {
    lab: Option<Lab>,
    /// This machine's name in records.
    own: String,
    before: Traffic,
    unit: Unit,
    one: Option<OneMachine>,
    price: Option<f64>,
}

impl Account {
    /// Reads the counters, and the result of the base run if the user names one. Fails if the price
    /// or the base run is not valid.
    pub fn open(work: &Work<'_>) -> Result<Self, Failure> {
        let asked = &work.asked.account;
        if asked.price.is_some_and(|price| !(price.is_finite() && price >= 0.0)) {
            return Err(Failure::usage("--price must be a number that is not negative"));
        }
        let nodes = match &work.settings.nodes {
            Some(list) => work.inventory.nodes(list)?,
            None => Vec::new(),
        };
        let lab = lab::find(&nodes, work.places, work.asked.launch.lab())?;
        let own = process::host_name();
        let one =
            asked.base.as_deref().map(|base| FarmResult::find(work.places, base)?.as_one_machine());
        let one = one.transpose()?;
        let of_lab = || {
            let parts = Parts::count(&lab.as_ref()?.spec().topology).price();
            (parts.0 > 0).then_some(parts.0 as f64 / 100.0)
        };
        Ok(Self {
            before: Traffic::now(lab.as_ref(), &own),
            unit: asked.unit.clone().unwrap_or_default(),
            one,
            price: asked.price.or_else(of_lab),
            lab,
            own,
        })
    }

    /// Reads the counters again, and makes the result of the run.
    pub fn close(
        self,
        work: &Work<'_>,
        phases: Phases,
        ending: Ending,
        records: Vec<Record>,
    ) -> Result<FarmResult, Failure> {
        let after = Traffic::now(self.lab.as_ref(), &self.own);
        let interrupted = ending.interrupted;
        let mut members = all_members(ending.nodes, &records);
        for member in &mut members {
            member.nics = after.since(&self.before, &member.name);
        }
        if self.lab.is_some() || members.iter().all(|member| is_local(&member.name)) {
            share_machine(&mut members);
        }
        let settings = work.settings;
        let is_ours = matches!(settings.engine, EngineName::Local | EngineName::Agents);
        let how = RunConditions {
            engine: engine(settings.engine),
            placement: is_ours.then(|| word(settings.placement)),
            data: settings.data,
            at_once: settings.all_at_once,
            network: self.lab.as_ref().map(|lab| lab.spec().topology.name.clone()),
            price: self.price,
            unit: self.unit,
            one: self.one,
        };
        let ends = records.iter().filter_map(|record| record.staged_out.or(record.ended));
        let last = ends.fold(0.0, f64::max);
        // Jobs that an interrupt ended have no records, but they took the time until then.
        let now = clock::now_ns().saturating_sub(work.began_ns) as f64 / 1e9;
        let seconds = if interrupted { last.max(now) } else { last };
        let farmed = Farmed { how, members, records, jobs: settings.jobs, seconds, interrupted };
        Ok(FarmResult::new(Head::new(SCHEMA, Some(work.run), phases), farmed))
    }
}

/// Returns the nodes of the engine, followed by other nodes that occur in records: a run that was
/// resumed may have had other nodes before.
fn all_members(mut members: Vec<NodeAccount>, records: &[Record]) -> Vec<NodeAccount> {
    for name in records.iter().filter_map(|record| record.node.as_deref()) {
        if members.iter().all(|known| known.name != name) {
            members.push(NodeAccount::new(name, 0));
        }
    }
    for member in members.iter_mut().filter(|member| member.slots == 0) {
        member.slots = most_at_once(records, &member.name);
    }
    members
}

/// Returns the maximum number of jobs that ran on a node at the same time, but at least 1, as an
/// estimate of the node's slots.
fn most_at_once(records: &[Record], node: &str) -> u32 {
    let own = records.iter().filter(|record| record.node.as_deref() == Some(node));
    let times = own.filter_map(|record| Some((record.started?, record.ended?)));
    // At equal times an end sorts before a start.
    let mut turns: Vec<(f64, i64)> =
        times.flat_map(|(started, ended)| [(started, 1), (ended, -1)]).collect();
    turns.sort_by(|one, two| one.0.total_cmp(&two.0).then(one.1.cmp(&two.1)));
    let running = turns.iter().scan(0, |running, (_, turn)| {
        *running += turn;
        Some(*running)
    });
    u32::try_from(running.max().unwrap_or(1)).unwrap_or(1).max(1)
}

/// Scales down the shares of nodes which are all processes of this machine, so that the nodes
/// together have no more cores than the machine.
fn share_machine(members: &mut [NodeAccount]) {
    let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    let all: f64 = members.iter().map(|one| f64::from(one.slots) * one.share).sum();
    if all > cpus {
        members.iter_mut().for_each(|one| one.share *= cpus / all);
    }
}

fn engine(name: EngineName) -> Engine {
    match name {
        EngineName::Local => Engine::Local,
        EngineName::Agents => Engine::Agents,
        EngineName::Slurm => Engine::Slurm,
    }
}
