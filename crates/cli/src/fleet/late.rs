//! Nodes that couldn't be had when their command began: tried again while it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use garland_core::cluster::Node;
use garland_core::plan::NodeId;
use garland_node::{Agent, CopyJob, Outcome, Progress, run_copy};
use garland_sys::clock;

use super::{Children, Fleet, Muster};
use crate::failure::{Failure, OrFailure};
use crate::launch::{LaunchedChild, Will};
use crate::standing::Shelf;

/// They are tried again after this time, and then after twice as long each time.
const FIRST: Duration = Duration::from_secs(2);

impl Fleet {
    /// The places of the nodes without an agent.
    fn missing(&self) -> Vec<usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter(|(_, agent)| agent.is_err()).map(|(place, _)| place).collect()
    }
}

impl Children {
    /// Takes in what late agents hang on, by their nodes' places.
    fn take_in(&mut self, late: Vec<(Option<usize>, LaunchedChild)>) {
        for (place, child) in late {
            match place.and_then(|place| self.0.get_mut(place)) {
                Some(seat) => *seat = Some(child),
                None => self.0.push(Some(child)),
            }
        }
    }
}

impl Muster<'_> {
    /// Makes a copy to the nodes of a fleet; those that it lacks are tried again meanwhile. Gives what
    /// the agents hang on, too.
    ///
    /// # Errors
    /// When the copy can't be made at all, or the controller's own state can't be read.
    pub fn copy(
        &self,
        job: CopyJob<'_>,
        fleet: Fleet,
        observe: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(Outcome, Children), Failure> {
        // Stripes are nothing without one of their servers, and of a stream what has gone by is gone.
        let none_late = job.policy.together || job.plan.layout.open;
        let missing = if none_late { Vec::new() } else { fleet.missing() };
        let Fleet { agents, mut children } = fleet;
        let (came, late) = channel();
        let job = CopyJob { late: Some(late), ..job };
        let over = Arc::new(AtomicBool::new(false));
        let (copied, late) = std::thread::scope(|scope| {
            let trying = scope.spawn(|| self.try_again(missing, &over, &came));
            let copied = run_copy(&job, agents, self.interrupts.as_deref(), observe);
            over.store(true, Ordering::Relaxed);
            (copied, trying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        children.take_in(late?);
        Ok((copied.or_nothing("copying")?, children))
    }

    /// Tries the nodes at these places again until all are there or it is `over`; tells of those that
    /// come, and gives what they hang on.
    ///
    /// # Errors
    /// When the controller's own state can't be read.
    fn try_again(
        &self,
        mut missing: Vec<usize>,
        over: &Arc<AtomicBool>,
        came: &Sender<(NodeId, Agent)>,
    ) -> Result<Vec<(Option<usize>, LaunchedChild)>, Failure> {
        let will = Will::until(self.interrupts.clone()).unless(over);
        let mut children = Vec::new();
        let mut pause = FIRST;
        while !missing.is_empty() && rest(pause, &will) {
            pause *= 2;
            let nodes: Vec<Node> = missing.iter().map(|&at| self.nodes[at].clone()).collect();
            let shelf = Shelf::open(self.places, self.lab.map(garland_lab::Lab::name))?;
            let (results, child) = self.recruit(&nodes, &will, &shelf, &AtomicUsize::new(0))?;
            children.extend(child.map(|child| (None, child)));
            let tried = std::mem::take(&mut missing);
            for (place, result) in tried.into_iter().zip(results) {
                let Ok((agent, child)) = result else {
                    missing.push(place);
                    continue;
                };
                children.extend(child.map(|child| (Some(place), child)));
                let id = NodeId(u32::try_from(place + 1).unwrap_or(u32::MAX));
                // The copy may be over.
                let _ = came.send((id, agent));
            }
        }
        Ok(children)
    }
}

/// Waits that long; says whether the agents are still wanted then.
fn rest(pause: Duration, will: &Will) -> bool {
    let until = clock::now_ns() + u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX >> 1);
    while clock::now_ns() < until && !will.is_over() {
        std::thread::sleep(Will::LOOK.min(clock::until(until)));
    }
    !will.is_over()
}
