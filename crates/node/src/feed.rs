//! Making blocks ready to be sent: by the head from the source, by everyone else from what they
//! hold.

use std::sync::Arc;

use garland_core::plan::NodeId;
use garland_core::proto::{
    FRAME_LEN, Frame, Keys, Kind, Sealer, TAG_LEN, content_check, content_digest,
};
use garland_core::trace::Stage;
use thiserror::Error;

use crate::member::Member;
use crate::recorder::{At, Recorder};
use crate::store::reason;

/// A block as it goes on the wire: its header, and its bytes with the tag behind them.
pub struct Prepared {
    /// The header's bytes.
    pub header: [u8; FRAME_LEN],
    /// A buffer whose first `length` bytes follow the header.
    pub buffer: Vec<u8>,
    /// How many.
    pub length: usize,
}

/// Why a block can't be fed.
#[derive(Debug, Error)]
pub enum FeedError {
    /// It can't be read.
    #[error("reading {0}: {1}")]
    Read(String, String),
    /// It isn't what it was.
    #[error("{0} changed while it was copied")]
    Changed(String),
}

/// Gives a lane the blocks that it feeds.
pub trait Feeder: Send {
    /// The block `index`, sealed under `incarnation`; notes what it took.
    fn prepare(
        &mut self,
        index: u64,
        incarnation: u32,
        recorder: &mut Recorder,
    ) -> Result<Prepared, FeedError>;
    /// Takes back the buffer of a block that has gone out.
    fn recycle(&mut self, buffer: Vec<u8>);
}

/// Seals blocks for one lane of a copy under this node's keys.
pub struct Packer {
    frame: Frame,
    sealer: Option<(u32, Sealer)>,
}

impl Packer {
    /// A packer for `lane` of the copy that `member` takes part in.
    #[must_use]
    pub fn new(member: &Member, lane: u16) -> Self {
        let mut frame = Frame::bare(Kind::Block, member.copy, lane, 0);
        frame.sealed = member.sealed;
        frame.sealer = member.me;
        Self { frame, sealer: None }
    }

    /// Seals the first `length` bytes of `buffer`, whose digest is `content`.
    pub fn pack(
        &mut self,
        keys: &Keys,
        index: u64,
        incarnation: u32,
        content: [u8; 32],
        mut buffer: Vec<u8>,
        length: usize,
    ) -> Prepared {
        let frame = &mut self.frame;
        frame.index = index;
        frame.incarnation = incarnation;
        frame.length = u32::try_from(length).expect("a block is short");
        frame.content = content;
        if !frame.sealed {
            frame.check = content_check(&buffer[..length]);
            let header = frame.to_bytes(keys);
            return Prepared { header, buffer, length };
        }
        let header = frame.to_bytes(keys);
        let node: NodeId = frame.sealer;
        let fresh = self.sealer.take().filter(|(of, _)| *of == incarnation);
        let (_, sealer) = self
            .sealer
            .insert(fresh.unwrap_or_else(|| (incarnation, keys.sealer(node, incarnation))));
        let tag = sealer.seal(index, &header, &mut buffer[..length]);
        buffer[length..length + TAG_LEN].copy_from_slice(&tag);
        Prepared { header, buffer, length: length + TAG_LEN }
    }
}

/// Feeds from what a node holds.
pub struct StoreFeeder {
    member: Arc<Member>,
    packer: Packer,
    spare: Option<Vec<u8>>,
}

impl StoreFeeder {
    /// A feeder for `lane` of the copy that `member` takes part in.
    #[must_use]
    pub fn new(member: Arc<Member>, lane: u16) -> Self {
        let packer = Packer::new(&member, lane);
        Self { member, packer, spare: None }
    }
}

impl Feeder for StoreFeeder {
    fn prepare(
        &mut self,
        index: u64,
        incarnation: u32,
        recorder: &mut Recorder,
    ) -> Result<Prepared, FeedError> {
        let member = &self.member;
        let (at, began) = (At::block(self.packer.frame.lane, index), recorder.now());
        let layout = member.layout;
        let length = layout.block_length(index) as usize;
        let room = layout.block_size as usize + TAG_LEN;
        let mut buffer = self.spare.take().unwrap_or_else(|| vec![0; room]);
        let store = &member.store;
        store
            .read_at(layout.offset(index), &mut buffer[..length])
            .map_err(|error| FeedError::Read(store.name(), reason(&error)))?;
        let began = recorder.took(Stage::Read, at, began, length);
        let content = content_digest(&buffer[..length]);
        if member.sink().content(index) != Some(content) {
            return Err(FeedError::Changed(store.name()));
        }
        let keys = &member.keys;
        let prepared = self.packer.pack(keys, index, incarnation, content, buffer, length);
        recorder.took(Stage::Seal, at, began, length);
        Ok(prepared)
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.spare = Some(buffer);
    }
}
