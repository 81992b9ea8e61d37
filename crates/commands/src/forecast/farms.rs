//! Farms as the simulator runs them: every job over the topology's wires.

use garland_analysis::forecast::Floor;
use garland_predict::{Farm, Files, Job, Machine, Network, NoWay, farm};
use garland_topology::Topology;

use super::drawn::{Drawn, MOST};

/// A farm of more jobs, or on more nodes, takes longer to simulate than anybody waits.
const JOBS: usize = 2000;
const NODES: u32 = 128;

/// Jobs that nobody has measured one by one are taken to differ by so much each way: those that are all
/// alike would want the wires together for ever.
const SPREAD: f64 = 0.1;

/// The jobs of a farm, and how many a node has at once.
pub struct Jobs {
    jobs: Vec<Job>,
    slots: u32,
}

impl Jobs {
    /// Those that were measured, of a work that takes a node `alone` seconds without what is shared: where
    /// files were read through a mount, the jobs' own times have both.
    pub fn measured(jobs: &[Job], alone: f64) -> Option<Self> {
        let all: f64 = jobs.iter().map(|job| job.seconds).sum();
        let sound = !jobs.is_empty() && jobs.len() <= JOBS && all > 0.0 && alone > 0.0;
        let slots = (all / alone).round().clamp(1.0, 1024.0);
        let factor = alone * slots / all;
        let own = |job: &Job| Job { seconds: job.seconds * factor, ..*job };
        sound.then(|| Self { jobs: jobs.iter().map(own).collect(), slots: slots as u32 })
    }

    /// So many that compute for `seconds` in all, and move so many bytes.
    pub fn alike(count: u32, seconds: f64, (bytes_in, bytes_out): (f64, f64)) -> Option<Self> {
        let all = f64::from(count);
        let each = |place: u32| {
            // Evenly spread, in an order without a pattern.
            let turn = f64::from(place) * 0.618_033_988_749_894_9;
            let factor = 1.0 + SPREAD * (2.0 * turn.fract() - 1.0);
            Job {
                bytes_in: bytes_in / all,
                seconds: seconds / all * factor,
                bytes_out: bytes_out / all,
            }
        };
        let sound = count > 0 && count as usize <= JOBS && seconds >= 0.0;
        sound.then(|| Self { jobs: (0..count).map(each).collect(), slots: 1 })
    }

    /// What they take on so many nodes beside the first, which has the files; none where that can't be
    /// drawn, or would take too long.
    pub fn on(&self, drawn: &mut Drawn, nodes: u32) -> Option<Floor> {
        if nodes > NODES.min(MOST) {
            return None;
        }
        let topology = drawn.with(nodes).ok()?;
        self.over(topology, nodes as usize).ok()
    }

    fn over(&self, topology: &Topology, nodes: usize) -> Result<Floor, NoWay> {
        let mut network = Network::new();
        let ways = network.there_and_back(topology, 0, 1..=nodes)?;
        let disk = network.disk(topology, 0);
        let machine = |(mut stage_in, mut stage_out): (Vec<_>, Vec<_>)| {
            stage_in.extend(disk);
            stage_out.extend(disk);
            let (slots, files) = (self.slots, Files::Staged);
            Machine { speed: 1.0, slots, stage_in, stage_out, files, joins: 0.0, dies: None }
        };
        let machines: Vec<Machine> = ways.into_iter().map(machine).collect();
        let run = farm(&Farm { jobs: &self.jobs, machines: &machines, network: &network });
        let busiest = run.busy.into_iter().next();
        let name = busiest.map(|(name, share)| format!("{name}, {:.0} %", share * 100.0));
        Ok(Floor { seconds: run.seconds, name: name.unwrap_or_default() })
    }
}
