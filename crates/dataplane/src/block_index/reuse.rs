//! What is here of a copy that begins, and bringing it into the new file.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use garland_core::plan::{BlockSet, Layout};
use garland_protocol::{FileStamp, Landing, Sink};
use garland_sys::threads;

use super::holding::Holding;
use super::trees::FoundTree;
use crate::context::{CopyContext, Notice};
use crate::pace::Pace;
use crate::store::{Left, PreviousTree};
use garland_sys::error::reason;

/// What is here of a copy that begins.
pub enum Reuse {
    /// The file that has the name is the source.
    Whole {
        /// The folder that it is in.
        folder: OwnedFd,
        /// Its name there.
        name: OsString,
        /// Its path, for messages.
        path: PathBuf,
        /// The file, open for reading.
        file: File,
        /// What it was when it was compared.
        stamp: FileStamp,
        /// Its blocks' digests.
        digests: Vec<[u8; 32]>,
    },
    /// Some blocks of the source may be in these.
    Some {
        /// The source's digests.
        digests: Vec<[u8; 32]>,
        /// The file that has the name, and what of the source this node sees by itself.
        others: Vec<Holding>,
        /// What an interrupted copy left, whose blocks stay where they are.
        left: Option<(Holding, Left)>,
    },
    /// Some files of the tree may be these.
    Tree {
        /// The source's digests.
        digests: Vec<[u8; 32]>,
        /// What is here.
        tree: FoundTree,
    },
}

/// Blocks to be brought from other files.
pub struct Bringing {
    files: Vec<Holding>,
    disk: Option<Arc<Pace>>,
    /// Their indices, digests, and which of the files has them.
    blocks: Vec<(u64, [u8; 32], usize)>,
}

/// A sink of what is to be sent: that knows the source's digests, holds what is in what an
/// interrupted copy left, and takes what other files have as on its way; which is what is to be
/// brought. These files are on `disk`, if there is one.
pub fn sink_of(
    layout: Layout,
    digests: Vec<[u8; 32]>,
    (files, disk): (Vec<Holding>, Option<&Arc<Pace>>),
    left: Option<&Holding>,
) -> (Sink, Option<Bringing>) {
    let mut blocks = Vec::new();
    let mut held = Vec::new();
    for (index, digest) in (0..).zip(&digests) {
        if left.is_some_and(|left| left.has(index, digest)) {
            held.push(index);
        } else if let Some(file) = files.iter().position(|file| file.has(index, digest)) {
            blocks.push((index, *digest, file));
        }
    }
    let mut sink = Sink::new(layout, true).knowing(digests);
    held.into_iter().for_each(|index| sink.hold(index));
    blocks.iter().for_each(|(index, ..)| sink.bring(*index));
    let bringing = Bringing { files, disk: disk.cloned(), blocks };
    (sink, Some(bringing).filter(|bringing| !bringing.blocks.is_empty()))
}

/// The sink of a tree whose writer may have so many blocks, and takes what `tree` has at its turn; and
/// what that is.
pub fn sink_of_tree(
    layout: Layout,
    digests: Vec<[u8; 32]>,
    tree: FoundTree,
    window: usize,
) -> (Sink, PreviousTree) {
    let mut brought = BlockSet::new(layout.blocks());
    for (index, digest) in (0..).zip(&digests) {
        if tree.has(index, digest) {
            brought.insert(index);
        }
    }
    let mut sink = Sink::in_order(layout, window).held_readable().knowing(digests);
    let own = (0..layout.blocks()).filter(|index| brought.contains(*index));
    own.for_each(|index| sink.bring(index));
    (sink, PreviousTree::new(tree.index, brought, layout))
}

/// Brings blocks from other files, each checked again, from a thread of its own; one that isn't what
/// it was has to be sent.
///
/// # Errors
/// When the system makes no thread for it.
pub fn bring(member: &Arc<CopyContext>, bringing: Bringing) -> io::Result<JoinHandle<()>> {
    let member = Arc::clone(member);
    threads::spawn("bring", move || {
        let mut buffer = vec![0; member.layout.block_size as usize];
        for block in &bringing.blocks {
            let bytes = &mut buffer[..member.layout.block_length(block.0) as usize];
            if member.is_closing() || !bringing.bring(&member, block, bytes) {
                return;
            }
        }
    })
}

impl Bringing {
    /// Brings a block; says whether it makes sense to go on.
    fn bring(
        &self,
        member: &CopyContext,
        (index, digest, file): &(u64, [u8; 32], usize),
        bytes: &mut [u8],
    ) -> bool {
        let (index, length) = (*index, bytes.len());
        let mut read = || self.files[*file].read(index, bytes, digest);
        let is_same = match &self.disk {
            Some(disk) => disk.pass(length, read),
            None => read(),
        };
        if is_same && let Err(error) = member.store.write_at(member.layout.offset(index), bytes) {
            let reason = format!("writing {}: {}", member.store.name(), reason(&error));
            member.tell(Notice::Failed(reason));
            return false;
        }
        member.sink().landed(index, if is_same { Landing::Written } else { Landing::Changed });
        member.wake_all();
        member.tell_if_complete();
        true
    }
}
