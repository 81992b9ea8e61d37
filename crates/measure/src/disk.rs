//! `garland disk`: tests the disk of every node.

pub mod measurement;
pub mod notes;
pub mod result;
pub mod table;

use garland_control::Session;
use garland_core::units::{Nanos, bytes};
use garland_fleet::context::Context;
use garland_fleet::destination::{NodesAndPath, nodes_with_path};
use garland_fleet::inventory::Inventory;
use garland_protocol::measure::{
    DISK_SIZES, DiskDirection, DiskMode, DiskOnly, DiskOrder, DiskPattern,
};
use garland_protocol::operation::DiskCourse;
use garland_results::head::{Phases, tell};
use garland_sys::clock;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::screen::Screen;

use crate::args::{Disk, DiskWord};
use crate::disk::result::DiskResult;
use crate::gather::{Gathered, Talk, end_agents, gather};

/// Runs `garland disk`: tests the disks of all nodes and prints the result.
pub fn run(context: &Context, disk: &Disk) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let inventory = Inventory::open(context)?;
    let NodesAndPath { nodes, path } = nodes_with_path(&inventory, &disk.target)?;
    let order = parse_order(disk, path)?;
    let gathered =
        gather("disk", &nodes, &inventory, &disk.launch, context.json, Talk::OverWires, phases)?;
    let Gathered { mut phases, interrupts, run, fleet, .. } = gathered;
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let mut screen = Screen::new(context.json);
    let course = DiskCourse::new(names.len(), order.clone(), disk.one_by_one);
    let course = Session::new(fleet.agents, Some(&interrupts)).run(course, &mut |course| {
        screen.draw(clock::now_ns(), &progress(&names, course));
    });
    screen.clear();
    let course = course.or_nothing("cannot test disks")?;
    phases.end("measure");
    end_agents(fleet.children, DiskResult::is_cut(&course), &mut phases);
    let result = DiskResult::new(&run, phases, &order, &names, disk.one_by_one, &course);
    tell(&run, context.json, &result)?;
    Ok(result.exit())
}

fn parse_order(disk: &Disk, path: Vec<u8>) -> Result<DiskOrder, Failure> {
    let size = bytes::parse(&disk.size)?;
    if !DISK_SIZES.contains(&size) {
        let least = bytes::format(*DISK_SIZES.start());
        let most = bytes::format(*DISK_SIZES.end());
        let message = format!("--size {}: the size must be from {least} to {most}", disk.size);
        let failure = Failure::usage(message);
        if size > *DISK_SIZES.end() {
            return Err(failure);
        }
        return Err(failure.hint(
            "a file that fits in memory does not measure the disk: choose a file larger than memory",
        ));
    }
    let time: Nanos = disk.time.parse()?;
    let only = parse_only(&disk.only)?;
    let order = DiskOrder { path, size, time_ns: time.0, depth: disk.depth, only };
    order.check().map_err(|reason| Failure::usage(format!("--time {}: {reason}", disk.time)))?;
    Ok(order)
}

/// Parses the words of --only into a selection of measurements.
fn parse_only(words: &[DiskWord]) -> Result<DiskOnly, Failure> {
    fn set<T>(kind: &mut Option<T>, value: T) -> Result<(), Failure> {
        match kind.replace(value) {
            None => Ok(()),
            Some(_) => Err(Failure::usage(
                "--only takes at most one of read and write, one of sequential and random, and one of \
                 buffered, direct and stable",
            )),
        }
    }
    let mut only = DiskOnly::default();
    for word in words {
        match word {
            DiskWord::Read => set(&mut only.direction, DiskDirection::Read),
            DiskWord::Write => set(&mut only.direction, DiskDirection::Write),
            DiskWord::Sequential => set(&mut only.pattern, DiskPattern::Sequential),
            DiskWord::Random => set(&mut only.pattern, DiskPattern::Random),
            DiskWord::Buffered => set(&mut only.mode, DiskMode::Buffered),
            DiskWord::Direct => set(&mut only.mode, DiskMode::Direct),
            DiskWord::Stable => set(&mut only.mode, DiskMode::Stable),
        }?;
    }
    Ok(only)
}

/// Returns the lines that show progress: one for each node that is measuring, or their number if
/// there are many.
fn progress(names: &[&str], course: &DiskCourse) -> Vec<String> {
    let nodes = course.nodes().iter().zip(names).filter(|(node, _)| node.end.is_none());
    let running: Vec<String> = nodes
        .map(|(node, name)| match node.figures.last() {
            Some(last) => {
                let rate = last.bytes as f64 / last.elapsed_ns.max(1) as f64 * 1e3;
                format!("{name}: {} measured, the last at {rate:.1} MB/s", node.figures.len())
            }
            None if node.place.is_some() => format!("{name}: writing its file"),
            None => format!("{name}: waiting"),
        })
        .collect();
    match running.len() {
        0..=20 => running,
        many => vec![format!("{many} nodes are still measuring")],
    }
}
