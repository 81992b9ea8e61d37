//! Tests of lines: what their frames are bound to.

use super::*;

/// Returns the two ends of one direction.
fn ends() -> [Line; 2] {
    [(); 2].map(|()| Line::new(&[7; 32], b"binding"))
}

fn pass(near: &mut Line, far: &mut Line) -> Result<Option<Vec<u8>>, ChannelError> {
    let mut wire = Vec::new();
    near.seal(b"message", &mut wire)?;
    far.open(&mut wire)
}

/// Heads and agents of all releases exchange such frames when an agent is retired. The bytes were
/// computed by another implementation of HKDF and AES.
#[test]
fn the_first_frames_of_a_line_never_change() {
    let [mut near, _] = ends();
    let mut wire = Vec::new();
    near.seal(b"R\x03\x02", &mut wire).unwrap();
    near.seal(b"E\0\0", &mut wire).unwrap();
    let hexadecimal: String = wire.iter().map(|byte| format!("{byte:02x}")).collect();
    let wanted = "1300000089867c95f173f36a6d1d4fec223e0e99d2b771\
                  13000000c4af88f9b9cb8b08500f4e09577cb62c5c50df";
    assert_eq!(hexadecimal, wanted);
}

#[test]
fn a_line_changes_its_key_at_intervals() {
    let [mut near, mut far] = ends();
    // Skip to the last frame of the first key: only the numbers of frames count.
    (near.next, far.next) = (KEY_FRAMES - 1, KEY_FRAMES - 1);
    let first = Arc::clone(&near.key);
    for turn in 0..3 {
        assert_eq!(pass(&mut near, &mut far), Ok(Some(b"message".to_vec())), "frame {turn}");
        assert_eq!(Arc::ptr_eq(&first, &near.key), turn == 0, "frame {turn}");
    }
    far.key = first;
    assert_eq!(pass(&mut near, &mut far), Err(ChannelError::Changed), "it is another key");
}

#[test]
fn a_repeated_missing_or_reordered_frame_is_refused() {
    let [mut near, _] = ends();
    let frames: [Vec<u8>; 2] = [(); 2].map(|()| {
        let mut wire = Vec::new();
        near.seal(b"message", &mut wire).unwrap();
        wire
    });
    assert_ne!(frames[0], frames[1], "equal messages");
    let [_, mut far] = ends();
    assert_eq!(far.open(&mut frames[1].clone()), Err(ChannelError::Changed), "one is missing");
    let [_, mut far] = ends();
    assert!(far.open(&mut frames[0].clone()).is_ok());
    assert_eq!(far.open(&mut frames[0].clone()), Err(ChannelError::Changed), "repeated");
}

#[test]
fn a_clear_frame_is_no_sealed_one_and_has_another_key() {
    let [near, far] = ends();
    let mut near = near.into_clear();
    let mut clear = far.into_clear();
    let mut wire = Vec::new();
    near.seal(b"message", &mut wire).unwrap();
    assert_eq!(&wire[FRAME_HEAD..][..7], b"message");
    let [_, mut sealed] = ends();
    assert_eq!(sealed.open(&mut wire.clone()), Err(ChannelError::Changed));
    wire[FRAME_HEAD] ^= 1;
    assert_eq!(clear.open(&mut wire), Err(ChannelError::Changed));
}

#[test]
fn a_length_beyond_all_messages_is_refused_before_it_has_arrived() {
    let [mut near, mut far] = ends();
    assert!(near.seal(&vec![0; MAX_CONTENTS + 1], &mut Vec::new()).is_err());
    assert!(near.seal(&vec![0; MAX_CONTENTS], &mut Vec::new()).is_ok());
    let length = MAX_CONTENTS + TAG + 1;
    let mut received = u32::try_from(length).unwrap().to_le_bytes().to_vec();
    let refused = Err(ChannelError::TooLong(length, length - 1));
    assert_eq!(far.open(&mut received), refused);
}

#[test]
fn all_complete_frames_are_opened_and_the_rest_stays() {
    let [mut near, mut far] = ends();
    let mut wire = Vec::new();
    for message in [&b"one"[..], b"", b"three", b"four"] {
        near.seal(message, &mut wire).unwrap();
    }
    let last = wire.split_off(wire.len() - 3);
    let mut messages = Vec::new();
    assert_eq!(far.open_all(&mut wire, &mut messages), Ok(()));
    assert_eq!(messages, [&b"one"[..], b"", b"three"]);
    assert_eq!(wire.len(), FRAME_HEAD + 4 + TAG - 3);
    wire.extend(last);
    assert_eq!(far.open_all(&mut wire, &mut messages), Ok(()));
    assert_eq!((messages.len(), &messages[3][..], wire.len()), (4, &b"four"[..], 0));
}

#[test]
fn messages_before_a_changed_frame_are_opened() {
    let [mut near, mut far] = ends();
    let mut wire = Vec::new();
    (0..3).for_each(|_| near.seal(b"message", &mut wire).unwrap());
    wire[FRAME_HEAD + 7 + TAG + FRAME_HEAD] ^= 1;
    let mut messages = Vec::new();
    assert_eq!(far.open_all(&mut wire, &mut messages), Err(ChannelError::Changed));
    assert_eq!(messages, [b"message"]);
}
