//! The invariants of every run.

use std::collections::BTreeSet;

use garland_protocol::copy::Verdict;
use garland_simulation::{Mishap, NodeRun, Run, Schedule, What, simulate};

use crate::case::Case;

/// The maximum cost of a death: 2 s, and some time to notice that it was one of several.
const DEATH_NS: u64 = 2_500_000_000;

/// The maximum cost of a broken link: 0.3 s until it is tried again, and the longest delay of a
/// message.
const BREAK_NS: u64 = 500_000_000;

/// The maximum cost of a hanging disk for the other nodes: 5 s until its node is detached.
const HANG_NS: u64 = 6_000_000_000;

/// The time after which the node of a hanging disk has failed.
const STUCK_NS: u64 = 62_000_000_000;

/// Runs a case. Returns what is wrong with the run, if anything.
pub fn judge(case: &Case) -> Result<(), String> {
    let run = simulate(&case.plan(), &case.world, &case.schedule);
    let kills = |mishap: &Mishap| match mishap.what {
        What::Crash(node) | What::Cut(node) | What::Stop(node) => Some(node),
        _ => None,
    };
    let killed: BTreeSet<u32> = case.schedule.mishaps.iter().filter_map(kills).collect();
    let hangs = |mishap: &Mishap| match mishap.what {
        What::Hang(node) => Some(node),
        _ => None,
    };
    let hung: BTreeSet<u32> = case.schedule.mishaps.iter().filter_map(hangs).collect();
    let late = |number: u32| {
        let is_late = |mishap: &Mishap| mishap.what == What::Late(number);
        case.schedule.mishaps.iter().any(is_late)
    };
    for (number, node) in (1..).zip(&run.nodes) {
        if late(number) && has_missed(node) {
            continue;
        }
        if hung.contains(&number) {
            stuck(node).map_err(|why| format!("stuck node {number} {why}: {node:?}"))?;
        } else if killed.contains(&number) {
            dead(node).map_err(|why| format!("dead node {number} {why}: {node:?}"))?;
        } else {
            healthy(node).map_err(|why| format!("healthy node {number} {why}: {node:?}"))?;
        }
    }
    if !run.reused.is_empty() {
        return Err(format!("key and nonce reused: {:?}", run.reused));
    }
    faults(case, &run)?;
    let took = run.finished_ns.ok_or("the run is stuck")?;
    let latest = bound(case);
    let healthy = (1..).zip(&run.nodes).filter(|(number, _)| !hung.contains(number));
    let last = healthy.filter_map(|(_, node)| node.committed_ns).max().unwrap_or(0);
    if last > latest {
        let last = last / 1_000_000;
        let latest = latest / 1_000_000;
        return Err(format!("the others took {last} ms, the maximum is {latest} ms"));
    }
    let latest = latest + STUCK_NS * hung.len() as u64;
    if took > latest {
        return Err(format!(
            "the run took {} ms, the maximum is {} ms",
            took / 1_000_000,
            latest / 1_000_000
        ));
    }
    Ok(())
}

fn healthy(node: &NodeRun) -> Result<(), &'static str> {
    match (&node.verdict, node.identical) {
        (None, _) => Err("has no verdict"),
        (Some(Verdict::Ok), Some(true)) if node.committed_ns.is_some() => Ok(()),
        (Some(Verdict::Ok), _) => Err("is called ok but is not"),
        (Some(_), _) => Err("was called failed or dead"),
    }
}

/// Whether the copy was over before a late node could join.
fn has_missed(node: &NodeRun) -> bool {
    let is_failed = |verdict: &Verdict| *verdict == Verdict::Failed("it cannot be reached".into());
    node.verdict.as_ref().is_some_and(is_failed) && node.first_ns.is_none()
}

