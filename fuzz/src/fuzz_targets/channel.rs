//! An open channel gives what its peer sealed, in order, and refuses everything else, however it
//! is cut.
#![no_main]

use garland_core::proto::{Channel, Handshake, Role, Secret};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>, u16)| {
    let (message, garbage, cut) = input;
    let (mut near, mut far) = channels();
    let mut wire = Vec::new();
    if near.seal(&message, &mut wire).is_err() {
        return;
    }
    let cut = usize::from(cut) % wire.len();
    let mut received = wire[..cut].to_vec();
    assert!(matches!(far.open(&mut received), Ok(None)), "a part is no message");
    received.extend(&wire[cut..]);
    received.extend(&garbage);
    assert_eq!(far.open(&mut received).ok().flatten(), Some(message));
    assert_eq!(received, garbage);
    while let Ok(Some(forged)) = far.open(&mut received) {
        panic!("{} forged bytes were believed", forged.len());
    }
});

fn channels() -> (Channel, Channel) {
    let secret = Secret([3; 32]);
    let shake = |role| Handshake::link(role, &secret, b"fuzz").expect("the secret is one");
    let (mut near, mut far) = (shake(Role::Initiator), shake(Role::Responder));
    far.read(&near.write(&[]).expect("its turn")).expect("the secret is the same");
    near.read(&far.write(&[]).expect("its turn")).expect("the secret is the same");
    let open = |shake: Handshake| shake.into_channel().expect("both messages went over");
    (open(near), open(far))
}
