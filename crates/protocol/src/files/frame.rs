//! The frames on a mount's connection: each has a payload and a message. The contents of a frame of
//! the [`Line`] are the payload, the message (postcard), and the message's length (4 bytes). The
//! payload comes first, so that it can be read from a disk directly into the buffer that is sent.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{ChannelError, FRAME_HEAD, Line, Opener, TAG};

/// The maximum length of a payload in bytes: the unit of reads and writes.
pub const PIECE: u32 = 1 << 20;

/// The maximum length of a frame after its prefix in bytes.
pub const FRAME_MAX: usize = PIECE as usize + (256 << 10);

const TRAILER: usize = 4;

/// The position of the message in an opened frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The offset of the message in bytes; the payload precedes the message.
    pub message: usize,
    /// The offset of the message's end in bytes.
    pub end: usize,
}

/// Completes and seals the next frame of `line`. `frame` must contain space for the prefix, and the
/// payload; `message` is appended.
///
/// # Panics
/// Panics if the message or the frame is too long, which callers prevent.
pub fn seal_file_frame(line: &mut Line, frame: &mut Vec<u8>, message: &impl Serialize) {
    let payload = frame.len();
    let bytes = postcard::to_extend(message, std::mem::take(frame));
    *frame = bytes.expect("every value can be serialised");
    let length = u32::try_from(frame.len() - payload);
    frame.extend(length.expect("a message is short").to_le_bytes());
    assert!(frame.len() - FRAME_HEAD + TAG <= FRAME_MAX, "a frame is bounded");
    line.seal_in_place(frame);
}

/// Opens a frame in place, from its bytes after the prefix, and returns the message.
///
/// # Errors
/// Fails if the peer did not send these bytes, or they contain no valid message.
pub fn open_file_frame<T: DeserializeOwned>(
    opener: &Opener,
    body: &mut [u8],
) -> Result<(T, Parts), ChannelError> {
    let contents = opener.open(body)?;
    let (rest, trailer) = contents.split_last_chunk::<TRAILER>().ok_or(ChannelError::Garbage)?;
    let length = u32::from_le_bytes(*trailer) as usize;
    let message = rest.len().checked_sub(length).ok_or(ChannelError::Garbage)?;
    let parts = Parts { message, end: rest.len() };
    let read = postcard::from_bytes(&rest[message..]).map_err(|_| ChannelError::Garbage)?;
    Ok((read, parts))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Ask, FileRef, FileRequest};
    use super::*;
    use crate::wire::length_behind;

    fn lines(sealed: bool, binding: &[u8]) -> [(Line, Line); 2] {
        let line = |key| {
            let line = Line::new(&[key; 32], binding);
            if sealed { line } else { line.into_clear() }
        };
        [(line(1), line(2)), (line(2), line(1))]
    }

    fn open(line: &mut Line, body: &mut [u8]) -> Result<(FileRequest, Parts), ChannelError> {
        open_file_frame(&line.take(), body)
    }

    fn frame(line: &mut Line, payload: &[u8], ask: Ask) -> Vec<u8> {
        let mut frame = vec![0; FRAME_HEAD];
        frame.extend(payload);
        seal_file_frame(line, &mut frame, &FileRequest { number: 5, ask });
        frame
    }

    #[test]
    fn sent_frames_open_and_nothing_else_does() {
        for sealed in [true, false] {
            let [(mut asks, _), (_, mut heard)] = lines(sealed, b"one");
            let first = frame(&mut asks, b"payload", Ask::Write(3, 9));
            let second = frame(&mut asks, b"", Ask::Stat(FileRef::Open(1)));
            let head = *first.first_chunk().unwrap();
            assert_eq!(length_behind(head, FRAME_MAX).unwrap(), first.len() - FRAME_HEAD);
            for at in 0..first.len() - FRAME_HEAD {
                let mut changed = first[FRAME_HEAD..].to_vec();
                changed[at] ^= 1;
                let [_, (_, mut other)] = lines(sealed, b"one");
                assert!(open(&mut other, &mut changed).is_err(), "{at}");
            }
            let mut body = first[FRAME_HEAD..].to_vec();
            let (asked, parts) = open(&mut heard, &mut body).unwrap();
            assert_eq!(asked, FileRequest { number: 5, ask: Ask::Write(3, 9) });
            assert_eq!(&body[..parts.message], b"payload");
            let again = open(&mut heard, &mut first[FRAME_HEAD..].to_vec());
            assert_eq!(again, Err(ChannelError::Changed), "a repeated frame");
            let [_, (_, mut late)] = lines(sealed, b"one");
            let left_out = open(&mut late, &mut second[FRAME_HEAD..].to_vec());
            assert_eq!(left_out, Err(ChannelError::Changed), "the frame before it is missing");
        }
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
            let opened = open(&mut heard, &mut forged);
            assert!(opened.is_err(), "accepted without the key: {opened:?}");
        }
        // A frame of the other direction, or of another connection, is refused as well.
        let [_, (mut answers, _)] = lines(false, b"one");
        let [(mut strange, _), _] = lines(false, b"two");
        for line in [&mut answers, &mut strange] {
            let mut body = frame(line, b"payload", Ask::Write(3, 9)).split_off(FRAME_HEAD);
            let [_, (_, mut heard)] = lines(false, b"one");
            let opened = open(&mut heard, &mut body);
            assert_eq!(opened, Err(ChannelError::Changed));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), sealed: bool) {
            let [_, (_, mut heard)] = lines(sealed, b"one");
            prop_assert!(open(&mut heard, &mut bytes.clone()).is_err());
        }
    }
}
