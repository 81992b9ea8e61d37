//! Reads a file back before it is renamed: compares the bytes on the medium with the received
//! bytes, computes the digest of the file, or both.

use garland_core::trace::Stage;
use garland_protocol::copy::{Checksum, ReadBack, Summed, Summing};

use crate::context::CopyContext;
use crate::recorder::At;
use crate::store::StoreError;

/// The number of bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// Compares the blocks of `copy` on the medium with those that were received, computes the digest
/// of the file, or does both, as `wanted` says. The digest becomes part of the node's report.
///
/// # Errors
/// When a block differs from the received one or cannot be read, or when the copy ends meanwhile.
pub fn read_back(copy: &CopyContext, wanted: ReadBack) -> Result<(), StoreError> {
    let store = &*copy.config.store;
    if wanted.verify {
        copy.config.faults.rot(store)?;
        let over = || copy.is_closing();
        store.prove(&copy.config.trace, &over)?;
    }
    // `prove` has compared an ordered store file by file.
    if wanted == ReadBack::default() || !store.is_holder() || store.is_ordered() {
        return Ok(());
    }
    let began = copy.config.trace.now();
    let outcome = read(copy, wanted);
    copy.config.trace.took(Stage::Read, At::HERE, began);
    outcome
}

fn read(copy: &CopyContext, wanted: ReadBack) -> Result<(), StoreError> {
    let store = &copy.config.store;
    let layout = copy.layout;
    let mut whole = wanted.checksum.map(Summing::new);
    let mut piece = vec![0; PIECE.min(layout.block_size as usize)];
    let blocks = copy.progress.sink().own_blocks();
    for index in blocks {
        let begin = layout.offset(index);
        let length = u64::from(copy.progress.block_length(index));
        let mut block = Summing::new(Checksum::B3);
        let mut done = 0;
        while done < length {
            if copy.is_closing() {
                let reason = "the copy ended while the file was being read back".to_owned();
                return Err(StoreError::Failed(reason));
            }
            let part = usize::try_from(length - done).unwrap_or(PIECE).min(piece.len());
            let bytes = &mut piece[..part];
            store.read_at(begin + done, bytes).map_err(|error| {
                StoreError::path("read back", format!("block {index} of {}", store.name()), &error)
            })?;
            block.update(bytes);
            whole.iter_mut().for_each(|whole| whole.update(bytes));
            done += part as u64;
        }
        if wanted.verify && copy.progress.sink().content(index) != Some(block.finish()) {
            return Err(StoreError::Failed(format!(
                "block {index} of {} ({length} bytes from offset {begin} of the source) differs on \
                 the disk from what was written; check the disk",
                store.name()
            )));
        }
    }
    if let (Some(checksum), Some(whole)) = (wanted.checksum, whole) {
        let summed = Summed { checksum, digest: whole.finish(), path: store.path() };
        // Set once: the file is read once.
        let _ = copy.progress.summed.set(summed);
    }
    Ok(())
}
