//! The frames on a mount's connection: each has a payload and a message, and is authenticated with
//! a key that is unique to the connection and direction.
//!
//! A frame consists of the length of the rest (4 bytes, little endian), the payload, the message
//! (postcard), the message's length (4 bytes), and a tag of AES-256-GCM (16 bytes). A sealed frame
//! is encrypted. A clear one is the cipher's associated data: it can be read in transit, but not
//! forged. Frames are numbered in order, and the number is the nonce, so a missing, repeated or
//! changed frame is detected. After 2^16 frames (80 GiB at most) a new key is derived from the same
//! secret, so there is no limit to a mount's traffic. The payload comes first, so that it can be
//! read from a disk directly into the buffer that is sent.

use std::sync::Arc;

use aws_lc_rs::aead::{Aad, LessSafeKey};
use aws_lc_rs::hkdf;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::channel::Role;
use crate::keys::{Secret, aes_key, nonce};

/// The maximum length of a payload in bytes: the unit of reads and writes.
pub const PIECE: u32 = 1 << 20;

/// The length of a frame's prefix in bytes, which precedes the sealed part.
pub const FRAME_HEAD: usize = 4;

/// The maximum length of a frame after its prefix in bytes.
pub const FRAME_MAX: usize = PIECE as usize + (256 << 10);

const TAG: usize = 16;
const TRAILER: usize = 4;

/// Why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// The frame exceeds the maximum length.
    #[error("frame of {0} bytes: the maximum is {FRAME_MAX} bytes")]
    TooLong(usize),
    /// The bytes are not those that the peer sent.
    #[error("a frame was changed in transit")]
    Changed,
    /// The frame has no message of this version.
    #[error("protocol error: a frame contains no valid message")]
    Garbage,
}

/// The number of frames that one key seals.
const KEY_FRAMES: u64 = 1 << 16;

/// One direction of a connection.
pub struct Line {
    /// The pseudo-random key from which the line's keys are derived.
    prk: hkdf::Prk,
    /// The purpose of the keys: no two lines have the same keys.
    label: Vec<u8>,
    /// The key of the next frames.
    key: Arc<LessSafeKey>,
    sealed: bool,
    next: u64,
}

/// The key and number of a frame that has arrived; any thread can open the frame with it.
pub struct Opener {
    key: Arc<LessSafeKey>,
    sealed: bool,
    number: u64,
}

/// The position of the message in an opened frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The offset of the message; the payload is before it.
    pub message: usize,
    /// The offset of the message's end.
    pub end: usize,
}

impl Line {
    /// Returns the lines for sending and receiving of the side `role` of a connection. `binding` is
    /// unique to the connection's greeting, so no two connections have the same keys even if they
    /// use the same secret. Frames are always authenticated, and also encrypted if `sealed`.
    #[must_use]
    pub fn both(secret: &Secret, binding: &[u8], sealed: bool, role: Role) -> (Self, Self) {
        let line = |label: &[u8]| {
            let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, binding).extract(&secret.0);
            let kind: &[u8] = if sealed { b"garland/1 files " } else { b"garland/1 files clear " };
            let label = [kind, label].concat();
            let key = Arc::new(key(&prk, &label, 0));
            Self { prk, label, key, sealed, next: 0 }
        };
        let (asks, answers) = (line(b"asks"), line(b"answers"));
        match role {
            Role::Initiator => (asks, answers),
            Role::Responder => (answers, asks),
        }
    }

    /// Completes the next frame. `frame` has room for the prefix and then the payload; `message` is
    /// appended, and the frame is sealed.
    ///
    /// # Panics
    /// Panics if the message or the frame is too long, which callers prevent.
    pub fn close(&mut self, frame: &mut Vec<u8>, message: &impl Serialize) {
        let payload = frame.len();
        let bytes = postcard::to_extend(message, std::mem::take(frame));
        *frame = bytes.expect("the type has no unserialisable part");
        let length = u32::try_from(frame.len() - payload);
        frame.extend(length.expect("a message is short").to_le_bytes());
        let behind = frame.len() - FRAME_HEAD + TAG;
        assert!(behind <= FRAME_MAX, "a frame is bounded");
        let head = u32::try_from(behind).expect("it is bounded").to_le_bytes();
        let (space, body) = frame.split_at_mut(FRAME_HEAD);
        space.copy_from_slice(&head);
        let nonce = nonce(self.number(), 0);
        let tag = match self.sealed {
            true => self.key.seal_in_place_separate_tag(nonce, Aad::from(head), body),
            false => self.key.seal_in_place_separate_tag(nonce, Aad::from(&*body), &mut []),
        };
        let tag = tag.expect("a frame is far below the cipher's limit");
        frame.extend(tag.as_ref());
    }

    /// Returns the number of the next frame, and changes the key if it is due.
    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        if number > 0 && number.is_multiple_of(KEY_FRAMES) {
            self.key = Arc::new(key(&self.prk, &self.label, number / KEY_FRAMES));
        }
        number
    }

    /// Returns the key and number of the frame that has arrived, so that other frames can be
    /// received before this one is opened.
    pub fn take(&mut self) -> Opener {
        let number = self.number();
        Opener { key: Arc::clone(&self.key), sealed: self.sealed, number }
    }

    /// Returns the number of bytes after a frame's prefix.
    ///
    /// # Errors
    /// Fails if there are more than a frame may have.
    pub fn behind(head: [u8; FRAME_HEAD]) -> Result<usize, LineError> {
        let length = u32::from_le_bytes(head) as usize;
        if length > FRAME_MAX { Err(LineError::TooLong(length)) } else { Ok(length) }
    }
}

