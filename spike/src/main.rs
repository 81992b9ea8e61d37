//! `spike head FILE DESTINATION CONTROL DATA [--no-encrypt] [--workers N] [--fsync]` and
//! `spike node CONTROL DATA [--workers N]`: one copy over TCP.

use std::error::Error;
use std::net::TcpListener;

use garland_core::plan::Layout;
use garland_protocol::{CopyId, Secret};
use garland_spike::head::{HeadDriver, Job};
use garland_spike::node::{CONTROL_LISTENER, DATA_LISTENER, Flaw, NodeDriver};
use garland_spike::real::Real;
use garland_sys::{clock, random};

/// The bytes of blocks that are prepared ahead, as in `dataplane`.
const AHEAD: u64 = 10 << 20;

/// The bytes of blocks that wait for the node's disk, as in `dataplane`.
const BUDGET: u64 = 24 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut flag = |name: &str| {
        let at = words.iter().position(|word| word == name);
        at.map(|at| words.remove(at)).is_some()
    };
    let (clear, fsync) = (flag("--no-encrypt"), flag("--fsync"));
    let at = words.iter().position(|word| word == "--workers");
    let workers = at.map(|at| words.drain(at..at + 2).next_back()).and_then(|word| word);
    let workers = workers.map_or(Ok(2), |word| word.parse())?;
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["node", control, data] => node(control, data, workers),
        ["head", file, destination, control, data] => {
            let length = std::fs::metadata(file)?.len();
            let layout = Layout::fitting(length);
            let job = Job {
                copy: CopyId(random::bytes()),
                secret: Secret(random::bytes()),
                seed: Secret(random::bytes()),
                source: file.into(),
                layout,
                destination: destination.into(),
                sealed: !clear,
                fsync,
                node: (control.parse()?, data.parse()?),
                buffers: usize::try_from(AHEAD / u64::from(layout.block_size))?.max(3),
                node_buffers: u16::try_from(BUDGET / u64::from(layout.block_size))?.clamp(3, 256),
            };
            head(job, workers)
        }
        _ => {
            Err("usage: spike head FILE DESTINATION CONTROL DATA | spike node CONTROL DATA".into())
        }
    }
}

fn head(job: Job, workers: usize) -> Result<(), Box<dyn Error>> {
    let began = clock::now_ns();
    let mut driver = HeadDriver::new(job, began);
    let mut io = Real::new(workers)?;
    io.run(&mut driver)?;
    let elapsed_ms = (clock::now_ns() - began) / 1_000_000;
    let (cpu_ms, steps) = (clock::cpu_ns() / 1_000_000, io.steps());
    println!("head elapsed_ms={elapsed_ms} cpu_ms={cpu_ms} steps={steps} {:?}", driver.verdict());
    Ok(())
}

fn node(control: &str, data: &str, workers: usize) -> Result<(), Box<dyn Error>> {
    let mut io = Real::new(workers)?;
    io.listen(CONTROL_LISTENER, TcpListener::bind(control)?)?;
    io.listen(DATA_LISTENER, TcpListener::bind(data)?)?;
    io.run(&mut NodeDriver::new(clock::now_ns(), Flaw::None))?;
    println!("node cpu_ms={} steps={}", clock::cpu_ns() / 1_000_000, io.steps());
    Ok(())
}
