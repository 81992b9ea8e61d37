//! Simulates a farm: machines pull jobs, each of which is staged in, computed and staged out.

use std::collections::VecDeque;

use super::fluid::Fluid;
use super::network::{Network, Use};

/// A job to simulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The size of the job's input in bytes.
    pub bytes_in: f64,
    /// The computing time of the job on a machine of speed 1, in seconds.
    pub seconds: f64,
    /// The size of the job's output in bytes.
    pub bytes_out: f64,
}

/// When jobs read and write their files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Files {
    /// Input is transferred before a job computes, and output after it.
    Staged,
    /// As [`Files::Staged`], and computing uses these resources per second of it: what machines
    /// share, such as the processors of the machine that emulates them, and the machine's own
    /// slots.
    Sharing([Use; 2]),
    /// Jobs read and write while they compute; the slower of both determines the duration. The jobs
    /// share this CPU, a resource whose rate is in seconds of work per second.
    Meanwhile(Use),
}

/// A machine of the farm.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The speed of the machine; jobs give their computing time for speed 1.
    pub speed: f64,
    /// The number of jobs that the machine runs at the same time.
    pub slots: u32,
    /// The use of the resources per byte of input.
    pub stage_in: Vec<Use>,
    /// The use of the resources per byte of output.
    pub stage_out: Vec<Use>,
    /// When the machine's jobs read and write their files.
    pub files: Files,
    /// The time at which the machine starts to pull jobs, in seconds.
    pub joins: f64,
    /// The time at which the machine dies with all its jobs, in seconds; `None` if it never dies.
    pub dies: Option<f64>,
}

/// The input of a simulated farm.
#[derive(Clone, Debug)]
pub struct Farm<'a> {
    /// The jobs, in the order in which they are pulled.
    pub jobs: &'a [Job],
    /// The machines, in the order in which they pull. Each machine pulls one job before any machine
    /// pulls a second.
    pub machines: &'a [Machine],
    /// The resources that the machines share.
    pub network: &'a Network,
}

/// The times of a completed job, in seconds since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// The index of the job.
    pub job: usize,
    /// The index of the machine that completed the job.
    pub machine: usize,
    /// The time at which the job was pulled.
    pub pulled: f64,
    /// The time at which the transfer of the input was complete.
    pub started: f64,
    /// The time at which computing was complete.
    pub ended: f64,
    /// The time at which the transfer of the output was complete.
    pub staged_out: f64,
}

impl Machine {
    /// Returns the use of all resources by a whole job that reads, computes and writes at the same
    /// time. A second of its work takes `weight` of the resource `processor`.
    fn at_once(&self, job: &Job, processor: usize, weight: f64) -> Vec<Use> {
        let mut uses = vec![(processor, weight * job.seconds / self.speed)];
        for (bytes, ways) in [(job.bytes_in, &self.stage_in), (job.bytes_out, &self.stage_out)] {
            for &(place, weight) in ways {
                match uses.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, sum)) => *sum += weight * bytes,
                    None => uses.push((place, weight * bytes)),
                }
            }
        }
        uses.retain(|(_, weight)| *weight > 0.0);
        uses
    }
}

/// The result of a simulated farm.
#[derive(Clone, Debug, PartialEq)]
pub struct FarmRun {
    /// The completed jobs, in the order of completion.
    pub ran: Vec<Ran>,
    /// The time at which the last output had been transferred, in seconds.
    pub seconds: f64,
    /// The name of each resource and the share of the time for which it was busy, 0 to 1, the
    /// busiest first.
    pub busy: Vec<(String, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Free,
    In,
    Computing,
    Out,
    /// Input, computing and output at the same time.
    All,
    Gone,
}

/// A slot of a machine, with the state of its job.
#[derive(Clone, Copy, Debug)]
struct Slot {
    machine: usize,
    stage: Stage,
    ran: Ran,
}

/// Simulates a farm. Jobs remain undone if all machines have died.
#[must_use]
pub fn farm(farm: &Farm<'_>) -> FarmRun {
    let mut play = Play::new(farm);
    while play.step() {}
    let seconds = play.ran.iter().map(|ran| ran.staged_out).fold(0.0, f64::max);
    FarmRun { busy: play.fluid.busy(seconds), ran: play.ran, seconds }
}

struct Play<'a> {
    farm: &'a Farm<'a>,
    fluid: Fluid<'a>,
    waiting: VecDeque<usize>,
    slots: Vec<Slot>,
    /// The times at which machines join and die, in descending order, so that the next one is last.
    moments: Vec<f64>,
    ran: Vec<Ran>,
}

