//! Simulated farms: every job over the topology's wires.

use garland_analysis::forecast::Floor;
use garland_predict::{Farm, Files, Job, Machine, Network, NoWay, Processors, farm};
use garland_topology::Topology;

use super::drawn::{Drawn, MAX_DRAWN_NODES};
use super::limits::Moved;

/// The most jobs and nodes that are simulated; more would take too long.
const JOBS: usize = 2000;
const NODES: u32 = 128;

/// Jobs without measured times are assumed to differ by up to this share from the mean: jobs of
/// equal length would always use the wires at the same time.
const SPREAD: f64 = 0.1;

/// The name of a node's own slots, which no other node uses.
const OWN: &str = "";

/// The jobs of a farm, and the number of jobs that a node runs at once.
pub struct Jobs {
    jobs: Vec<Job>,
    slots: u32,
    /// The processors that all nodes use, and the CPU time of a second of a job on them.
    processors: Option<(Processors, f64)>,
}

impl Jobs {
    /// Creates the jobs from measurements. Times are scaled so that one node alone takes `alone`
    /// seconds without shared resources: the measured times of jobs that read through a mount
    /// include the time for shared resources. `None` if there are no jobs or more than `JOBS`, or
    /// if the times are not positive.
    pub fn measured(jobs: &[Job], alone: f64) -> Option<Self> {
        let all: f64 = jobs.iter().map(|job| job.seconds).sum();
        let sound = !jobs.is_empty() && jobs.len() <= JOBS && all > 0.0 && alone > 0.0;
        let slots = (all / alone).round().clamp(1.0, 1024.0);
        let factor = alone * slots / all;
        let own = |job: &Job| Job { seconds: job.seconds * factor, ..*job };
        sound.then(|| Self {
            jobs: jobs.iter().map(own).collect(),
            slots: slots as u32,
            processors: None,
        })
    }

    /// Creates `count` similar jobs that in total compute for `seconds` and transfer `moved`.
    /// `None` if `count` is 0 or more than `JOBS`, or `seconds` is negative.
    pub fn alike(count: u32, seconds: f64, moved: Moved) -> Option<Self> {
        let all = f64::from(count);
        let each = |place: u32| {
            // Evenly spread, in an irregular order (multiples of the golden ratio).
            let turn = f64::from(place) * 0.618_033_988_749_894_9;
            let factor = 1.0 + SPREAD * (2.0 * turn.fract() - 1.0);
            Job {
                bytes_in: moved.bytes_in / all,
                seconds: seconds / all * factor,
                bytes_out: moved.bytes_out / all,
            }
        };
        let sound = count > 0 && count as usize <= JOBS && seconds >= 0.0;
        sound.then(|| Self { jobs: (0..count).map(each).collect(), slots: 1, processors: None })
    }

    /// Returns the jobs on nodes that all use these processors, where the jobs take `cpu` seconds.
    pub fn on_processors(self, processors: Processors, cpu: f64) -> Self {
        let all: f64 = self.jobs.iter().map(|job| job.seconds).sum();
        let share = if all > 0.0 { (cpu / all).min(processors.count) } else { 0.0 };
        Self { processors: Some((processors, share)), ..self }
    }

    /// Simulates the jobs on `nodes` nodes, not counting the first, which has the files. Returns
    /// `None` if the topology cannot have that many nodes or lacks a route, or if the simulation
    /// would take too long.
    pub fn on(&self, drawn: &mut Drawn, nodes: u32) -> Option<Floor> {
        if nodes > NODES.min(MAX_DRAWN_NODES) {
            return None;
        }
        let topology = drawn.holding(nodes).ok()?;
        self.over(&topology, nodes as usize).ok()
    }

    fn over(&self, topology: &Topology, nodes: usize) -> Result<Floor, NoWay> {
        let mut network = Network::new();
        let ways = network.there_and_back(topology, 0, 1..=nodes)?;
        let disk = network.disk(topology, 0);
        let processors = self.processors.map(|(known, share)| {
            (network.add(known.common_name(), known.count), known.staging(), share)
        });
        let machine = |(mut stage_in, mut stage_out): (Vec<_>, Vec<_>)| {
            stage_in.extend(disk);
            stage_out.extend(disk);
            let mut files = Files::Staged;
            if let Some((place, staging, share)) = processors {
                stage_in.push((place, staging));
                stage_out.push((place, staging));
                let own = network.add(OWN, f64::from(self.slots));
                files = Files::Sharing([(own, 1.0), (place, share)]);
            }
            let slots = self.slots;
            Machine { speed: 1.0, slots, stage_in, stage_out, files, joins: 0.0, dies: None }
        };
        let machines: Vec<Machine> = ways.into_iter().map(machine).collect();
        let run = farm(&Farm { jobs: &self.jobs, machines: &machines, network: &network });
        let busiest = run.busy.into_iter().find(|(name, _)| name != OWN);
        let name = busiest.map(|(name, share)| format!("{name}, {:.0} %", share * 100.0));
        Ok(Floor { seconds: run.seconds, name: name.unwrap_or_default() })
    }
}
