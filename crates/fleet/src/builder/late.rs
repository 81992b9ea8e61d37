//! Nodes that come while their command goes on: those that couldn't be had when it began are tried
//! again, and others join.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use garland_control::{CopyJob, Newcomer, Outcome, Progress, run_copy};
use garland_core::cluster::Node;
use garland_core::plan::NodeId;
use garland_sys::event::{self, Wake};
use garland_sys::{clock, threads};

use super::{Children, Enlisted, Fleet, FleetBuilder};
use crate::inventory::LAB_PREFIX;
use crate::join_listener::{Answer, JoinListener};
use crate::launch::{LaunchedChild, Will};
use crate::standing::Shelf;
use garland_terminal::failure::{Failure, OrFailure};

/// Nodes are tried again after this time, and then after twice as long each time.
const FIRST: Duration = Duration::from_secs(2);

/// What a late agent hangs on, and its node's place, if the fleet has one for it.
type LateChild = (Option<usize>, LaunchedChild);

impl Fleet {
    /// The places of the nodes without an agent.
    fn missing(&self) -> Vec<usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter(|(_, agent)| agent.is_err()).map(|(place, _)| place).collect()
    }
}

impl Children {
    /// Takes in what late agents hang on.
    fn take_in(&mut self, late: Vec<LateChild>) {
        for (place, child) in late {
            match place.and_then(|place| self.0.get_mut(place)) {
                Some(seat) => *seat = Some(child),
                None => self.0.push(Some(child)),
            }
        }
    }
}

impl FleetBuilder<'_> {
    /// Makes a copy to the nodes of a fleet; those that it lacks are tried again meanwhile, and others
    /// may join by the `door`. Gives what the agents hang on, too.
    ///
    /// # Errors
    /// When the copy can't be made at all, or the controller's own state can't be read.
    pub fn copy(
        &self,
        job: CopyJob<'_>,
        fleet: Fleet,
        door: Option<&mut JoinListener>,
        observe: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(Outcome, Children), Failure> {
        let missing = if job.takes_latecomers() { fleet.missing() } else { Vec::new() };
        let Fleet { agents, mut children } = fleet;
        let (came, late) = channel();
        let job = CopyJob { late: Some(late), ..job };
        let over = Arc::new(AtomicBool::new(false));
        let ended = Wake::new().or_nothing("copying")?;
        let usher = Usher {
            muster: self,
            came,
            will: Will::until(self.interrupts.clone()).unless(&over),
            ended: &ended,
            joined: Vec::new(),
            children: Vec::new(),
        };
        let (copied, late) = std::thread::scope(|scope| {
            let ushering = threads::spawn_in(scope, "usher", || usher.usher(missing, door));
            let ushering = ushering.or_nothing("waiting for nodes that come late")?;
            let copied = run_copy(&job, agents, self.interrupts.as_deref(), observe);
            over.store(true, Ordering::Relaxed);
            ended.raise();
            let late = ushering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, Failure>((copied, late))
        })?;
        children.take_in(late?);
        Ok((copied.or_nothing("copying")?, children))
    }
}

/// Brings nodes to a copy that goes on.
struct Usher<'a> {
    muster: &'a FleetBuilder<'a>,
    /// Where they are told of.
    came: Sender<Newcomer>,
    will: Will,
    /// Raised when the copy is over.
    ended: &'a Wake,
    /// The names of those that joined.
    joined: Vec<String>,
    children: Vec<LateChild>,
}

