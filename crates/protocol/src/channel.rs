//! Channels encrypted by the Noise protocol (crate `snow`): the control channel between two known
//! key pairs (pattern KK), and the greeting of a link between two nodes of a session (pattern
//! NNpsk0). There is no handshake of our own design.

use snow::{Builder, HandshakeState, TransportState};
use thiserror::Error;

use super::keys::Secret;

/// The length of a public or private key in bytes.
pub const KEY_LEN: usize = 32;

/// The length of a handshake's hash (BLAKE2s) in bytes.
pub const BINDING_LEN: usize = 32;

/// The maximum length of a message in bytes: the payload of one Noise message.
pub const MAX_MESSAGE: usize = 65535 - 16;

const CONTROL: &str = "Noise_KK_25519_ChaChaPoly_BLAKE2s";
const LINK: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// A public key.
pub type PublicKey = [u8; KEY_LEN];

/// The key pair of an agent or a controller.
#[derive(Clone)]
pub struct KeyPair {
    /// The secret part.
    pub private: [u8; KEY_LEN],
    /// The part that peers know.
    pub public: PublicKey,
}

/// The side of a connection that this process is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that connected.
    Initiator,
    /// The side that accepted.
    Responder,
}

/// Why a channel cannot be opened, or a message is refused.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The peer does not have the required key, or bytes were changed in transit.
    #[error("the peer doesn't hold the right key, or its bytes were changed in transit")]
    Refused,
    /// The message exceeds the maximum length.
    #[error("message of {0} bytes: the maximum is {MAX_MESSAGE} bytes")]
    TooLong(usize),
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyPair(..)")
    }
}

impl KeyPair {
    /// Generates a key pair from the system's random numbers.
    ///
    /// # Panics
    /// Panics if the system provides no random numbers.
    #[must_use]
    pub fn generate() -> Self {
        let pair = builder(CONTROL, &[]).generate_keypair().expect("the system gives randomness");
        let key = |bytes: Vec<u8>| bytes.try_into().expect("a 25519 key has 32 bytes");
        Self { private: key(pair.private), public: key(pair.public) }
    }
}

/// A handshake in progress. It has two messages; the initiator sends the first.
pub struct Handshake {
    state: HandshakeState,
}

impl Handshake {
    /// Starts the control channel's handshake between `ours` and the holder of `theirs`. `prologue`
    /// is what both sides sent before it.
    ///
    /// # Errors
    /// Fails if `theirs` is not a valid key.
    pub fn control(
        role: Role,
        ours: &KeyPair,
        theirs: &PublicKey,
        prologue: &[u8],
    ) -> Result<Self, ChannelError> {
        let builder = builder(CONTROL, prologue)
            .local_private_key(&ours.private)
            .and_then(|builder| builder.remote_public_key(theirs));
        Self::build(builder, role)
    }

    /// Starts the greeting of a link between two nodes of the session with `secret`.
    ///
    /// # Errors
    /// Never fails for a secret of the right length, which the type ensures.
    pub fn link(role: Role, secret: &Secret, prologue: &[u8]) -> Result<Self, ChannelError> {
        Self::build(builder(LINK, prologue).psk(0, &secret.0), role)
    }

    fn build(builder: Result<Builder<'_>, snow::Error>, role: Role) -> Result<Self, ChannelError> {
        let state = builder.and_then(|builder| match role {
            Role::Initiator => builder.build_initiator(),
            Role::Responder => builder.build_responder(),
        });
        state.map(|state| Self { state }).map_err(|_| ChannelError::Refused)
    }

    /// Returns the next message to send. It carries `payload`, a few bytes for the peer.
    ///
    /// # Errors
    /// Fails if it is the peer's turn to send.
    pub fn write(&mut self, payload: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let mut message = vec![0; payload.len() + 128];
        let length =
            self.state.write_message(payload, &mut message).map_err(|_| ChannelError::Refused)?;
        message.truncate(length);
        Ok(message)
    }

    /// Reads the peer's message, and returns the payload in it.
    ///
    /// # Errors
    /// Fails if the peer does not hold the right key.
    pub fn read(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let mut payload = vec![0; message.len()];
        let length =
            self.state.read_message(message, &mut payload).map_err(|_| ChannelError::Refused)?;
        payload.truncate(length);
        Ok(payload)
    }

    /// Returns a value that only the two ends of this handshake share, after both messages were
    /// exchanged. It is not secret, but no other handshake has the same value.
    #[must_use]
    pub fn binding(&self) -> [u8; BINDING_LEN] {
        self.state.get_handshake_hash().try_into().expect("a BLAKE2s hash has 32 bytes")
    }

    /// Turns the handshake into a channel, after both messages were exchanged.
    ///
    /// # Errors
    /// Fails if the handshake is not finished.
    pub fn into_channel(self) -> Result<Channel, ChannelError> {
        let state = self.state.into_transport_mode().map_err(|_| ChannelError::Refused)?;
        Ok(Channel { state })
    }
}

/// An open channel. Noise numbers the messages, so replayed, dropped or reordered messages are
/// detected.
pub struct Channel {
    state: TransportState,
}