impl<'a> Play<'a> {
    fn new(farm: &'a Farm<'a>) -> Self {
        let none =
            Ran { job: 0, machine: 0, pulled: 0.0, started: 0.0, ended: 0.0, staged_out: 0.0 };
        let most = farm.machines.iter().map(|machine| machine.slots).max().unwrap_or(0);
        // Each machine gets one job before any machine gets a second one.
        let slots = (0..most).flat_map(|round| {
            let has = farm.machines.iter().enumerate().filter(move |(_, m)| m.slots > round);
            has.map(move |(machine, _)| Slot { machine, stage: Stage::Free, ran: none })
        });
        let times = farm.machines.iter().flat_map(|machine| {
            machine.dies.into_iter().chain((machine.joins > 0.0).then_some(machine.joins))
        });
        let mut moments: Vec<f64> = times.collect();
        moments.sort_by(|a, b| b.total_cmp(a));
        Self {
            farm,
            fluid: Fluid::new(farm.network),
            waiting: (0..farm.jobs.len()).collect(),
            slots: slots.collect(),
            moments,
            ran: Vec::with_capacity(farm.jobs.len()),
        }
    }

    /// Advances to the next event; returns false if there is none.
    fn step(&mut self) -> bool {
        self.bury();
        self.pull();
        if self.ran.len() == self.farm.jobs.len() {
            return false;
        }
        while self.moments.last().is_some_and(|moment| *moment <= self.fluid.now) {
            self.moments.pop();
        }
        let Some(ended) = self.fluid.next(self.moments.last().copied()) else { return false };
        ended.into_iter().for_each(|slot| self.go_on(slot));
        true
    }

    /// Removes dead machines; their jobs are pulled again before all others.
    fn bury(&mut self) {
        for place in 0..self.slots.len() {
            let slot = self.slots[place];
            let dead = self.farm.machines[slot.machine].dies.is_some_and(|at| at <= self.fluid.now);
            if !dead || slot.stage == Stage::Gone {
                continue;
            }
            if slot.stage != Stage::Free {
                self.fluid.stop(place);
                self.waiting.push_front(slot.ran.job);
            }
            self.slots[place].stage = Stage::Gone;
        }
    }

    fn pull(&mut self) {
        for place in 0..self.slots.len() {
            let slot = &mut self.slots[place];
            let machine = &self.farm.machines[slot.machine];
            let speed = machine.speed > 0.0;
            if slot.stage != Stage::Free || machine.joins > self.fluid.now || !speed {
                continue;
            }
            let Some(job) = self.waiting.pop_front() else { return };
            let now = self.fluid.now;
            slot.ran = Ran { job, machine: slot.machine, pulled: now, started: now, ..slot.ran };
            let job = &self.farm.jobs[job];
            match machine.files {
                Files::Staged | Files::Sharing(_) => {
                    slot.stage = Stage::In;
                    self.fluid.flow(place, job.bytes_in, machine.stage_in.clone());
                }
                Files::Meanwhile((processor, weight)) => {
                    slot.stage = Stage::All;
                    self.fluid.flow(place, 1.0, machine.at_once(job, processor, weight));
                }
            }
        }
    }