impl Usher<'_> {
    /// Tries the nodes at these places again, and opens the door to others, until the copy is over.
    /// Gives what their agents hang on.
    ///
    /// # Errors
    /// When the controller's own state can't be read.
    fn usher(
        mut self,
        mut missing: Vec<usize>,
        mut door: Option<&mut JoinListener>,
    ) -> Result<Vec<LateChild>, Failure> {
        let mut pause = FIRST;
        let mut next_ns = after(pause);
        while !self.will.is_over() && (door.is_some() || !missing.is_empty()) {
            let limit = (!missing.is_empty()).then(|| clock::until(next_ns));
            self.wait(door.as_deref(), limit);
            for knock in door.iter_mut().flat_map(|door| door.knocks()) {
                match self.admitted(&knock.list) {
                    Ok(nodes) => {
                        let names = nodes.iter().map(|node| node.name.clone()).collect();
                        knock.answer(&Answer::Joining(names));
                        self.fetch(nodes)?;
                    }
                    Err(reason) => knock.answer(&Answer::Refused(reason)),
                }
            }
            if !missing.is_empty() && clock::until(next_ns).is_zero() {
                missing = self.try_again(missing)?;
                pause *= 2;
                next_ns = after(pause);
            }
        }
        Ok(self.children)
    }

    /// Waits until the copy is over, somebody may have come to the door, or `limit` is over.
    fn wait(&self, door: Option<&JoinListener>, limit: Option<Duration>) {
        match door {
            Some(door) => door.wait(self.ended.as_fd(), limit),
            None if event::wait_readable(&[self.ended.as_fd()], limit).is_ok() => {}
            // Without memory to wait with.
            None => std::thread::sleep(limit.unwrap_or(FIRST).min(FIRST)),
        }
    }

    /// Tries these places' nodes again; gives those that still can't be had.
    fn try_again(&mut self, missing: Vec<usize>) -> Result<Vec<usize>, Failure> {
        let nodes: Vec<Node> = missing.iter().map(|&at| self.muster.nodes[at].clone()).collect();
        let results = self.recruit(&nodes)?;
        let mut lacking = Vec::new();
        for (place, result) in missing.into_iter().zip(results) {
            let Ok((agent, child)) = result else {
                lacking.push(place);
                continue;
            };
            self.children.extend(child.map(|child| (Some(place), child)));
            let id = NodeId(u32::try_from(place + 1).unwrap_or(u32::MAX));
            // The copy may be over.
            let _ = self.came.send(Newcomer::Late(id, agent));
        }
        Ok(lacking)
    }

    /// The nodes of a list that may join.
    fn admitted(&self, list: &str) -> Result<Vec<Node>, String> {
        let inventory = self.muster.inventory.ok_or("nobody can join this copy")?;
        let nodes = inventory.nodes(list).map_err(|failure| failure.message().to_owned())?;
        let planned = self.muster.nodes.iter().map(|node| &node.name);
        let known: Vec<&String> = planned.chain(&self.joined).collect();
        for node in &nodes {
            if known.contains(&&node.name) {
                return Err(format!("{} takes part already", node.name));
            }
            if node.name.starts_with(LAB_PREFIX) != self.muster.lab.is_some() {
                return Err(format!(
                    "{}: a lab's nodes and others can't be in one copy",
                    node.name
                ));
            }
        }
        Ok(nodes)
    }

    /// Fetches nodes that join.
    fn fetch(&mut self, nodes: Vec<Node>) -> Result<(), Failure> {
        let results = self.recruit(&nodes)?;
        for (node, result) in nodes.into_iter().zip(results) {
            let agent = result.map(|(agent, child)| {
                self.children.extend(child.map(|child| (None, child)));
                agent
            });
            self.joined.push(node.name.clone());
            // The copy may be over.
            let _ = self.came.send(Newcomer::Joins(node.name, agent));
        }
        Ok(())
    }

    fn recruit(&mut self, nodes: &[Node]) -> Result<Vec<Enlisted>, Failure> {
        let muster = self.muster;
        let shelf = Shelf::open(muster.places, muster.lab.map(garland_lab::Lab::name))?;
        let (results, child) = muster.recruit(nodes, &self.will, &shelf, &AtomicUsize::new(0))?;
        self.children.extend(child.map(|child| (None, child)));
        Ok(results)
    }
}

/// So long from now, by the monotonic clock.
fn after(pause: Duration) -> u64 {
    clock::now_ns() + u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX >> 1)
}
