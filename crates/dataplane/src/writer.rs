//! The writers of a node: decrypt, verify and write received blocks, in threads separate from the
//! lanes.

mod arrived;
mod ordered;
mod several;
mod tools;
mod unwrapping;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use garland_core::trace::Stage;
use garland_protocol::copy::{Encoding, Keys, Landing};
use garland_sys::channel::Receiver;
use garland_sys::clock;
use garland_sys::sync::Mutex;
use garland_sys::threads::{self, JoinHandle};

pub use self::arrived::Arrived;
use self::ordered::OrderedWrites;
use self::several::SeveralWrites;
use self::tools::{Tools, at, write};
use self::unwrapping::Unwrapping;
use crate::context::CopyContext;
use crate::recorder::At;
use crate::thread_count;

/// Starts the threads that write the blocks of a copy. They end when all senders are gone, or the
/// store fails.
///
/// # Errors
/// When not even one thread can be started.
pub fn start(
    copy: &Arc<CopyContext>,
    arrivals: Receiver<Arrived>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let count = thread_count::writers(copy.layout, copy.config.lane_count);
    let shared = Arc::new(Shared {
        arrivals: Mutex::new(arrivals),
        order: copy.config.store.is_ordered().then(OrderedWrites::default),
        several: SeveralWrites::start(copy),
    });
    let start = || {
        let copy = Arc::clone(copy);
        let shared = Arc::clone(&shared);
        threads::spawn("writer", move || write_blocks(&copy, &shared))
    };
    let first = start()?;
    Ok(std::iter::once(first).chain((1..count).map_while(|_| start().ok())).collect())
}

/// What the writers of a copy share.
struct Shared {
    arrivals: Mutex<Receiver<Arrived>>,
    /// The blocks of a store that takes them in order.
    order: Option<OrderedWrites>,
    /// The threads of a store that takes several blocks at a time.
    several: Option<SeveralWrites>,
}

/// Writes blocks until all senders are gone, or the store fails.
fn write_blocks(copy: &Arc<CopyContext>, shared: &Shared) {
    let _watch = copy.config.awake.watch();
    let mut keys = Keys::new(&copy.config.secret, copy.config.id);
    let Shared { arrivals, order, several } = shared;
    let mut tools = Tools::new(copy);
    let mut began = tools.recorder.now();
    loop {
        if order.as_ref().is_some_and(|order| !order.write_ready(copy, &mut tools)) {
            return;
        }
        began = began.max(tools.recorder.now());
        let arrived = arrivals.lock().recv();
        let Ok(mut arrived) = arrived else { return };
        let now = tools.recorder.now();
        tools.recorder.note(At::HERE.with_block(arrived.frame.index).span(
            Stage::WaitUpstream,
            began,
            now,
        ));
        let sound = verify(copy, &mut keys, &mut tools.unwrapping, &mut arrived);
        began = tools.recorder.took(
            Stage::Open,
            at(&arrived.frame),
            now,
            arrived.frame.length as usize,
        );
        if !sound {
            copy.pool.give(arrived.buffer);
            copy.telemetry.stages.write.leave();
            copy.progress.land(&copy.lanes, &arrived.frame, Landing::Changed);
        } else if let Some(order) = order {
            order.enter(copy, arrived);
        } else if let Some(several) =
            several.as_ref().filter(|_| arrived.frame.form == Encoding::Plain)
        {
            let frame = arrived.frame.clone();
            let length = arrived.frame.length as usize;
            if !copy.telemetry.write_waits.measure(tools.own, || several.enter(arrived)) {
                return;
            }
            began = tools.recorder.took(Stage::Write, at(&frame), began, length);
        } else if !write(copy, &mut tools, arrived, 0) {
            return;
        } else {
            began = tools.recorder.now();
        }
    }
}

/// Decrypts a block in its buffer, and compares its contents with the digest that the source
/// signed. Returns whether they match. This detects wrong bytes from any node that encrypted the
/// block, and errors between hashing and encryption.
fn verify(
    copy: &CopyContext,
    keys: &mut Keys,
    unwrapping: &mut Unwrapping,
    arrived: &mut Arrived,
) -> bool {
    let before = clock::thread_cpu_ns();
    let Arrived { frame, header, buffer, length } = arrived;
    let opened = keys.open(frame, header, &mut buffer[..*length]).is_ok();
    let content = opened.then(|| unwrapping.digest(&copy.codec.zeros, frame, buffer)).flatten();
    let sound = content.is_some() && content == copy.progress.sink().content(frame.index);
    let spent = clock::thread_cpu_ns().saturating_sub(before);
    copy.telemetry.opening_ns.fetch_add(spent, Ordering::Relaxed);
    sound
}
