//! Rounds of operations, at the initiator and at the target. The target lets its provider make
//! progress until a word from the initiator ends the round.

mod ahead;
mod echo;
mod reach;
mod talk;

use garland_sys::clock;

use super::engine::{Engine, Until};
use super::error::FabricError;
use super::memory::Ring;
use super::port::{Done, Sent};
use super::words::{Kind, Ran, Round};

pub use reach::attempt;

/// Runs a round at the initiator, verifies the received bytes, and tells the target that the round
/// is over.
///
/// # Errors
/// When a call fails, the other node is silent, the agent exits, or received bytes differ from
/// those that were sent.
pub fn run(engine: &mut Engine<'_, '_>, round: &Round) -> Result<Ran, FabricError> {
    let memory = engine.port.memory();
    if round.kind != Kind::Get {
        memory.stamp(Ring::Source, round.size, round.serial);
    }
    if round.kind != Kind::Put {
        memory.clear(Ring::Sink, round.size);
    }
    let ran = match round.kind {
        Kind::Get | Kind::Put => reach::run(engine, round)?,
        Kind::Msg => talk::run(engine, round)?,
    };
    finish(engine)?;
    let memory = engine.port.memory();
    let right = match round.kind {
        // The target's memory is unchanged.
        Kind::Get => memory.holds(Ring::Sink, round.size, 0),
        Kind::Msg => memory.holds(Ring::Sink, round.size, round.serial),
        // The target checks.
        Kind::Put => true,
    };
    if right { Ok(ran) } else { Err(FabricError::Changed("the received bytes")) }
}

/// Serves a round at the target until the initiator ends it. Returns the time in nanoseconds that
/// this side was at work.
///
/// # Errors
/// When a call fails, the other node is silent, the agent exits, or the bytes of puts differ from
/// those that were sent.
pub fn serve(engine: &mut Engine<'_, '_>, round: &Round) -> Result<u64, FabricError> {
    if round.kind == Kind::Msg {
        echo::run(engine, round)?;
    }
    let mut now = clock::now_ns();
    while !engine.port.receive_word()? {
        now = engine.wait(now, Until::Room, false)?;
    }
    await_word(engine, false)?;
    let work_ns = engine.work_ns();
    let memory = engine.port.memory();
    if round.kind == Kind::Put && !memory.holds(Ring::Sink, round.size, round.serial) {
        return Err(FabricError::Changed("the bytes in this node's memory"));
    }
    Ok(work_ns)
}

/// Sends the target the word that ends the round.
///
/// # Errors
/// When a call fails, the other node is silent, or the agent exits.
pub fn finish(engine: &mut Engine<'_, '_>) -> Result<(), FabricError> {
    let mut now = clock::now_ns();
    loop {
        match engine.port.send_word()? {
            Sent::Busy => now = engine.wait(now, Until::Room, true)?,
            Sent::UnderWay => return await_word(engine, true),
            Sent::Taken => return Ok(()),
        }
    }
}

fn await_word(engine: &mut Engine<'_, '_>, busy: bool) -> Result<(), FabricError> {
    let mut now = clock::now_ns();
    loop {
        now = engine.wait(now, Until::Done, busy)?;
        if engine.done.contains(&Done::Word) {
            return Ok(());
        }
    }
}
