//! Handshakes of the Noise protocol (crate `snow`): on control channels between peers that know
//! each other's public keys (pattern KK), and on links between nodes that share a secret (pattern
//! NNpsk0). [`Line`] defines the frames after the handshake.

use snow::params::DHChoice;
use snow::resolvers::CryptoResolver;
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use crate::wire::agreement::Agreement;
pub use crate::wire::curve25519::KEY_LEN;
use crate::wire::curve25519::{Resolver, StaticExchange};
use crate::wire::line::{ChannelError, Line};
use crate::wire::secret::Secret;

const CONTROL: &str = "Noise_KK_25519_ChaChaPoly_BLAKE2s";
const LINK: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// A public key (Curve25519).
pub type PublicKey = [u8; KEY_LEN];

/// Returns the fingerprint by which logs and `garland key show` name a public key: the first 16
/// hexadecimal digits of its BLAKE3 digest.
#[must_use]
pub fn fingerprint(key: &PublicKey) -> String {
    let digest = blake3::hash(key);
    digest.as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key pair of an agent or a controller.
#[derive(Clone)]
pub struct KeyPair {
    /// The private key.
    pub private: Secret,
    /// The public key, which peers know.
    pub public: PublicKey,
}

/// The side of a connection that this process is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that connected.
    Initiator,
    /// The side that accepted.
    Responder,
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
        let pair = noise_builder(CONTROL, &[], None)
            .generate_keypair()
            .expect("the system has random numbers");
        let key = |bytes: Vec<u8>| bytes.try_into().expect("a 25519 key has 32 bytes");
        Self { private: Secret(key(pair.private)), public: key(pair.public) }
    }

    /// Makes the exchange with the holder of the public key `theirs`, with whom this process has
    /// connections on the side `side`.
    ///
    /// # Errors
    /// Fails if `theirs` is not a valid key.
    pub fn agree(&self, side: Side, theirs: &PublicKey) -> Result<Agreement, ChannelError> {
        let exchange = StaticExchange::new(&self.private.0, theirs).ok_or(ChannelError::Refused)?;
        Ok(match side {
            Side::Initiator => Agreement::new(exchange, &self.public, theirs),
            Side::Responder => Agreement::new(exchange, theirs, &self.public),
        })
    }

    /// Returns the key pair whose private key this is.
    ///
    /// # Panics
    /// Never: every 32 bytes are a private key of Curve25519.
    #[must_use]
    pub fn from_private(private: Secret) -> Self {
        let exchange = Resolver::default().resolve_dh(&DHChoice::Curve25519);
        let mut exchange = exchange.expect("the resolver has Curve25519");
        exchange.set(&private.0);
        let public = exchange.pubkey().try_into().expect("a 25519 key has 32 bytes");
        Self { private, public }
    }
}

/// A handshake in progress. It has two messages; the initiator sends the first.
pub struct Handshake {
    state: HandshakeState,
}

impl Handshake {
    /// Starts the control channel's handshake between the holders of two keys. `prologue` is what
    /// both sides sent before the handshake.
    ///
    /// # Errors
    /// Never fails: the type ensures that the keys have the right length.
    pub fn control(side: Side, keys: &Agreement, prologue: &[u8]) -> Result<Self, ChannelError> {
        let exchange = keys.exchange();
        let builder = noise_builder(CONTROL, prologue, Some(exchange.clone()))
            .local_private_key(exchange.private())
            .and_then(|builder| builder.remote_public_key(exchange.theirs()));
        Self::build(builder, side)
    }

    /// Starts the handshake of a link between two nodes that share the session's `secret`.
    ///
    /// # Errors
    /// Never fails: the type ensures that the secret has the right length.
    pub fn link(side: Side, secret: &Secret, prologue: &[u8]) -> Result<Self, ChannelError> {
        Self::build(noise_builder(LINK, prologue, None).psk(0, &secret.0), side)
    }