fn stuck(node: &NodeRun) -> Result<(), &'static str> {
    match &node.verdict {
        None => Err("has no verdict"),
        Some(Verdict::Failed(reason) | Verdict::Unknown(reason))
            if reason.contains("no progress") =>
        {
            Ok(())
        }
        // The disk hung after the node had the file.
        Some(Verdict::Ok) if node.is_ok() && node.identical == Some(true) => Ok(()),
        Some(Verdict::Ok) => Err("is called ok but is not"),
        Some(_) => Err("failed for another reason"),
    }
}

fn dead(node: &NodeRun) -> Result<(), &'static str> {
    match &node.verdict {
        None => Err("has no verdict"),
        Some(Verdict::Dead(_) | Verdict::Unknown(_)) => Ok(()),
        // The node died after it had the file.
        Some(Verdict::Ok) if node.is_ok() && node.identical == Some(true) => Ok(()),
        Some(Verdict::Ok) => Err("is called ok but is not"),
        Some(Verdict::Failed(_)) => Err("is called failed"),
    }
}

/// Every reported fault must be real; every real one must be reported unless something else hides
/// it.
fn faults(case: &Case, run: &Run) -> Result<(), String> {
    let real: BTreeSet<(u64, u32)> = run.flipped.iter().copied().collect();
    let named: BTreeSet<(u64, u32)> =
        run.faults.iter().map(|fault| (fault.index, fault.to.0)).collect();
    // A node that already has a block forwards it without opening it: then the next node finds the
    // fault. The lanes of a shared source begin at different nodes.
    let plan = case.plan();
    let place = |index: u64, node: u32| {
        let lane = plan.lanes.iter().find(|lane| lane.blocks.ordinal(index).is_some());
        lane.and_then(|lane| lane.route.nodes().iter().position(|id| id.0 == node))
    };
    let before = |index, by: u32, to: u32| case.fanout > 1 || place(index, by) <= place(index, to);
    let is_real =
        |&&(index, to): &&(u64, u32)| real.iter().any(|r| r.0 == index && before(index, r.1, to));
    if let Some(wrong) = named.iter().find(|fault| !is_real(fault)) {
        return Err(format!("fault {wrong:?} was named, but only {real:?} happened"));
    }
    // A node that drops blocks that its disk or stream cannot take does not open them, and finds no
    // fault.
    let streams = case.world.nodes.iter().any(|node| node.sink.is_ordered());
    let all_open = !streams && run.nodes.iter().all(|node| !node.detached);
    let flips = case.schedule.mishaps.iter().all(|m| matches!(m.what, What::Flip { .. }));
    let only_flips = flips && all_open;
    let blocks = |faults: &BTreeSet<(u64, u32)>| -> BTreeSet<u64> {
        faults.iter().map(|&(index, _)| index).collect()
    };
    if only_flips && blocks(&named) != blocks(&real) {
        return Err(format!("faults {named:?} were named, but {real:?} happened"));
    }
    Ok(())
}

fn bound(case: &Case) -> u64 {
    let quiet = Schedule { mishaps: Vec::new(), ..case.schedule.clone() };
    let undisturbed = simulate(&case.plan(), &case.world, &quiet);
    let mut bound = undisturbed.finished_ns.unwrap_or(0);
    for mishap in &case.schedule.mishaps {
        bound += match mishap.what {
            What::Crash(_) | What::Cut(_) | What::Stop(_) => DEATH_NS,
            What::Pause(_, how_long) => how_long,
            What::Break(..) => BREAK_NS,
            What::Flip { .. } | What::Interrupt | What::Repeat(_) => BREAK_NS / 10,
            // Blocks of a stream cannot be read again: all nodes wait until the hanging one has
            // failed.
            What::Hang(_) if case.world.stream => STUCK_NS,
            What::Hang(_) => HANG_NS,
            // The node gets everything on its own.
            What::Late(_) => undisturbed.finished_ns.unwrap_or(0) + BREAK_NS,
        };
    }
    // Mishaps after the end of the undisturbed copy start a count of their own.
    let late = case.schedule.mishaps.iter().map(|mishap| mishap.at).max().unwrap_or(0);
    // Nodes behind one that cannot deliver what it dropped take as long as that node.
    bound.max(late) + bound
}
