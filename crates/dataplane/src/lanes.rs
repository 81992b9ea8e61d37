//! A node's lanes in one copy: their threads, and the writer behind them.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use garland_core::plan::LaneBlocks;
use garland_protocol::{Relay, Route};
use garland_sys::threads;

use crate::context::{CopyContext, LaneHandle, Starter};
use crate::feed::{Feeder, StoreFeeder};
use crate::lane::{Lane, LaneParts};
use crate::source::{Content, SourceFeeder};
use crate::writer;

/// Starts the lanes that this node is `on`, of `all` lanes of the copy. A node with a `source` feeds
/// from it; any other feeds from what it holds, and has a writer.
///
/// # Errors
/// When the system has no descriptors or threads left.
pub fn start(
    member: &Arc<CopyContext>,
    all: &[LaneBlocks],
    on: impl Fn(u16) -> bool,
    source: Option<&Arc<dyn Content>>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let (arrived, arrivals) = channel();
    let (mut handles, mut lanes) = (Vec::new(), Vec::new());
    for (number, &blocks) in (0..).zip(all) {
        let (handle, letters) = LaneHandle::new()?;
        handles.push(Arc::clone(&handle));
        if on(number) {
            lanes.push((number, blocks, handle, letters));
        }
    }
    // Set before any thread runs, and only here.
    let _ = member.lanes.set(handles);
    member.feed_beside_by(beside(member, all, source));
    let mut begun = Vec::new();
    let begin = || -> io::Result<()> {
        for (number, blocks, handle, letters) in lanes {
            let (member, source) = (Arc::clone(member), source.cloned());
            let writer = source.is_none().then(|| arrived.clone());
            let feeder = feeder(&member, source.clone(), number, blocks)?;
            begun.push(threads::spawn("lane", move || {
                let relay = Relay::new(blocks, source.is_some());
                Lane::new(LaneParts {
                    number,
                    blocks,
                    relay,
                    member,
                    handle,
                    feeder,
                    writer,
                    letters,
                })
                .run();
            })?);
        }
        if source.is_none() {
            let member = Arc::clone(member);
            let write = move || writer::write_blocks(&member, &arrivals);
            begun.push(threads::spawn("writer", write)?);
        }
        Ok(())
    };
    if let Err(error) = begin() {
        // Those that were started end, and nothing of the copy stays.
        member.close();
        drop(arrived);
        for thread in begun {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
        return Err(error);
    }
    Ok(begun)
}

/// How a thread is started that feeds a node beside a lane.
fn beside(
    member: &Arc<CopyContext>,
    all: &[LaneBlocks],
    source: Option<&Arc<dyn Content>>,
) -> Box<Starter> {
    // A member that knew itself would never go.
    let member = Arc::downgrade(member);
    let (all, source) = (all.to_vec(), source.cloned());
    Box::new(move |route: &Route| {
        let gone = || io::Error::other("the copy is over");
        let member = member.upgrade().ok_or_else(gone)?;
        let number = route.lane;
        let blocks = all.get(usize::from(number)).copied().ok_or_else(gone)?;
        let epoch = route.epochs_down().next().ok_or_else(gone)?;
        let (handle, letters) = LaneHandle::new()?;
        let outside = Arc::clone(&handle);
        let feeder = feeder(&member, source.clone(), number, blocks)?;
        let thread = threads::spawn("beside", move || {
            let relay = Relay::beside(blocks, epoch);
            Lane::new(LaneParts {
                number,
                blocks,
                relay,
                member,
                handle,
                feeder,
                writer: None,
                letters,
            })
            .run();
        })?;
        Ok((outside, thread))
    })
}

fn feeder(
    member: &Arc<CopyContext>,
    source: Option<Arc<dyn Content>>,
    lane: u16,
    blocks: LaneBlocks,
) -> io::Result<Box<dyn Feeder>> {
    Ok(match source {
        Some(source) => Box::new(SourceFeeder::start(Arc::clone(member), source, lane, blocks)?),
        None => Box::new(StoreFeeder::new(Arc::clone(member), lane)),
    })
}