impl Channel {
    /// Encrypts `message` and appends it to `out`, preceded by its length (2 bytes, little endian).
    ///
    /// # Errors
    /// Fails if the message exceeds the maximum length.
    pub fn seal(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<(), ChannelError> {
        let start = out.len();
        let sealed = message.len() + TAG;
        let frame = u16::try_from(sealed).map_err(|_| ChannelError::TooLong(message.len()))?;
        out.extend(frame.to_le_bytes());
        out.resize(start + 2 + sealed, 0);
        self.state
            .write_message(message, &mut out[start + 2..])
            .map_err(|_| ChannelError::TooLong(message.len()))?;
        Ok(())
    }

    /// Removes the next whole message from the front of `received`, and decrypts it; `None` if it
    /// is not complete yet.
    ///
    /// # Errors
    /// Fails if the peer did not send these bytes.
    pub fn open(&mut self, received: &mut Vec<u8>) -> Result<Option<Vec<u8>>, ChannelError> {
        let Some(frame) = received.first_chunk::<2>() else { return Ok(None) };
        let sealed = usize::from(u16::from_le_bytes(*frame));
        let Some(bytes) = received.get(2..2 + sealed) else { return Ok(None) };
        let mut message = vec![0; sealed];
        let length =
            self.state.read_message(bytes, &mut message).map_err(|_| ChannelError::Refused)?;
        message.truncate(length);
        received.drain(..2 + sealed);
        Ok(Some(message))
    }
}

const TAG: usize = 16;

fn builder<'a>(pattern: &str, prologue: &'a [u8]) -> Builder<'a> {
    let params = pattern.parse().expect("the pattern is one that snow knows");
    Builder::new(params).prologue(prologue).expect("the prologue is set once")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shake(mut one: Handshake, mut two: Handshake) -> Result<(Channel, Channel), ChannelError> {
        let first = one.write(b"hello")?;
        assert_eq!(two.read(&first)?, b"hello");
        let second = two.write(b"")?;
        one.read(&second)?;
        Ok((one.into_channel()?, two.into_channel()?))
    }

    #[test]
    fn known_keys_open_a_channel() {
        let (head, agent) = (KeyPair::generate(), KeyPair::generate());
        let one = Handshake::control(Role::Initiator, &head, &agent.public, b"x").unwrap();
        let two = Handshake::control(Role::Responder, &agent, &head.public, b"x").unwrap();
        let (mut one, mut two) = shake(one, two).unwrap();
        let mut wire = Vec::new();
        one.seal(b"an order", &mut wire).unwrap();
        one.seal(b"another", &mut wire).unwrap();
        let last = wire.pop().unwrap();
        assert_eq!(two.open(&mut wire).unwrap().unwrap(), b"an order");
        assert!(two.open(&mut wire).unwrap().is_none(), "not whole yet");
        wire.push(last);
        assert_eq!(two.open(&mut wire).unwrap().unwrap(), b"another");
    }

    #[test]
    fn a_wrong_key_a_wrong_secret_or_a_changed_prologue_is_refused() {
        let (head, agent, stranger) =
            (KeyPair::generate(), KeyPair::generate(), KeyPair::generate());
        let one = Handshake::control(Role::Initiator, &stranger, &agent.public, b"x").unwrap();
        let two = Handshake::control(Role::Responder, &agent, &head.public, b"x").unwrap();
        assert!(shake(one, two).is_err());
        let one = Handshake::control(Role::Initiator, &head, &agent.public, b"y").unwrap();
        let two = Handshake::control(Role::Responder, &agent, &head.public, b"x").unwrap();
        assert!(shake(one, two).is_err());
        let one = Handshake::link(Role::Initiator, &Secret([1; 32]), b"").unwrap();
        let two = Handshake::link(Role::Responder, &Secret([2; 32]), b"").unwrap();
        assert!(shake(one, two).is_err());
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_sender() {
        let one = Handshake::link(Role::Initiator, &Secret([1; 32]), b"").unwrap();
        let two = Handshake::link(Role::Responder, &Secret([1; 32]), b"").unwrap();
        let (mut one, _) = shake(one, two).unwrap();
        assert!(one.seal(&vec![0; MAX_MESSAGE + 1], &mut Vec::new()).is_err());
        assert!(one.seal(&vec![0; MAX_MESSAGE], &mut Vec::new()).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bytes_that_the_peer_did_not_seal_are_refused(message in proptest::collection::vec(any::<u8>(), 0..300), garbage in proptest::collection::vec(any::<u8>(), 2..300), cut: prop::sample::Index) {
            let one = Handshake::link(Role::Initiator, &Secret([1; 32]), b"").unwrap();
            let two = Handshake::link(Role::Responder, &Secret([1; 32]), b"").unwrap();
            let mut wire = Vec::new();
            let (mut one, mut two) = shake(one, two).unwrap();
            one.seal(&message, &mut wire).unwrap();
            let cut = cut.index(wire.len());
            let mut received = wire[..cut].to_vec();
            prop_assert!(two.open(&mut received).unwrap().is_none());
            received.extend(&wire[cut..]);
            received.extend(&garbage);
            prop_assert_eq!(two.open(&mut received).unwrap(), Some(message));
            prop_assert!(!matches!(two.open(&mut received), Ok(Some(_))));
        }
    }
}
