//! Starts and joins the threads of a copy on a node: those of its lanes, their side-feeds and
//! writers.

mod joining;

use std::io;
use std::sync::Arc;

use garland_core::plan::LaneBlocks;
use garland_protocol::copy::{Relay, Route};
use garland_sys::channel::channel;
use garland_sys::threads::JoinHandle;
use garland_sys::threads::{self, Joined};

pub use self::joining::{join, join_all};
use crate::context::{CopyContext, LaneHandle, Starter};
use crate::feed::{Feeder, StoreFeeder};
use crate::lane::{Lane, LaneParts};
use crate::source::{Content, SourceFeeder};
use crate::writer;

/// Starts the threads of the lanes that this node is on, and its writer. `all` are all lanes of the
/// copy; `on` returns whether this node is on the lane with the given number. A node with a
/// `source` sends blocks of the source and has no writer; any other node sends blocks of its store.
///
/// # Errors
/// When the system has no file descriptors or threads left. Then no thread remains.
pub fn start(
    copy: &Arc<CopyContext>,
    all: &[LaneBlocks],
    on: impl Fn(u16) -> bool,
    source: Option<&Arc<dyn Content>>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let (arrived, arrivals) = channel();
    let mut handles = Vec::new();
    let mut lanes = Vec::new();
    for (number, &blocks) in (0..).zip(all) {
        let (handle, commands) = LaneHandle::new(on(number))?;
        handles.push(Arc::clone(&handle));
        if handle.is_used {
            lanes.push((number, blocks, handle, commands));
        }
    }
    // Set before any thread runs, and only here.
    copy.lanes.start(handles, side_starter(copy, all, source));
    let mut begun = Vec::new();
    let begin = || -> io::Result<()> {
        for (number, blocks, handle, commands) in lanes {
            let writer = source.is_none().then(|| arrived.clone());
            let relay = Relay::new(blocks, source.is_some());
            let feeder = new_feeder(copy, source, number, blocks)?;
            let parts = LaneParts { number, blocks, relay, handle, commands, feeder, writer };
            let lane = Lane::new(Arc::clone(copy), parts);
            begun.push(threads::spawn("lane", move || lane.run())?);
        }
        if source.is_none() {
            begun.extend(writer::start(copy, arrivals)?);
        }
        Ok(())
    };
    if let Err(error) = begin() {
        // End the threads that were started; nothing of the copy stays.
        copy.close();
        drop(arrived);
        begun.into_iter().for_each(|thread| drop(Joined::from(thread)));
        return Err(error);
    }
    Ok(begun)
}

/// Returns the function that starts a thread which feeds a downstream on the side of a lane.
fn side_starter(
    copy: &Arc<CopyContext>,
    all: &[LaneBlocks],
    source: Option<&Arc<dyn Content>>,
) -> Box<Starter> {
    // A strong reference would be a cycle.
    let copy = Arc::downgrade(copy);
    let all = all.to_vec();
    let source = source.cloned();
    Box::new(move |route: &Route| {
        let gone = || io::Error::other("the copy is over");
        let copy = copy.upgrade().ok_or_else(gone)?;
        let number = route.lane;
        let blocks = all.get(usize::from(number)).copied().ok_or_else(gone)?;
        let epoch = route.epochs_down().next().ok_or_else(gone)?;
        let (handle, commands) = LaneHandle::new(true)?;
        let outside = Arc::clone(&handle);
        let relay = Relay::side_feed(blocks, epoch);
        let feeder = new_feeder(&copy, source.as_ref(), number, blocks)?;
        let writer = None;
        let parts = LaneParts { number, blocks, relay, handle, commands, feeder, writer };
        let lane = Lane::new(copy, parts);
        let thread = threads::spawn("side-feed", move || lane.run())?;
        Ok((outside, thread))
    })
}

fn new_feeder(
    copy: &Arc<CopyContext>,
    source: Option<&Arc<dyn Content>>,
    lane: u16,
    blocks: LaneBlocks,
) -> io::Result<Box<dyn Feeder>> {
    Ok(match source {
        Some(source) => {
            let copy = Arc::clone(copy);
            let source = Arc::clone(source);
            Box::new(SourceFeeder::start(copy, source, lane, blocks)?)
        }
        None => Box::new(StoreFeeder::new(Arc::clone(copy), lane)),
    })
}

#[cfg(test)]
mod tests;
