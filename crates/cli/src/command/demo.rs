//! `garland demo`: a small cluster emulated on this machine, a real file to every node of it.

use garland_core::units::{Nanos, Rate, bytes};
use garland_lab::Spec;
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::args::Demo;
use crate::failure::{Exit, Failure, OrFailure};
use crate::places::Places;
use crate::run::Run;
use crate::scenario::Bench;

/// The name of the file on the nodes.
const NAME: &str = "file";

/// Shows what Garland does.
pub fn run(demo: &Demo) -> Result<Exit, Failure> {
    let length = bytes::parse(&demo.size).map_err(Failure::usage)?;
    let rate: Rate = demo.rate.parse().map_err(Failure::usage)?;
    let nodes = demo.nodes;
    let places = Places::open()?;
    let run = Run::begin(&places, "demo")?;
    let started = clock::now_ns();
    let spec = Spec::switch("lab", nodes, Some(rate.bits_per_second()));
    let interrupts = Interrupts::catch().or_nothing("catching interrupts")?;
    let bench = Bench::build(&run, &interrupts, spec, length * (u64::from(nodes) + 1))?;
    let took = Nanos(clock::now_ns() - started);
    println!("1. a cluster: {nodes} nodes and a head on one switch at {rate}, built in {took}");
    let source = bench.random_file("source", length)?;
    let list = format!("lab:n[1-{nodes}]");
    bench.garland(&["up", &list])?;
    println!("2. agents:    garland up '{list}'");
    let target = format!("{list}:/{NAME}");
    println!("3. the copy:  garland cp source '{target}'");
    let file = source.to_string_lossy();
    let table = bench.garland(&["cp", &file, &target])?;
    print!("{}", String::from_utf8_lossy(&table));
    for at in 1..=nodes {
        let node = format!("n{at}");
        if !bench.verify(&node, NAME, &source)? {
            return Err(Failure::nothing(format!("{node}:/{NAME} differs from the source")));
        }
    }
    println!("4. the proof: cmp finds every node's file equal to the source");
    bench.garland(&["down", &list])?;
    bench.end()?;
    println!("5. the end:   agents and cluster are gone, and nothing of them is left");
    Ok(Exit::Done)
}