impl Opener {
    /// Opens the bytes after a prefix, in place.
    ///
    /// # Errors
    /// Fails if they are not what the peer sent, or contain no valid message.
    pub fn open<T: DeserializeOwned>(&self, body: &mut [u8]) -> Result<(T, Parts), LineError> {
        let head = u32::try_from(body.len()).map_err(|_| LineError::TooLong(body.len()))?;
        let nonce = nonce(self.number, 0);
        let plain = if self.sealed {
            let opened = self.key.open_in_place(nonce, Aad::from(head.to_le_bytes()), body);
            opened.map_err(|_| LineError::Changed)?.len()
        } else {
            // The length of the frame is authenticated with it.
            let (clear, tag) = body.split_last_chunk_mut::<TAG>().ok_or(LineError::Garbage)?;
            let opened = self.key.open_in_place(nonce, Aad::from(&*clear), tag);
            opened.map_err(|_| LineError::Changed)?;
            clear.len()
        };
        let (rest, trailer) =
            body[..plain].split_last_chunk::<TRAILER>().ok_or(LineError::Garbage)?;
        let length = u32::from_le_bytes(*trailer) as usize;
        let message = rest.len().checked_sub(length).ok_or(LineError::Garbage)?;
        let parts = Parts { message, end: rest.len() };
        let read = postcard::from_bytes(&rest[message..]).map_err(|_| LineError::Garbage)?;
        Ok((read, parts))
    }
}

