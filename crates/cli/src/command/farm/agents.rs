//! The embedded engine: agents on the nodes, or one on this machine, which are handed jobs as they get
//! free.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use garland_core::cluster::Node;
use garland_core::farm::dispatch::Rules;
use garland_core::farm::placement::{Mosix, Pull, Turns};
use garland_core::farm::{Engine, Job, Placement, Record, Text};
use garland_node::{Agent, Carrier, FarmNews, FarmWork, run_farm};
use garland_sys::process;

use super::driver::{Driver, Ending, NodeWas, Work};
use super::ledger::Ledger;
use super::settings::Settings;
use super::stage::{Stage, bytes_of_inputs};
use super::task::Where;
use super::window::{Server, files_in};
use crate::args::{DataName, PlacementName};
use crate::failure::{Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY};

/// The node that the engine `local` has: an agent whose folder is the user's own.
const HERE: &str = "local1";

/// Jobs on agents.
pub struct Agents {
    engine: Engine,
}

impl Agents {
    /// On the nodes that the user has named.
    pub const NODES: Self = Self { engine: Engine::Agents };
    /// On this machine.
    pub const HERE: Self = Self { engine: Engine::Local };
}

impl Driver for Agents {
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure> {
        let Work { settings, places, asked, interrupts, .. } = work;
        let here = self.engine == Engine::Local;
        let nodes = match &settings.nodes {
            Some(list) if !here => work.inventory.nodes(list)?,
            _ => vec![Node::named(HERE)],
        };
        let lab = asked.launch.enter_lab(&nodes, places)?;
        let muster = Muster {
            interrupts: Some(Arc::clone(interrupts)),
            quiet: asked.quiet || work.args.json,
            here: here.then(|| settings.folder.clone()),
            ..Muster::new(&nodes, work.inventory, places, &asked.launch, work.run, lab.as_ref())
        };
        let fleet = muster.assemble()?;
        if fleet.agents.iter().all(Result::is_err) {
            let first = fleet.agents.iter().find_map(|agent| agent.as_ref().err());
            let reason = first.cloned().unwrap_or_else(|| "there are no nodes".to_owned());
            return Err(Failure::nothing(format!(
                "no node can be had: {}: {reason}",
                nodes[0].name
            )));
        }
        let names: Vec<String> = match here {
            true => vec![process::host_name()],
            false => nodes.iter().map(|node| node.name.clone()).collect(),
        };
        let folder = Text::from(format!(".garland-{}", work.run.name()).as_str());
        let disk = lab.as_ref().and_then(|lab| lab.disk(lab.head()).ok().flatten());
        let stage = (settings.data == DataName::Stage).then(|| {
            let keys = places.controller_keys()?;
            Ok(Stage::new(keys, &fleet.agents, &names, &folder, &settings.folder, disk))
        });
        let stage = stage.transpose()?;
        let server = (settings.data == DataName::Mount).then(|| Server::start(work)).transpose()?;
        let windows = Text([folder.bytes(), b"-files"].concat());
        let opening = |agent: &Result<Agent, String>| {
            server.as_ref()?.opening(agent.as_ref().ok()?, &windows)
        };
        let openings = fleet.agents.iter().map(opening).collect();
        let place = match settings.data {
            DataName::There => Where::There,
            DataName::Stage => Where::Inside,
            DataName::Mount => {
                let here = Text::from(settings.folder.as_os_str().as_bytes());
                Where::Under(files_in(&windows), here)
            }
        };
        let sizes = self.sizes(settings, &jobs);
        let farm = FarmWork {
            jobs,
            names: names.clone(),
            rules: Rules {
                tries: settings.tries,
                at_once: settings.all_at_once,
                staged: settings.data == DataName::Stage,
                engine: self.engine,
            },
            placement: placement(settings.placement),
            slots: settings.slots,
            folder,
            task: &|job, tries| place.task(job, tries),
            carrier: stage.as_ref().map(|stage| stage as &dyn Carrier),
            openings,
            began_ns: work.began_ns,
        };
        let mut wrong = None;
        let ended = run_farm(farm, fleet.agents, Some(interrupts), &mut |news| match news {
            FarmNews::Over(record) => match sizes.get(&record.job) {
                Some(&bytes_in) => ledger.note(&Record { bytes_in, ..record.clone() }),
                None => ledger.note(record),
            },
            FarmNews::Said(job, said) => ledger.said(job, said),
            FarmNews::Lost(node, reason) => eprintln!("lost    {}: {reason}", names[node]),
            FarmNews::Turn(open) => {
                if let Err(failure) = ledger.commit(open) {
                    wrong.get_or_insert(failure);
                }
            }
        });
        let ended = ended.or_nothing("running jobs")?;
        let silent = |at: usize| ended.nodes.get(at).is_some_and(|node| node.gone.is_some());
        fleet.children.end(if ended.interrupted { HURRY } else { FAREWELL }, silent);
        if let Some(server) = server {
            server.end();
        }
        if let Some(failure) = wrong {
            return Err(failure);
        }
        let was = |(name, node): (&String, &garland_node::FarmNode)| NodeWas {
            name: name.clone(),
            cores: settings.slots.or(node.facts.map(|facts| facts.cores)),
            memory: node.facts.map(|facts| facts.memory).filter(|&memory| memory > 0),
            mhz: node.facts.and_then(|facts| facts.mhz),
            share: node
                .facts
                .map_or(1.0, |facts| facts.share_of(settings.slots.unwrap_or(facts.cores))),
            gone: node.gone.clone(),
        };
        let nodes = names.iter().zip(&ended.nodes).map(was).collect();
        Ok(Ending { nodes, interrupted: ended.interrupted })
    }
}

impl Agents {
    /// Bytes of jobs' inputs, by their numbers, where nobody brings these and this machine has them.
    fn sizes(&self, settings: &Settings, jobs: &[Job]) -> HashMap<u32, u64> {
        let has_them = self.engine == Engine::Local || settings.data == DataName::Mount;
        let jobs = jobs.iter().filter(|job| has_them && !job.inputs.is_empty());
        jobs.map(|job| (job.number, bytes_of_inputs(job, &settings.folder))).collect()
    }
}

fn placement(name: PlacementName) -> Box<dyn Placement> {
    match name {
        PlacementName::Pull => Box::new(Pull),
        PlacementName::Turns => Box::new(Turns::default()),
        // Whom nodes tell first makes no difference to anybody; a run can be repeated.
        PlacementName::Mosix => Box::new(Mosix::new(1)),
    }
}
