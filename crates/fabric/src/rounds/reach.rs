//! Gets and puts at the initiator. The target runs no program for them; at most its provider has to
//! make progress.

use garland_sys::clock;

use super::super::engine::{Engine, Until};
use super::super::error::FabricError;
use super::super::port::Done;
use super::super::words::{Ran, Round};

/// Runs the gets or puts of a round, and measures the latency of each.
pub fn run(engine: &mut Engine<'_, '_>, round: &Round) -> Result<Ran, FabricError> {
    let depth = round.depth as usize;
    let mut samples = Vec::with_capacity(usize::try_from(round.count).unwrap_or(0));
    let mut free: Vec<usize> = (0..depth).rev().collect();
    let mut begins = vec![0; depth];
    let mut begun = 0;
    let mut posting_ns = 0;
    let start = clock::now_ns();
    let mut now = start;
    while (samples.len() as u64) < round.count {
        let mut until = Until::Done;
        while begun < round.count
            && let Some(&slot) = free.last()
        {
            let at = round.due_ns(start, begun).unwrap_or(now);
            if at > now {
                until = Until::Due(at);
                break;
            }
            if !engine.port.reach(round.kind, slot, round.size)? {
                until = Until::Room;
                break;
            }
            free.pop();
            begins[slot] = at;
            begun += 1;
            let after = clock::now_ns();
            posting_ns += after - now;
            now = after;
        }
        now = engine.wait(now, until, free.len() < depth)?;
        for done in &engine.done {
            if let Done::Went(slot) = *done {
                samples.push(now.saturating_sub(begins[slot]));
                free.push(slot);
            }
        }
    }
    Ok(Ran { elapsed_ns: now - start, posting_ns, work_ns: engine.work_ns(), samples })
}

/// Runs operations of a round one after the other, for at most `millis` milliseconds. Returns the
/// number of operations that completed, and whether one is still in flight.
///
/// # Errors
/// When a call fails or the agent exits.
pub fn attempt(
    engine: &mut Engine<'_, '_>,
    round: &Round,
    millis: u32,
) -> Result<(u64, bool), FabricError> {
    let mut now = clock::now_ns();
    let due = now + u64::from(millis) * 1_000_000;
    for number in 0..round.count {
        while !engine.port.reach(round.kind, 0, round.size)? {
            if now >= due {
                return Ok((number, false));
            }
            now = engine.wait(now, Until::Room, false)?;
        }
        loop {
            now = engine.wait(now, Until::Due(due), false)?;
            if engine.done.contains(&Done::Went(0)) {
                break;
            }
            if now >= due {
                return Ok((number, true));
            }
        }
    }
    Ok((round.count, false))
}