    fn build(builder: Result<Builder<'_>, snow::Error>, side: Side) -> Result<Self, ChannelError> {
        let state = builder.and_then(|builder| match side {
            Side::Initiator => builder.build_initiator(),
            Side::Responder => builder.build_responder(),
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

    /// Turns the handshake into a channel, after both messages were exchanged.
    ///
    /// # Errors
    /// Fails if the handshake is not finished.
    pub fn into_channel(mut self) -> Result<Channel, ChannelError> {
        if !self.state.is_handshake_finished() {
            return Err(ChannelError::Refused);
        }
        let (initiator, responder) = self.state.dangerously_get_raw_split();
        let [initiator, responder] = [initiator, responder]
            .map(|key| Line::new(&Zeroizing::new(key), self.state.get_handshake_hash()));
        Ok(match self.state.is_initiator() {
            true => Channel { sending: initiator, receiving: responder },
            false => Channel { sending: responder, receiving: initiator },
        })
    }
}

/// An open channel: the two directions of a connection. No other connection or direction has the
/// same keys.
pub struct Channel {
    /// Seals the frames that this side sends.
    pub sending: Line,
    /// Opens the frames of the peer.
    pub receiving: Line,
}

fn noise_builder<'a>(
    pattern: &str,
    prologue: &'a [u8],
    made: Option<StaticExchange>,
) -> Builder<'a> {
    let params = pattern.parse().expect("snow supports the pattern");
    let builder = Builder::with_resolver(params, Box::new(Resolver { made }));
    builder.prologue(prologue).expect("the prologue is set once")
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

    fn control(side: Side, ours: &KeyPair, theirs: &PublicKey, prologue: &[u8]) -> Handshake {
        let keys = ours.agree(side, theirs).unwrap();
        Handshake::control(side, &keys, prologue).unwrap()
    }

    #[test]
    fn a_private_key_has_one_public_key() {
        let pair = KeyPair::generate();
        assert_eq!(KeyPair::from_private(pair.private.clone()).public, pair.public);
    }

    #[test]
    fn known_keys_open_a_channel() {
        let head = KeyPair::generate();
        let agent = KeyPair::generate();
        let one = control(Side::Initiator, &head, &agent.public, b"x");
        let two = control(Side::Responder, &agent, &head.public, b"x");
        let (mut one, mut two) = shake(one, two).unwrap();
        let mut wire = Vec::new();
        one.sending.seal(b"an order", &mut wire).unwrap();
        one.sending.seal(b"another", &mut wire).unwrap();
        let last = wire.pop().unwrap();
        assert_eq!(two.receiving.open(&mut wire).unwrap().unwrap(), b"an order");
        assert!(two.receiving.open(&mut wire).unwrap().is_none(), "not whole yet");
        wire.push(last);
        assert_eq!(two.receiving.open(&mut wire).unwrap().unwrap(), b"another");
    }

    /// Heads and agents of all releases shake hands like this when an agent is retired.
    #[test]
    fn the_handshake_of_controllers_never_changes() {
        let head = KeyPair::generate();
        let agent = KeyPair::generate();
        let mut ours = control(Side::Initiator, &head, &agent.public, b"x");
        let params = "Noise_KK_25519_ChaChaPoly_BLAKE2s".parse().unwrap();
        let theirs = Builder::new(params).prologue(b"x").unwrap();
        let theirs = theirs.local_private_key(&agent.private.0).unwrap();
        let mut theirs = theirs.remote_public_key(&head.public).unwrap().build_responder().unwrap();
        let mut message = [0; 128];
        let mut payload = [0; 128];
        let first = ours.write(&[]).unwrap();
        assert_eq!((first.len(), theirs.read_message(&first, &mut payload)), (48, Ok(0)));
        assert_eq!(theirs.write_message(&[], &mut message), Ok(48));
        assert_eq!(ours.read(&message[..48]), Ok(Vec::new()));
        // The initiator's frames have the first key, and the hash binds them to the handshake.
        let (key, _) = theirs.dangerously_get_raw_split();
        let mut line = Line::new(&key, theirs.get_handshake_hash());
        let mut wire = Vec::new();
        ours.into_channel().unwrap().sending.seal(b"frame", &mut wire).unwrap();
        assert_eq!(line.open(&mut wire), Ok(Some(b"frame".to_vec())));
    }

    #[test]
    fn a_wrong_key_a_wrong_secret_or_a_changed_prologue_is_refused() {
        let head = KeyPair::generate();
        let agent = KeyPair::generate();
        let stranger = KeyPair::generate();
        let one = control(Side::Initiator, &stranger, &agent.public, b"x");
        let two = control(Side::Responder, &agent, &head.public, b"x");
        assert!(shake(one, two).is_err());
        let one = control(Side::Initiator, &head, &agent.public, b"y");
        let two = control(Side::Responder, &agent, &head.public, b"x");
        assert!(shake(one, two).is_err());
        let one = Handshake::link(Side::Initiator, &Secret([1; 32]), b"").unwrap();
        let two = Handshake::link(Side::Responder, &Secret([2; 32]), b"").unwrap();
        assert!(shake(one, two).is_err());
    }

    #[test]
    fn no_two_connections_and_directions_have_the_same_keys() {
        let open = || {
            let [one, two] = [Side::Initiator, Side::Responder]
                .map(|side| Handshake::link(side, &Secret([1; 32]), b"").unwrap());
            shake(one, two).unwrap()
        };
        let ((one, two), (other, _)) = (open(), open());
        let frames = [one.sending, two.sending, other.sending].map(|mut line| {
            let mut wire = Vec::new();
            line.seal(b"message", &mut wire).unwrap();
            wire
        });
        assert_ne!(frames[0], frames[1], "directions");
        assert_ne!(frames[0], frames[2], "connections");
    }

    #[test]
    fn an_unfinished_handshake_opens_no_channel() {
        let mut one = Handshake::link(Side::Initiator, &Secret([1; 32]), b"").unwrap();
        let _ = one.write(&[]).unwrap();
        assert!(one.into_channel().is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bytes_that_the_peer_did_not_seal_are_refused(message in proptest::collection::vec(any::<u8>(), 0..300), garbage in proptest::collection::vec(any::<u8>(), 2..300), cut: prop::sample::Index) {
            let one = Handshake::link(Side::Initiator, &Secret([1; 32]), b"").unwrap();
            let two = Handshake::link(Side::Responder, &Secret([1; 32]), b"").unwrap();
            let mut wire = Vec::new();
            let (mut one, mut two) = shake(one, two).unwrap();
            one.sending.seal(&message, &mut wire).unwrap();
            let cut = cut.index(wire.len());
            let mut received = wire[..cut].to_vec();
            prop_assert!(two.receiving.open(&mut received).unwrap().is_none());
            received.extend(&wire[cut..]);
            received.extend(&garbage);
            prop_assert_eq!(two.receiving.open(&mut received).unwrap(), Some(message));
            prop_assert!(!matches!(two.receiving.open(&mut received), Ok(Some(_))));
        }
    }
}
