//! Ping-pong messages at the target: each message is sent back from the slot that received it.

use std::collections::VecDeque;

use garland_sys::clock;

use super::super::engine::{Engine, Until};
use super::super::error::FabricError;
use super::super::memory::Ring;
use super::super::port::{Done, Sent};
use super::super::words::Round;
use super::ahead::Ahead;

/// Receives all messages of a round, and sends each back.
pub fn run(engine: &mut Engine<'_, '_>, round: &Round) -> Result<(), FabricError> {
    let mut ahead = Ahead::new(round);
    let mut owed = VecDeque::new();
    let mut answered = 0;
    let mut under_way = 0_u64;
    let mut now = clock::now_ns();
    loop {
        let mut until = Until::Done;
        while let Some(&slot) = owed.front() {
            match engine.port.send(Ring::Sink, slot, slot, round.size)? {
                Sent::Busy => {
                    until = Until::Room;
                    break;
                }
                Sent::UnderWay => under_way += 1,
                Sent::Taken => ahead.give_back(slot),
            }
            owed.pop_front();
            answered += 1;
        }
        if !ahead.arm(engine.port)? {
            until = Until::Room;
        }
        if answered == round.count && under_way == 0 {
            return Ok(());
        }
        now = engine.wait(now, until, false)?;
        for done in &engine.done {
            match *done {
                Done::Came(slot) => owed.push_back(slot),
                Done::Went(slot) => {
                    under_way = under_way.saturating_sub(1);
                    ahead.give_back(slot);
                }
                Done::Word => {}
            }
        }
    }
}
