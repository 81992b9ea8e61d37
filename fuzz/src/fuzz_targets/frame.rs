//! No bytes that their maker couldn't mark are a frame, and every marked frame survives.
#![no_main]

use garland_core::plan::NodeId;
use garland_core::proto::{Copy, FRAME_LEN, Frame, Keys, Kind, Secret};
use libfuzzer_sys::fuzz_target;

const KINDS: [Kind; 6] =
    [Kind::Open, Kind::Block, Kind::Void, Kind::End, Kind::Resume, Kind::Again];

fuzz_target!(|bytes: [u8; FRAME_LEN]| {
    let (copy, secret) = (Copy([1; 16]), Secret([7; 32]));
    let keys = Keys::new(&secret, copy);
    assert!(Frame::parse(&bytes, &keys).is_err(), "a forged frame was believed");
    let _ = Frame::claimed_copy(&bytes);
    let number =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let index = u64::from(number(4)) << 32 | u64::from(number(8));
    let kind = KINDS[usize::from(bytes[0]) % KINDS.len()];
    let mut frame = Frame::bare(kind, copy, u16::from(bytes[1]), index);
    frame.sealed = bytes[2] & 1 == 1;
    (frame.length, frame.epoch, frame.incarnation) = (number(12), number(16), number(20));
    (frame.sealer, frame.check) = (NodeId(number(24)), index.rotate_left(7));
    frame.content.copy_from_slice(&bytes[28..60]);
    let mut wire = frame.to_bytes(&keys);
    assert_eq!(Frame::parse(&wire, &keys), Ok(frame));
    wire[usize::from(bytes[60]) % FRAME_LEN] ^= 1 << (bytes[61] % 8);
    assert!(Frame::parse(&wire, &keys).is_err(), "a changed frame was believed");
});
