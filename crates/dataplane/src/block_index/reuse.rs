//! Parts of a copy that its destination already has, and a thread that copies them into the new
//! file.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use garland_core::index_set::IndexSet;
use garland_core::plan::Layout;
use garland_core::trace::Stage;
use garland_protocol::copy::{Landing, Sink};
use garland_sys::threads;
use garland_sys::threads::JoinHandle;

use super::holding::Holding;
use super::trees::FoundTree;
use crate::context::CopyContext;
use crate::pace::{self, Pace};
use crate::recorder::{At, Recorder};
use crate::store::PreviousTree;
use crate::store::left::Left;

/// The file that exists at a destination before the copy.
pub struct Existing {
    /// The directory of the file.
    pub folder: OwnedFd,
    /// The name of the file in the directory.
    pub name: OsString,
    /// The path of the file, for messages.
    pub path: PathBuf,
    /// The file, open for reading, and the digests of its blocks.
    pub holding: Holding,
}

/// The parts of a copy that its destination already has.
pub enum Reuse {
    /// The destination file is equal to the source, and has these block digests.
    Whole(Existing, Vec<[u8; 32]>),
    /// Some blocks of the source may exist in files of this node.
    Some {
        /// For each block of the source, its digest.
        digests: Vec<[u8; 32]>,
        /// Files whose blocks are copied: the current destination file, and the file with the part
        /// of the source that this node can read itself.
        others: Vec<Holding>,
        /// The partial file of an interrupted copy, if there is one. Its blocks stay in place.
        left: Option<(Holding, Left)>,
    },
    /// Some files of the tree may exist at the destination.
    Tree {
        /// For each block of the source, its digest.
        digests: Vec<[u8; 32]>,
        /// The files of the tree that are in place.
        tree: FoundTree,
    },
}

/// Blocks that are to be copied from other files of this node into the new file.
pub struct Bringing {
    files: Vec<Holding>,
    disk: Option<Arc<Pace>>,
    blocks: Vec<FoundBlock>,
}

/// A block that a file of this node has.
struct FoundBlock {
    index: u64,
    digest: [u8; 32],
    /// The index of the file in [`Bringing::files`].
    file: usize,
}

/// Returns the sink of a copy whose source has the block digests `digests`, and the blocks to be
/// copied from `files`, if any. The sink counts the matching blocks of the partial file `left` as
/// written, and those of `files` as in flight. `disk` is the node's emulated disk.
pub fn sink_of(
    layout: Layout,
    digests: Vec<[u8; 32]>,
    files: Vec<Holding>,
    disk: Option<&Arc<Pace>>,
    left: Option<&Holding>,
) -> (Sink, Option<Bringing>) {
    let mut blocks = Vec::new();
    let mut held = Vec::new();
    for (index, digest) in (0..).zip(&digests) {
        if left.is_some_and(|left| left.digests.has(index, digest)) {
            held.push(index);
        } else if let Some(file) = files.iter().position(|it| it.digests.has(index, digest)) {
            blocks.push(FoundBlock { index, digest: *digest, file });
        }
    }
    let mut sink = Sink::new(layout, true).with_digests(digests);
    held.into_iter().for_each(|index| sink.hold(index));
    blocks.iter().for_each(|block| sink.bring(block.index));
    let bringing = Bringing { files, disk: disk.cloned(), blocks };
    (sink, Some(bringing).filter(|bringing| !bringing.blocks.is_empty()))
}

/// Returns the sink of a copy of a tree, and the files of the tree that were in place before the
/// copy. The sink takes the blocks in order, and accepts at most `window` blocks from the first
/// unwritten block on. Blocks that can be generated from the files in `tree` are not requested.
pub fn sink_of_tree(
    layout: Layout,
    digests: Vec<[u8; 32]>,
    tree: FoundTree,
    window: usize,
) -> (Sink, PreviousTree) {
    let mut present = IndexSet::new(layout.blocks());
    for (index, digest) in (0..).zip(&digests) {
        if tree.has(index, digest) {
            present.insert(index);
        }
    }
    let mut sink = Sink::in_order(layout, window).held_readable().with_digests(digests);
    let own = (0..layout.blocks()).filter(|index| present.contains(*index));
    own.for_each(|index| sink.bring(index));
    (sink, PreviousTree::new(tree.index, present, layout))
}

/// Starts a thread that copies the blocks of `bringing` and verifies each. A block that has changed
/// meanwhile is requested from the upstream.
///
/// # Errors
/// When no thread can be started.
pub fn bring(copy: &Arc<CopyContext>, bringing: Bringing) -> io::Result<JoinHandle<()>> {
    let copy = Arc::clone(copy);
    threads::spawn("bring", move || {
        let mut recorder = Recorder::new(&copy.config.trace, Stage::Write);
        let mut buffer = vec![0; copy.layout.block_size as usize];
        for block in &bringing.blocks {
            let bytes = &mut buffer[..copy.layout.block_length(block.index) as usize];
            if copy.is_closing() {
                return;
            }
            let began = recorder.now();
            let is_stored = bringing.bring(&copy, block, bytes);
            recorder.took(Stage::Write, At::HERE.with_block(block.index), began, bytes.len());
            if !is_stored {
                return;
            }
        }
    })
}

impl Bringing {
    /// Copies a block through the buffer `bytes`. Returns false if the store failed.
    fn bring(&self, copy: &CopyContext, block: &FoundBlock, bytes: &mut [u8]) -> bool {
        let index = block.index;
        let is_same = pace::on(self.disk.as_deref(), bytes.len(), || {
            self.files[block.file].read(index, bytes, &block.digest)
        });
        let store = &copy.config.store;
        let offset = copy.layout.offset(index);
        let is_hole = store.is_sparse() && bytes.iter().all(|byte| *byte == 0);
        let written = match (is_same, is_hole) {
            (false, _) => Ok(()),
            (true, true) => store.leave_hole(offset, bytes.len()),
            (true, false) => store.write_at(offset, bytes),
        };
        if let Err(error) = written {
            copy.fail_to_write(&error);
            return false;
        }
        copy.land_own(index, if is_same { Landing::Written } else { Landing::Changed });
        true
    }
}