/// Derives the key of the frames from `run` * [`KEY_FRAMES`] on.
fn key(prk: &hkdf::Prk, label: &[u8], run: u64) -> LessSafeKey {
    aes_key(prk, &[label, &run.to_le_bytes()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Ask, FileRef, FileRequest};
    use super::*;

    fn lines(sealed: bool, binding: &[u8]) -> [(Line, Line); 2] {
        [Role::Initiator, Role::Responder]
            .map(|role| Line::both(&Secret([7; 32]), binding, sealed, role))
    }

    fn frame(line: &mut Line, payload: &[u8], ask: Ask) -> Vec<u8> {
        let mut frame = vec![0; FRAME_HEAD];
        frame.extend(payload);
        line.close(&mut frame, &FileRequest { number: 5, ask });
        frame
    }

    #[test]
    fn sent_frames_open_and_nothing_else_does() {
        for sealed in [true, false] {
            let [(mut asks, _), (_, mut heard)] = lines(sealed, b"one");
            let first = frame(&mut asks, b"payload", Ask::Write(3, 9));
            let second = frame(&mut asks, b"", Ask::Stat(FileRef::Open(1)));
            let head = *first.first_chunk().unwrap();
            assert_eq!(Line::behind(head).unwrap(), first.len() - FRAME_HEAD);
            for at in 0..first.len() - FRAME_HEAD {
                let mut changed = first[FRAME_HEAD..].to_vec();
                changed[at] ^= 1;
                let [_, (_, mut other)] = lines(sealed, b"one");
                assert!(other.take().open::<FileRequest>(&mut changed).is_err(), "{at}");
            }
            let mut body = first[FRAME_HEAD..].to_vec();
            let (asked, parts) = heard.take().open::<FileRequest>(&mut body).unwrap();
            assert_eq!(asked, FileRequest { number: 5, ask: Ask::Write(3, 9) });
            assert_eq!(&body[..parts.message], b"payload");
            let again = heard.take().open::<FileRequest>(&mut first[FRAME_HEAD..].to_vec());
            assert_eq!(again, Err(LineError::Changed), "a repeated frame");
            let [_, (_, mut late)] = lines(sealed, b"one");
            let left_out = late.take().open::<FileRequest>(&mut second[FRAME_HEAD..].to_vec());
            assert_eq!(left_out, Err(LineError::Changed), "the frame before it is missing");
        }
    }

    #[test]
    fn a_line_changes_its_key_at_intervals() {
        let [(mut asks, _), (_, mut heard)] = lines(true, b"one");
        // Skip to the last frame of the first key: only the numbers of frames count.
        (asks.next, heard.next) = (KEY_FRAMES - 1, KEY_FRAMES - 1);
        let first = Arc::clone(&asks.key);
        for turn in 0..3 {
            let mut body = frame(&mut asks, b"payload", Ask::Close(9)).split_off(FRAME_HEAD);
            let opened = heard.take().open::<FileRequest>(&mut body);
            assert!(opened.is_ok(), "frame {turn}: {opened:?}");
            assert_eq!(Arc::ptr_eq(&first, &asks.key), turn == 0, "frame {turn}");
        }
        let old = Opener { key: first, sealed: true, number: KEY_FRAMES + 2 };
        let mut body = frame(&mut asks, b"payload", Ask::Close(9)).split_off(FRAME_HEAD);
        assert_eq!(
            old.open::<FileRequest>(&mut body),
            Err(LineError::Changed),
            "it is another key"
        );
    }

    #[test]
    fn no_two_connections_and_directions_have_the_same_keys() {
        for sealed in [true, false] {
            let ask = || Ask::Close(1);
            let [(mut one, mut back), _] = lines(sealed, b"one");
            let [(mut two, _), _] = lines(sealed, b"two");
            let frames = [&mut one, &mut back, &mut two].map(|line| frame(line, b"x", ask()));
            assert_ne!(frames[0], frames[1]);
            assert_ne!(frames[0], frames[2]);
        }
    }

    #[test]
    fn without_the_key_no_request_is_accepted_even_unencrypted() {
        let [(mut asks, _), _] = lines(false, b"one");
        let sent = frame(&mut asks, b"payload", Ask::Write(3, 9));
        let readable = sent.windows(7).any(|bytes| bytes == b"payload");
        assert!(readable, "payloads are in the clear");
        // A forged request: a valid message, with every checksum that needs no key.
        let mut plain = b"PAYLOAD".to_vec();
        let payload = plain.len();
        let asked = FileRequest { number: 5, ask: Ask::Write(3, 4096) };
        plain = postcard::to_extend(&asked, plain).unwrap();
        let length = u32::try_from(plain.len() - payload).unwrap();
        plain.extend(length.to_le_bytes());
        let digest = blake3::hash(&plain);
        let hashed = [&plain[..], &digest.as_bytes()[..16]].concat();
        let bare = [&plain[..], &[0; 16]].concat();
        for mut forged in [hashed, bare, plain] {
            let [_, (_, mut heard)] = lines(false, b"one");
            let opened = heard.take().open::<FileRequest>(&mut forged);
            assert!(opened.is_err(), "accepted without the key: {opened:?}");
        }
        // A frame of the other direction, or of another connection, is refused as well.
        let [_, (mut answers, _)] = lines(false, b"one");
        let [(mut strange, _), _] = lines(false, b"two");
        for line in [&mut answers, &mut strange] {
            let mut body = frame(line, b"payload", Ask::Write(3, 9)).split_off(FRAME_HEAD);
            let [_, (_, mut heard)] = lines(false, b"one");
            let opened = heard.take().open::<FileRequest>(&mut body);
            assert_eq!(opened, Err(LineError::Changed));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), sealed: bool) {
            let [_, (_, mut heard)] = lines(sealed, b"one");
            prop_assert!(heard.take().open::<FileRequest>(&mut bytes.clone()).is_err());
        }
    }
}