    /// Starts the next stage of the slot with the index `place`.
    fn go_on(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        let job = &self.farm.jobs[slot.ran.job];
        let now = self.fluid.now;
        let machine = &self.farm.machines[slot.machine];
        match slot.stage {
            Stage::In => {
                slot.stage = Stage::Computing;
                slot.ran.started = now;
                let seconds = job.seconds / machine.speed;
                match machine.files {
                    Files::Sharing(uses) => self.fluid.flow(place, seconds, uses.to_vec()),
                    _ => self.fluid.wait(place, seconds),
                }
            }
            Stage::Computing => {
                slot.stage = Stage::Out;
                slot.ran.ended = now;
                self.fluid.flow(place, job.bytes_out, machine.stage_out.clone());
            }
            Stage::All | Stage::Out => {
                if slot.stage == Stage::All {
                    slot.ran.ended = now;
                }
                slot.stage = Stage::Free;
                slot.ran.staged_out = now;
                self.ran.push(slot.ran);
            }
            Stage::Free | Stage::Gone => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job { bytes_in: 10.0, seconds: 5.0, bytes_out: 5.0 };

    fn machine(wire: usize) -> Machine {
        let uses = vec![(wire, 1.0)];
        let stage_in = uses.clone();
        let stage_out = uses;
        let files = Files::Staged;
        Machine { speed: 1.0, slots: 1, stage_in, stage_out, files, joins: 0.0, dies: None }
    }

    fn hub() -> Network {
        let mut network = Network::new();
        network.add("hub", 10.0);
        network
    }

    #[test]
    fn one_machine_does_one_after_another() {
        let network = hub();
        let run = farm(&Farm { jobs: &[JOB; 4], machines: &[machine(0)], network: &network });
        assert!((run.seconds - 4.0 * 6.5).abs() < 1e-6, "{run:?}");
        assert!((run.busy[0].1 - 1.5 / 6.5).abs() < 1e-6, "{run:?}");
        assert_eq!(run.ran[2].job, 2);
        assert!((run.ran[0].started - 1.0).abs() < 1e-6 && (run.ran[0].ended - 6.0).abs() < 1e-6);
    }

    #[test]
    fn many_machines_wait_for_the_wire() {
        let network = hub();
        let machines = vec![machine(0); 40];
        let run = farm(&Farm { jobs: &[JOB; 400], machines: &machines, network: &network });
        // The hub has to carry 6000 bytes at 10 bytes per second. Machines that start equal jobs at
        // the same time also compute at the same time.
        assert!((run.seconds - 10.0 * (60.0 + 5.0)).abs() < 1e-3, "{}", run.seconds);
        let unlike = |job: u32| Job { seconds: 3.0 + f64::from(job * 7 % 5), ..JOB };
        let jobs: Vec<Job> = (0..400).map(unlike).collect();
        let run = farm(&Farm { jobs: &jobs, machines: &machines, network: &network });
        assert!((600.0..625.0).contains(&run.seconds), "{}", run.seconds);
        assert!(run.busy[0].1 > 0.95);
    }

    #[test]
    fn a_slow_machine_gets_fewer_jobs_and_a_dead_ones_are_done_again() {
        let network = hub();
        let slow = Machine { speed: 0.25, ..machine(0) };
        let dying = Machine { dies: Some(12.0), ..machine(0) };
        let late = Machine { joins: 20.0, ..machine(0) };
        let machines = [machine(0), slow, dying, late];
        let run = farm(&Farm { jobs: &[JOB; 24], machines: &machines, network: &network });
        let of = |machine| run.ran.iter().filter(|ran| ran.machine == machine).count();
        assert_eq!(run.ran.len(), 24);
        assert!(of(0) > 2 * of(1) && of(1) > 0 && of(2) == 1 && of(3) > 0, "{run:?}");
        let mut jobs: Vec<usize> = run.ran.iter().map(|ran| ran.job).collect();
        jobs.sort_unstable();
        assert!(jobs.iter().copied().eq(0..24));
        assert!(run.ran.iter().all(|ran| ran.machine != 3 || ran.pulled >= 20.0));
    }

    #[test]
    fn jobs_that_read_while_they_compute_take_as_long_as_the_slower_of_both() {
        let mut network = hub();
        let processors = [network.add("cpu 0", 1.0), network.add("cpu 1", 1.0)];
        let on = |processor: usize, wired: bool| Machine {
            slots: 2,
            files: Files::Meanwhile((processor, 1.0)),
            stage_in: if wired { vec![(0, 1.0)] } else { Vec::new() },
            stage_out: if wired { vec![(0, 1.0)] } else { Vec::new() },
            ..machine(0)
        };
        let run = |jobs: &[Job], machines: &[Machine]| {
            farm(&Farm { jobs, machines, network: &network }).seconds
        };
        // Two jobs on one CPU, whose bytes cross the hub meanwhile, in 3 of their 10 seconds.
        assert!((run(&[JOB; 2], &[on(processors[0], true)]) - 10.0).abs() < 1e-6);
        // Now the hub is slower; the machine with local files finishes long before.
        let heavy = Job { bytes_in: 80.0, ..JOB };
        let machines = [on(processors[0], false), on(processors[1], true)];
        let run = farm(&Farm { jobs: &[heavy; 4], machines: &machines, network: &network });
        assert!((run.seconds - 17.0).abs() < 1e-6, "{run:?}");
        assert!((run.ran[0].staged_out - 10.0).abs() < 1e-6, "{run:?}");
        assert!(run.ran.iter().all(|ran| ran.started == 0.0 && ran.ended == ran.staged_out));
    }

    #[test]
    fn jobs_on_machines_that_share_processors_take_longer_when_those_are_busy() {
        let mut network = hub();
        let shared = network.add("processors", 2.0);
        let own: Vec<usize> = (0..6).map(|at| network.add(&format!("slot {at}"), 1.0)).collect();
        let on = |at: usize| Machine {
            files: Files::Sharing([(own[at], 1.0), (shared, 0.8)]),
            ..machine(0)
        };
        let run = |count: usize| {
            let machines: Vec<Machine> = (0..count).map(on).collect();
            let job = Job { bytes_in: 0.0, bytes_out: 0.0, seconds: 5.0 };
            farm(&Farm { jobs: &[job; 12], machines: &machines, network: &network }).seconds
        };
        // 12 jobs need 48 s of processors: a job is never faster than alone, and two processors
        // work.
        assert!((run(1) - 60.0).abs() < 1e-6 && (run(2) - 30.0).abs() < 1e-6);
        assert!((run(6) - 24.0).abs() < 1e-6, "{}", run(6));
    }

    #[test]
    fn without_machines_nothing_is_done() {
        let network = hub();
        let dead = Machine { dies: Some(1.0), ..machine(0) };
        let run = farm(&Farm { jobs: &[JOB; 3], machines: &[dead], network: &network });
        assert!(run.ran.is_empty() && run.seconds == 0.0);
    }
}
