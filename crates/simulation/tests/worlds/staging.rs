//! A farm's staging in a simulated world: the stager's sessions copy the files of jobs to a node
//! and back, while something befalls the node.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use garland_control::{Agent, Stager, StagerSession};
use garland_core::farm::Text;
use garland_protocol::farm::OutputFile;
use garland_protocol::farm::dispatch::{Batch, Direction, Transfer, TransferFailure};
use garland_protocol::wire::KeyPair;
use garland_sys::channel::channel;
use garland_sys::signal::Interrupts;
use garland_sys::threads::sleep;
use garland_sys::world::{self, Process, Random, Wires};
use garland_testkit::Scratch;
use garland_transport::connection::connect_agent;

use crate::fate::{self, Blow};
use crate::room::{Cast, PORT, agent};

/// The number of jobs whose files are copied together.
const JOBS: u32 = 4;

/// The results of the transfers to the node and of those back, by job.
type Results = [Vec<Result<u64, TransferFailure>>; 2];

/// The directories and files of a run.
struct Stage {
    scratch: Scratch,
    random: Random,
}

impl Stage {
    fn new(seed: u64) -> Self {
        let stage = Self { scratch: Scratch::in_memory("staging"), random: Random::new(seed) };
        fs::create_dir_all(stage.here()).expect("the head's directory");
        for job in 1..=JOBS {
            fs::create_dir_all(stage.there(job)).expect("a job's directory");
            fs::write(stage.there(job).join(out(job)), contents(seed, job, true)).expect("a file");
            fs::write(stage.here().join(input(job)), contents(seed, job, false)).expect("a file");
        }
        stage
    }

    fn here(&self) -> PathBuf {
        self.scratch.path("head")
    }

    fn node(&self) -> PathBuf {
        self.scratch.path("n1")
    }

    fn there(&self, job: u32) -> PathBuf {
        self.node().join("jobs").join(job.to_string())
    }

    /// Copies all inputs and all outputs while `blow` strikes after `after`. Returns the results;
    /// `None` if the head hangs.
    fn run(&mut self, seed: u64, blow: Blow, after: Duration) -> Option<Results> {
        let jitter_ns = self.random.below(2_000_000);
        let wires = Wires { latency_ns: 20_000, jitter_ns, rate: 100_000_000 };
        let here = self.here();
        let folder = self.node();
        world::run(seed, wires, move || {
            let ours = KeyPair::generate();
            let theirs = KeyPair::generate();
            let node = agent(&folder, &theirs, &ours);
            sleep(Duration::from_millis(5));
            let address = SocketAddr::from((node.address(), PORT));
            let (tell, told) = channel();
            let head = Process::start("head", move || {
                // Fails if nobody waits for it any more.
                let _ = tell.send(stage(&ours, &theirs, address, &here, &folder));
            });
            let cast = Cast { head: head.expect("a process"), nodes: vec![node] };
            let strike = move || fate::strike(&vec![(after, blow)], &cast);
            Process::start("fate", strike).expect("a process");
            told.recv_timeout(Duration::from_secs(120)).ok()
        })
    }
}

/// Copies as the head.
fn stage(
    ours: &KeyPair,
    theirs: &KeyPair,
    address: SocketAddr,
    here: &Path,
    node: &Path,
) -> Results {
    let connection = connect_agent(address, ours, &theirs.public, Duration::from_secs(5));
    let agent = connection.map(|connection| Agent { connection, addresses: vec![address] });
    let agents = [agent.map_err(|error| error.to_string())];
    let names = ["n1".to_owned()];
    let jobs = Text::from(&b"jobs"[..]);
    let stager = Stager::new(ours.clone(), &agents, &names, &jobs, here, here, None);
    [Direction::There, Direction::Back].map(|way| {
        let mut transfers = (1..=JOBS).map(|job| transfer(job, way, node));
        let first = transfers.next().expect("a job");
        let mut batch = Batch::new(first, transfers);
        let cancellation = Arc::new(Interrupts::by_hand().expect("a descriptor"));
        StagerSession::new(&stager, 0, cancellation).transfer(&mut batch);
        let mut results: Vec<_> = batch.into_results().collect();
        results.sort_by_key(|(transfer, _)| transfer.number);
        results.into_iter().map(|(_, result)| result).collect()
    })
}

fn transfer(job: u32, way: Direction, node: &Path) -> Transfer {
    let (name, outputs) = match way {
        Direction::There => (input(job), Vec::new()),
        Direction::Back => {
            let path = node.join("jobs").join(job.to_string()).join(out(job));
            let stat = fs::metadata(path).expect("an output");
            let modified = (stat.mtime(), stat.mtime_nsec() as u32);
            (out(job), vec![OutputFile { length: stat.len(), modified, mode: 0o644 }])
        }
    };
    let names = vec![Text::from(name.as_bytes())];
    Transfer {
        node: 0,
        job: job as usize,
        number: job,
        tries: 1,
        way,
        names,
        state: Vec::new(),
        outputs,
    }
}

fn input(job: u32) -> String {
    format!("in{job}")
}

fn out(job: u32) -> String {
    format!("out{job}")
}

fn contents(seed: u64, job: u32, is_output: bool) -> Vec<u8> {
    let mut random = Random::new(seed ^ u64::from(job) << 8 ^ u64::from(is_output));
    (0..random.below(200_000)).map(|_| random.bits() as u8).collect()
}

#[test]
fn staged_files_are_whole_or_absent_whatever_befalls_the_node() {
    let mut lost = 0;
    for seed in garland_simulation::Seeds::asked_for(60).iter() {
        let mut random = Random::new(seed ^ 0x57a9e);
        let blow = Blow::draw(1, &mut random);
        let after = Duration::from_nanos(random.below(60_000_000));
        let mut stage = Stage::new(seed);
        let story = format!("seed {seed}: {blow:?} after {after:?}");
        let [there, back] =
            stage.run(seed, blow, after).unwrap_or_else(|| panic!("hangs: {story}"));
        // A job's files on its node are not made stable: if the node loses its power, the job runs
        // elsewhere.
        let stays: &[_] = if matches!(blow, Blow::PowerOff(_)) { &[] } else { &there };
        for (job, result) in (1..).zip(stays) {
            check(result, &stage.there(job).join(input(job)), &contents(seed, job, false), &story);
        }
        for (job, result) in (1..).zip(&back) {
            check(result, &stage.here().join(out(job)), &contents(seed, job, true), &story);
        }
        let failed = there.iter().chain(&back).filter(|result| result.is_err()).count();
        assert!(failed == 0 || blow.harms(0), "{story}: {there:?}, {back:?}");
        lost += failed;
    }
    assert!(lost > 0, "nothing was lost: the blows miss");
}

fn check(result: &Result<u64, TransferFailure>, path: &Path, contents: &[u8], story: &str) {
    let file = fs::read(path).ok();
    assert!(file.is_some() || result.is_err(), "{} is absent: {story}", path.display());
    assert!(file.is_none_or(|file| file == contents), "{} is wrong: {story}", path.display());
}
