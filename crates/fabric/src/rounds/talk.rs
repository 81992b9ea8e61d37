//! Ping-pong messages at the initiator. All messages are sent from one slot; up to `depth` answers
//! at a time are received, each in a slot of its own.

use garland_sys::clock;

use super::super::engine::{Engine, Until};
use super::super::error::FabricError;
use super::super::memory::Ring;
use super::super::port::{Done, Sent};
use super::super::words::{Ran, Round};
use super::ahead::Ahead;

/// Sends the messages of a round, and measures the time until the answer to each.
pub fn run(engine: &mut Engine<'_, '_>, round: &Round) -> Result<Ran, FabricError> {
    let depth = u64::from(round.depth);
    let mut samples = Vec::with_capacity(usize::try_from(round.count).unwrap_or(0));
    let mut ahead = Ahead::new(round);
    let mut begins = vec![0; round.depth as usize];
    // Sends that still read their slot.
    let mut sending = vec![false; round.depth as usize];
    let mut begun = 0;
    let mut posting_ns = 0;
    while !ahead.arm(engine.port)? {
        let now = clock::now_ns();
        engine.wait(now, Until::Room, false)?;
    }
    let start = clock::now_ns();
    let mut now = start;
    while (samples.len() as u64) < round.count || sending.contains(&true) {
        let mut until = if ahead.arm(engine.port)? { Until::Done } else { Until::Room };
        while begun < round.count.min(samples.len() as u64 + depth) {
            let at = round.due_ns(start, begun).unwrap_or(now);
            if at > now {
                until = Until::Due(at);
                break;
            }
            let number = (begun % depth) as usize;
            if sending[number] {
                break;
            }
            match engine.port.send(Ring::Source, 0, number, round.size)? {
                Sent::Busy => {
                    until = Until::Room;
                    break;
                }
                sent => sending[number] = sent == Sent::UnderWay,
            }
            begins[number] = at;
            begun += 1;
            let after = clock::now_ns();
            posting_ns += after - now;
            now = after;
        }
        now = engine.wait(now, until, begun > samples.len() as u64)?;
        for done in &engine.done {
            match *done {
                Done::Went(number) => sending[number] = false,
                // Answers arrive in the order of the messages.
                Done::Came(slot) => {
                    let number = (samples.len() as u64 % depth) as usize;
                    samples.push(now.saturating_sub(begins[number]));
                    ahead.give_back(slot);
                }
                Done::Word => {}
            }
        }
    }
    Ok(Ran { elapsed_ns: now - start, posting_ns, work_ns: engine.work_ns(), samples })
}
