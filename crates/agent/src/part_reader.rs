//! Reads a part of a source that this node can access itself, so that the head need not send it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use garland_core::plan::Layout;
use garland_core::printable;
use garland_dataplane::block_index::holding::{Holding, digest_all};
use garland_dataplane::block_index::stamp::stamp;
use garland_dataplane::source::{Content, Source};
use garland_protocol::copy::{Compared, DIGESTS_MAX, SharedPart};

use crate::agent::Agent;
use crate::error::{OrderError, cannot};

/// Reads this node's part of the source and returns it. Passes the digests of the part's blocks to
/// `tell`; after an error, passes the error and returns `None`.
pub fn read_part(
    agent: &Agent,
    layout: Layout,
    asked: &SharedPart,
    progress: impl Fn(),
    tell: impl Fn(Compared),
    stop: &AtomicBool,
) -> Option<Holding> {
    match read(agent, layout, asked, progress, stop) {
        Ok((holding, digests)) => {
            let parcels = digests.chunks(DIGESTS_MAX);
            let last = parcels.len().saturating_sub(1);
            for (number, parcel) in parcels.enumerate() {
                tell(Compared::Part(parcel.to_vec(), number < last));
            }
            Some(holding)
        }
        Err(error) => {
            tell(Compared::Unseen(error.to_string()));
            None
        }
    }
}

fn read(
    agent: &Agent,
    layout: Layout,
    asked: &SharedPart,
    progress: impl Fn(),
    stop: &AtomicBool,
) -> Result<(Holding, Vec<[u8; 32]>), OrderError> {
    let path = Path::new(OsStr::from_bytes(&asked.path));
    let source = Source::open_in(&agent.root, path)?.on_disk(agent.disk.as_ref());
    let shown = printable::path(path);
    if (source.length(), source.modified()) != (layout.length, asked.modified) {
        return Err(format!("{shown} differs in length or modification time on this node").into());
    }
    let failed = |error| cannot(format!("read {shown}"))(error);
    let file = source.file().try_clone().map_err(failed)?;
    let before = stamp(&file).map_err(failed)?;
    progress();
    let read =
        |index, bytes: &mut [u8]| source.read(layout, index, bytes).map_err(io::Error::other);
    let digests = digest_all(layout, asked.blocks, 1, read, progress, stop).map_err(failed)?;
    if !source.is_unchanged() {
        return Err(format!("{shown} changed while it was read").into());
    }
    Ok((Holding::from_part(file, before, layout, asked.blocks, &digests), digests))
}
