//! The simulated Io: drivers in virtual time, with networks and disks that fail. Equal seeds give
//! equal runs.

mod disk;
mod faults;
mod kernel;
mod network;

use std::collections::BTreeMap;

use garland_core::splitmix::SplitMix;

pub use self::disk::Disk;
pub use self::faults::{Fault, Faults};
use self::kernel::{Kernel, Next};
use crate::io::{Completion, Driver, Output, Submission, Wait};

/// A driver on a simulated machine, whatever its tags are.
trait Process {
    fn step(
        &mut self,
        now: u64,
        done: Vec<(u64, Output)>,
        todo: &mut Vec<(u64, crate::io::Operation)>,
    ) -> Wait;
}

/// A driver, and the tags of its submissions by their numbers.
struct Hosted<'a, D: Driver> {
    driver: &'a mut D,
    tags: BTreeMap<u64, D::Tag>,
    serial: u64,
}

impl<D: Driver> Process for Hosted<'_, D> {
    fn step(
        &mut self,
        now: u64,
        done: Vec<(u64, Output)>,
        todo: &mut Vec<(u64, crate::io::Operation)>,
    ) -> Wait {
        let tagged = |(serial, output)| {
            let tag = self.tags.remove(&serial).expect("a call completes once");
            Completion { tag, output }
        };
        let mut done = done.into_iter().map(tagged).collect();
        let mut submissions = Vec::new();
        let wait = self.driver.step(now, &mut done, &mut submissions);
        for Submission { tag, call } in submissions {
            self.serial += 1;
            if !matches!(call, crate::io::Operation::Close(_)) {
                self.tags.insert(self.serial, tag);
            }
            todo.push((self.serial, call));
        }
        wait
    }
}

/// The end of a machine in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its driver ended.
    Over,
    /// The machine crashed.
    Crashed,
    /// Its driver still waits at the end of the run: it hangs.
    Hangs,
}

/// The virtual time after which a run counts as stuck, in nanoseconds.
const LIMIT_NS: u64 = 120_000_000_000;

/// The number of steps after which a run counts as stuck: a driver whose timer is always due.
const STEPS_MAX: u64 = 100_000;

/// What is left of a run.
#[derive(Debug)]
pub struct Run {
    /// The ends of the head and the node.
    pub endings: [Ending; 2],
    /// The disks of the head and the node, after a crash as they are after a restart.
    pub disks: [Disk; 2],
    /// The virtual time at the end in nanoseconds.
    pub elapsed_ns: u64,
    /// The number of steps of both drivers.
    pub steps: u64,
    /// The faults that happened.
    pub happened: Vec<Fault>,
}

/// Runs a head and a node, on these disks, until both have ended.
pub fn run<H: Driver, N: Driver>(
    head: &mut H,
    node: &mut N,
    disks: [Disk; 2],
    faults: Faults,
    seed: u64,
) -> Run {
    let mut kernel = Kernel::new(disks, faults, SplitMix(seed));
    let mut head = Hosted { driver: head, tags: BTreeMap::new(), serial: 0 };
    let mut node = Hosted { driver: node, tags: BTreeMap::new(), serial: 0 };
    let processes: [&mut dyn Process; 2] = [&mut head, &mut node];
    let mut endings = [Ending::Hangs; 2];
    let mut steps = 0;
    let mut todo = Vec::new();
    while let Some(next) = kernel.next() {
        if kernel.now() > LIMIT_NS
            || steps > STEPS_MAX
            || endings.iter().all(|ending| *ending != Ending::Hangs)
        {
            break;
        }
        let Next::Step(side, done) = next else { continue };
        if endings[side] != Ending::Hangs {
            continue;
        }
        steps += 1;
        let wait = processes[side].step(kernel.now(), done, &mut todo);
        let crash = kernel.crashes(side);
        if let Some(loud) = crash {
            // What the step has just submitted is lost, or not.
            let kept = kernel.below(todo.len() + 1);
            todo.drain(..kept).for_each(|(serial, call)| kernel.submit(side, serial, call));
            kernel.crash(side, loud);
            endings[side] = Ending::Crashed;
        } else {
            todo.drain(..).for_each(|(serial, call)| kernel.submit(side, serial, call));
            match wait {
                Wait::Over => {
                    kernel.exit(side);
                    endings[side] = Ending::Over;
                }
                Wait::Until(at) => kernel.wake_at(side, at),
            }
        }
        todo.clear();
    }
    let elapsed_ns = kernel.now();
    let (disks, happened) = kernel.into_disks();
    Run { endings, disks, elapsed_ns, steps, happened }
}
