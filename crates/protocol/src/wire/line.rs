//! One direction of a connection after its Noise handshake: a sequence of sealed frames. Control
//! channels, greetings and mounts use it.
//!
//! A frame consists of the length of the rest (4 bytes, little endian), the contents, and a tag of
//! AES-256-GCM (16 bytes). The key is derived from the keys of the handshake, so it is unique to
//! the connection and the direction. The nonce is the frame's number, so that a missing, repeated,
//! reordered or changed frame is detected. After 2^16 frames (80 GiB at most) the next key is
//! derived, so there is no limit to a connection's traffic. The contents of an unencrypted frame
//! are the cipher's associated data: they can be read in transit, but not forged.
//!
//! Heads and agents of all releases exchange such frames when an agent is retired: if other
//! connections get another kind of frame, this one stays for
//! [`Purpose::Retire`](crate::wire::Purpose::Retire).

use std::sync::Arc;

use aws_lc_rs::aead::{Aad, LessSafeKey};
use aws_lc_rs::hkdf;
use thiserror::Error;

use crate::wire::secret::{aes_key, make_nonce};

/// The length of a frame's prefix in bytes, which precedes its contents.
pub const FRAME_HEAD: usize = 4;

/// The maximum length of a frame's contents in bytes.
const MAX_CONTENTS: usize = 65535 - TAG;

/// The maximum length of a message on a control channel in bytes. Its frame also has two numbers
/// ([`Delivery`](crate::wire::Delivery)).
pub const MAX_MESSAGE: usize = MAX_CONTENTS - 16;

/// The length of a frame's tag in bytes.
pub(crate) const TAG: usize = 16;

/// Why a channel cannot be opened, or a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChannelError {
    /// The peer does not have the required key, or bytes were changed in transit.
    #[error("the peer doesn't hold the right key, or its bytes were changed in transit")]
    Refused,
    /// The greeting has come before.
    #[error("the greeting is a repetition of another peer's, or of an earlier one")]
    Repeated,
    /// The greeting may have come before, as too many others: the peer is to come again.
    #[error("too many greetings that may be repeated have proved nothing: try again later")]
    Crowded,
    /// The owner of the key or secret greets too often, and is to come again.
    #[error(
        "the owner of the key or secret has opened too many connections in a short time: try again \
         later"
    )]
    TooOften,
    /// The message or frame is too long; contains its length and the maximum length in bytes.
    #[error("message of {0} bytes: the maximum is {1} bytes")]
    TooLong(usize, usize),
    /// The bytes are not the next frame that the peer sent.
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
    /// The pseudo-random key from which the keys of frames are derived.
    prk: hkdf::Prk,
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

