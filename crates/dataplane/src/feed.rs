//! Prepares blocks to be sent: the source's node reads them from the source, other nodes read them
//! from their store.

use std::sync::Arc;

use garland_core::trace::Stage;
use garland_protocol::copy::{
    Encoding, FRAME_LEN, Frame, Keys, Kind, Sealer, TAG_LEN, content_digest,
};
use garland_sys::error::reason;

use crate::compress::{self, Packer};
use crate::context::{CopyConfig, CopyContext};
use crate::recorder::{At, Recorder};
use crate::source::FeedError;

/// A block as it is sent: its header, its bytes, and the authentication tag if the block is
/// encrypted.
pub struct Prepared {
    /// The encoded header.
    pub header: [u8; FRAME_LEN],
    /// A buffer that begins with the bytes after the header, `length` of them.
    pub buffer: Vec<u8>,
    /// The number of bytes that follow the header, the tag included.
    pub length: usize,
    /// The length of the block in bytes, before it was encoded.
    pub plain: u32,
}

/// How a block lies in a buffer.
pub struct Encoded {
    /// The encoding.
    pub form: Encoding,
    /// The length of the block in bytes.
    pub length: usize,
    /// The number of bytes of its encoded form.
    pub packed: usize,
}

/// Prepares the blocks that a lane sends.
pub trait Feeder: Send {
    /// Prepares block `index`, encrypted under `incarnation`, and records the time. `again` tells
    /// whether the block was sent before and is now out of the lane's order.
    fn prepare(
        &mut self,
        index: u64,
        incarnation: u64,
        again: bool,
        recorder: &mut Recorder,
    ) -> Result<Prepared, FeedError>;
    /// Takes back the buffer of a block that was sent, for reuse.
    fn recycle(&mut self, buffer: Vec<u8>);
}

/// Writes the headers of blocks of one lane, and encrypts the blocks with this node's keys if the
/// copy is encrypted.
pub struct Wrapper {
    frame: Frame,
    sealer: Option<Sealer>,
}

impl Wrapper {
    /// Returns a wrapper for the blocks of `lane` in the copy of `config`.
    pub fn new(config: &CopyConfig, lane: u16) -> Self {
        let mut frame = Frame::bare(Kind::Block, config.id, lane, 0);
        frame.sealed = config.sealed;
        frame.sealer = config.me;
        Self { frame, sealer: None }
    }

    /// Wraps block `index`, which is at the beginning of `buffer` as `encoded` says. `buffer` must
    /// have space for the tag.
    pub fn wrap(
        &mut self,
        keys: &Keys,
        index: u64,
        incarnation: u64,
        mut buffer: Vec<u8>,
        encoded: Encoded,
    ) -> Prepared {
        let frame = &mut self.frame;
        frame.index = index;
        frame.incarnation = incarnation;
        let Encoded { form, length, packed } = encoded;
        frame.length = u32::try_from(length).expect("a block is short");
        frame.form = form;
        frame.packed = u32::try_from(packed).expect("a block is short");
        let header = frame.to_bytes(keys);
        if !frame.sealed {
            return Prepared { header, buffer, length: packed, plain: frame.length };
        }
        let same = self.sealer.take().filter(|sealer| sealer.seals(incarnation, index));
        let sealer = same.unwrap_or_else(|| keys.sealer(frame.sealer, incarnation, index));
        let plain = frame.length;
        let tag = self.sealer.insert(sealer).seal(frame, &header, &mut buffer[..packed]);
        buffer[packed..packed + TAG_LEN].copy_from_slice(&tag);
        Prepared { header, buffer, length: packed + TAG_LEN, plain }
    }
}

/// Prepares blocks by reading them from a node's store. A block that no longer has its digest is
/// not sent.
pub struct StoreFeeder {
    copy: Arc<CopyContext>,
    wrapper: Wrapper,
    spare: Option<Vec<u8>>,
    packer: Packer,
    /// A buffer for the compressed block; empty until one is compressed.
    room: Vec<u8>,
}

impl StoreFeeder {
    /// Returns a feeder for `lane` in `copy`.
    pub fn new(copy: Arc<CopyContext>, lane: u16) -> Self {
        let wrapper = Wrapper::new(&copy.config, lane);
        Self { copy, wrapper, spare: None, packer: Packer::default(), room: Vec::new() }
    }

    /// Compresses the first `length` bytes of `buffer` in place, as blocks are that arrive here, if
    /// that makes them fewer.
    fn pack(&mut self, buffer: &mut [u8], length: usize) -> Encoded {
        let form = self.copy.codec.packing.as_received();
        if form != Encoding::Plain {
            self.room.resize(compress::room(self.copy.layout.block_size as usize), 0);
            if let Some(packed) = self.packer.pack(form, &buffer[..length], &mut self.room) {
                buffer[..packed].copy_from_slice(&self.room[..packed]);
                return Encoded { form, length, packed };
            }
        }
        Encoded { form: Encoding::Plain, length, packed: length }
    }
}

impl Feeder for StoreFeeder {
    fn prepare(
        &mut self,
        index: u64,
        incarnation: u64,
        _again: bool,
        recorder: &mut Recorder,
    ) -> Result<Prepared, FeedError> {
        let copy = &self.copy;
        let at = At::block(self.wrapper.frame.lane, index);
        let began = recorder.now();
        let layout = copy.layout;
        let length = copy.progress.block_length(index) as usize;
        let room = layout.block_size as usize + TAG_LEN;
        let mut buffer = self.spare.take().unwrap_or_else(|| vec![0; room]);
        let store = &copy.config.store;
        let known = copy.progress.sink().content(index);
        let are_zeros = known == Some(copy.codec.zeros.digest(length));
        if are_zeros && store.has_hole(layout.offset(index), length) {
            let hole = Encoded { form: Encoding::Hole, length, packed: 0 };
            return Ok(self.wrapper.wrap(&copy.codec.keys, index, incarnation, buffer, hole));
        }
        let read = store.read_at(layout.offset(index), &mut buffer[..length]);
        let began = recorder.took(Stage::Read, at, began, length);
        let content = content_digest(&buffer[..length]);
        let is_same = read.is_ok() && known == Some(content);
        if !is_same && store.is_ordered() {
            // Some files of a tree may be missing.
            copy.progress.sink().mark_unreadable(index);
            self.spare = Some(buffer);
            return Err(FeedError::Gone(store.name(), index));
        }
        read.map_err(|error| FeedError::Read(store.name(), reason(&error)))?;
        if !is_same {
            return Err(FeedError::Changed(store.name()));
        }
        let flipped = copy.config.faults.flip(layout.offset(index), &mut buffer[..length]);
        let written = match are_zeros && !flipped {
            true => Encoded { form: Encoding::Zeros, length, packed: 0 },
            false => self.pack(&mut buffer, length),
        };
        let prepared =
            self.wrapper.wrap(&self.copy.codec.keys, index, incarnation, buffer, written);
        recorder.took(Stage::Seal, at, began, length);
        Ok(prepared)
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare = Some(buffer);
    }
}
