//! The lanes of the node that has the whole source, the head or one in its place: each feeds its
//! blocks to its first hop.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use garland_core::plan::LaneBlocks;

use crate::conduit::Path;
use crate::lane::{Lane, LaneParts};
use crate::member::{LaneHandle, Member};
use crate::source::{Source, SourceFeeder};

/// Starts a thread for each of `lanes`, which reads ahead at once and feeds when it has a hop.
///
/// # Errors
/// When the system has no descriptor left.
pub fn start_lanes(
    member: &Arc<Member>,
    source: &Arc<Source>,
    lanes: impl Iterator<Item = LaneBlocks>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let mut handles = Vec::new();
    let mut parts = Vec::new();
    for (number, blocks) in (0..).zip(lanes) {
        let (handle, letters) = LaneHandle::new()?;
        handles.push(Arc::clone(&handle));
        parts.push((number, blocks, handle, letters));
    }
    // Set before any thread runs, and only here.
    let _ = member.lanes.set(handles);
    let start = |(number, blocks, handle, letters)| {
        let (member, source) = (Arc::clone(member), Arc::clone(source));
        std::thread::spawn(move || {
            let feeder = SourceFeeder::start(Arc::clone(&member), source, number, blocks);
            let (feeder, path) = (Box::new(feeder), Path::Copy);
            let parts = LaneParts { number, blocks, member, handle, feeder, writer: None, path };
            Lane::new(parts).run(&letters);
        })
    };
    Ok(parts.into_iter().map(start).collect())
}