impl Line {
    /// Creates a line whose frames are encrypted. `key` is the handshake's key of this direction,
    /// and `binding` the handshake's hash.
    pub(crate) fn new(key: &[u8; 32], binding: &[u8]) -> Self {
        let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, binding).extract(key);
        Self { key: frame_key(&prk, true, 0), prk, sealed: true, next: 0 }
    }

    /// Returns a line on which frames are authenticated, but not encrypted. The line has other
    /// keys, and its frames are numbered from 0.
    #[must_use]
    pub fn into_clear(self) -> Self {
        Self { key: frame_key(&self.prk, false, 0), prk: self.prk, sealed: false, next: 0 }
    }

    /// Appends `message` to `out` as the next frame.
    ///
    /// # Errors
    /// Fails if the message exceeds the maximum length.
    pub fn seal(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<(), ChannelError> {
        check_length(message.len(), MAX_CONTENTS)?;
        let mut frame = Vec::with_capacity(FRAME_HEAD + message.len() + TAG);
        frame.resize(FRAME_HEAD, 0);
        frame.extend(message);
        self.seal_in_place(&mut frame);
        out.append(&mut frame);
        Ok(())
    }

    /// Removes the next frame from the front of `received` and returns its message; `None` if the
    /// frame is not complete yet.
    ///
    /// # Errors
    /// Fails if the peer did not send these bytes.
    pub fn open(&mut self, received: &mut Vec<u8>) -> Result<Option<Vec<u8>>, ChannelError> {
        let Some(end) = frame_end(received)? else { return Ok(None) };
        let message = self.take().open(&mut received[FRAME_HEAD..end])?.to_vec();
        received.drain(..end);
        Ok(Some(message))
    }

    /// Removes all complete frames from the front of `received`, and adds their messages to
    /// `messages`. The rest is moved once, not for each frame: many short ones may have come.
    ///
    /// # Errors
    /// Fails if the peer did not send these bytes; the messages before them are added.
    pub fn open_all(
        &mut self,
        received: &mut Vec<u8>,
        messages: &mut Vec<Vec<u8>>,
    ) -> Result<(), ChannelError> {
        let mut at = 0;
        let opened = loop {
            let rest = &mut received[at..];
            let end = match frame_end(rest) {
                Ok(Some(end)) => end,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            match self.take().open(&mut rest[FRAME_HEAD..end]) {
                Ok(message) => messages.push(message.to_vec()),
                Err(error) => break Err(error),
            }
            at += end;
        };
        received.drain(..at);
        opened
    }

    /// Completes and seals the next frame. `frame` has space for the prefix, then the contents.
    pub(crate) fn seal_in_place(&mut self, frame: &mut Vec<u8>) {
        let behind = frame.len() - FRAME_HEAD + TAG;
        let head = u32::try_from(behind).expect("frames are short").to_le_bytes();
        let (space, contents) = frame.split_at_mut(FRAME_HEAD);
        space.copy_from_slice(&head);
        let nonce = make_nonce(self.advance(), 0);
        let tag = match self.sealed {
            true => self.key.seal_in_place_separate_tag(nonce, Aad::from(head), contents),
            false => self.key.seal_in_place_separate_tag(nonce, Aad::from(&*contents), &mut []),
        };
        frame.extend(tag.expect("a frame is far below the cipher's limit").as_ref());
    }

    /// Returns the key and number of the frame that has arrived, so that other frames can be
    /// received before this one is opened.
    pub fn take(&mut self) -> Opener {
        let number = self.advance();
        Opener { key: Arc::clone(&self.key), sealed: self.sealed, number }
    }

    /// Returns the number of the next frame, and changes the key after each [`KEY_FRAMES`] frames.
    fn advance(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        if number > 0 && number.is_multiple_of(KEY_FRAMES) {
            self.key = frame_key(&self.prk, self.sealed, number / KEY_FRAMES);
        }
        number
    }
}

impl Opener {
    /// Opens the bytes after a prefix in place, and returns the contents.
    pub(crate) fn open<'a>(&self, body: &'a mut [u8]) -> Result<&'a mut [u8], ChannelError> {
        let nonce = make_nonce(self.number, 0);
        let opened = if self.sealed {
            let head = u32::try_from(body.len()).map_err(|_| ChannelError::Changed)?;
            self.key.open_in_place(nonce, Aad::from(head.to_le_bytes()), body)
        } else {
            // The length of the frame is authenticated with it.
            let (clear, tag) = body.split_last_chunk_mut::<TAG>().ok_or(ChannelError::Changed)?;
            self.key.open_in_place(nonce, Aad::from(&*clear), tag).map(|_| clear)
        };
        opened.map_err(|_| ChannelError::Changed)
    }
}

/// Returns the number of bytes after a frame's prefix.
///
/// # Errors
/// Fails if there are more than `most`.
pub fn length_behind(head: [u8; FRAME_HEAD], most: usize) -> Result<usize, ChannelError> {
    let length = u32::from_le_bytes(head) as usize;
    check_length(length, most).map(|()| length)
}

/// Returns where the frame at the beginning of `received` ends; `None` if it is not complete yet.
fn frame_end(received: &[u8]) -> Result<Option<usize>, ChannelError> {
    let Some(head) = received.first_chunk() else { return Ok(None) };
    let end = FRAME_HEAD + length_behind(*head, MAX_CONTENTS + TAG)?;
    Ok(Some(end).filter(|end| *end <= received.len()))
}

fn check_length(length: usize, most: usize) -> Result<(), ChannelError> {
    if length > most { Err(ChannelError::TooLong(length, most)) } else { Ok(()) }
}

/// Derives the key of the [`KEY_FRAMES`] frames from number `run` * [`KEY_FRAMES`] on.
fn frame_key(prk: &hkdf::Prk, sealed: bool, run: u64) -> Arc<LessSafeKey> {
    let label: &[u8] = if sealed { b"garland/1 frames" } else { b"garland/1 clear frames" };
    Arc::new(aes_key(prk, &[label, &run.to_le_bytes()]))
}

#[cfg(test)]
mod tests;
