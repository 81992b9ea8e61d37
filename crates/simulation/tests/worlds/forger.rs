//! What a liar sends over its links in place of its agent's frames. It has the copy's secret: all
//! of it has valid MACs and seals.

use garland_protocol::copy::{CopyId, FRAME_LEN, Frame, Keys, Kind, TAG_LEN};
use garland_sys::world::Random;

use crate::liar::Lie;

/// Changes the frames of a link.
pub struct Forger {
    lie: Lie,
    random: Random,
    copy: CopyId,
}

impl Forger {
    pub fn new(lie: Lie, random: Random, copy: CopyId) -> Self {
        Self { lie, random, copy }
    }

    /// Returns what is sent in place of a frame, whose header is `header`, and its payload.
    pub fn forge(
        &mut self,
        keys: &mut Keys,
        frame: &Frame,
        header: &[u8; FRAME_LEN],
        payload: Vec<u8>,
    ) -> Vec<u8> {
        let honest = || [&header[..], &payload].concat();
        match self.lie {
            Lie::Contents(every) if self.random.once_in(every) => match frame.kind {
                Kind::Block => self.forge_block(keys, frame, header, payload),
                Kind::Digests => self.forge_digests(keys, frame, payload),
                _ => honest(),
            },
            Lie::Silence if matches!(frame.kind, Kind::Resume | Kind::Have) => Vec::new(),
            Lie::Frames if self.random.once_in(8) => self.misplace(keys, frame, honest()),
            _ => honest(),
        }
    }

    /// Changes the contents of a block, and seals it anew.
    fn forge_block(
        &mut self,
        keys: &mut Keys,
        frame: &Frame,
        header: &[u8; FRAME_LEN],
        mut payload: Vec<u8>,
    ) -> Vec<u8> {
        if frame.sealed {
            keys.open(frame, header, &mut payload).expect("the agent seals its blocks");
            payload.truncate(payload.len() - TAG_LEN);
        }
        let at = self.random.below(payload.len() as u64) as usize;
        payload[at..].iter_mut().for_each(|byte| *byte ^= 1 << (at % 8));
        let mut bytes = header.to_vec();
        if frame.sealed {
            let sealer = keys.sealer(frame.sealer, frame.incarnation, frame.index);
            let tag = sealer.seal(frame, header, &mut payload);
            payload.extend(tag);
        }
        bytes.append(&mut payload);
        bytes
    }

    /// Changes a digest, which the source has signed.
    fn forge_digests(&mut self, keys: &Keys, frame: &Frame, mut payload: Vec<u8>) -> Vec<u8> {
        let at = self.random.below(payload.len() as u64) as usize;
        payload[at] ^= 1 << (at % 8);
        [&frame.to_bytes(keys)[..], &payload].concat()
    }

    /// Drops a frame, repeats it, or sends another one before it or in its place.
    fn misplace(&mut self, keys: &Keys, frame: &Frame, honest: Vec<u8>) -> Vec<u8> {
        const KINDS: [Kind; 8] = [
            Kind::Block,
            Kind::Void,
            Kind::End,
            Kind::Resume,
            Kind::Again,
            Kind::Have,
            Kind::Digests,
            Kind::SourceEnd,
        ];
        let number = self.number(frame.index);
        let mut other = match self.random.once_in(2) {
            true => frame.clone(),
            false => {
                Frame::bare(KINDS[self.random.below(8) as usize], self.copy, frame.lane, number)
            }
        };
        match self.random.below(6) {
            0 => return Vec::new(),
            1 => return honest.repeat(2),
            2 => other.index = number,
            3 => other.length = number as u32,
            4 => other.lane = number as u16,
            _ => other.bits = [self.random.bits() as u8; 32],
        }
        let mut bytes = other.to_bytes(keys).to_vec();
        if self.random.once_in(2) {
            bytes.extend(honest);
        }
        bytes
    }

    /// Draws a number that may be near to one that was meant.
    fn number(&mut self, near: u64) -> u64 {
        match self.random.below(4) {
            0 => self.random.below(20),
            1 => near.wrapping_add(self.random.below(3)).wrapping_sub(1),
            2 => self.random.bits(),
            _ => u64::MAX,
        }
    }
}
