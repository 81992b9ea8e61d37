//! What the holders of two long-lived key pairs share without a message: the result of their key
//! exchange, and a key by which the connecting side shows in its first bytes that it holds one of
//! them. To check that takes a hash.

use zeroize::Zeroizing;

use crate::wire::curve25519::{KEY_LEN, StaticExchange};

/// The context of the key of greetings (BLAKE3's key derivation).
const MAC_CONTEXT: &str = "garland 1 greeting";

/// The context of the key that hides the id of a machine's clock.
const CLOCK_CONTEXT: &str = "garland 1 clock";

/// The length of the MAC of a greeting in bytes.
pub(super) const MAC_LEN: usize = 16;

/// The MAC of a greeting.
pub type Mac = [u8; MAC_LEN];

/// When a greeting was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GreetingStamp {
    /// Stands for the machine and its present boot.
    pub clock: [u8; 8],
    /// The nanoseconds since that boot. This clock never goes back, and nobody sets it.
    pub time_ns: u64,
}

/// The exchange between two long-lived keys, made once, and what derives from it.
#[derive(Clone)]
pub struct Agreement {
    exchange: StaticExchange,
    mac_key: Zeroizing<[u8; 32]>,
    clock_key: Zeroizing<[u8; 32]>,
}

impl Agreement {
    /// Derives the keys from an exchange of the owners of these public keys: that of the connecting
    /// side and that of the accepting one.
    pub(super) fn new(
        exchange: StaticExchange,
        connecting: &[u8; KEY_LEN],
        accepting: &[u8; KEY_LEN],
    ) -> Self {
        let derive = |context| {
            let mut hasher = blake3::Hasher::new_derive_key(context);
            let _ = hasher.update(exchange.shared()).update(connecting).update(accepting);
            Zeroizing::new(*hasher.finalize().as_bytes())
        };
        Self { mac_key: derive(MAC_CONTEXT), clock_key: derive(CLOCK_CONTEXT), exchange }
    }

    pub(super) fn exchange(&self) -> &StaticExchange {
        &self.exchange
    }

    /// Returns the MAC of a greeting's bytes: a keyed BLAKE3 hash, truncated to 16 bytes.
    #[must_use]
    pub fn mac(&self, greeting: &[u8]) -> Mac {
        let hash = blake3::keyed_hash(&self.mac_key, greeting);
        *hash.as_bytes().first_chunk::<MAC_LEN>().expect("a BLAKE3 hash has 32 bytes")
    }

    /// Whether `mac` is the MAC of `greeting`; compares in constant time.
    #[must_use]
    pub fn is_mac(&self, greeting: &[u8], mac: &Mac) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.mac(greeting), mac).is_ok()
    }

    /// Returns the stamp of a greeting that is made `time_ns` after the boot `boot` of this
    /// machine. Nobody else can tell from two stamps whether they are of the same machine, unless
    /// they are for the same agent.
    #[must_use]
    pub fn stamp(&self, boot: &[u8], time_ns: u64) -> GreetingStamp {
        let hash = blake3::keyed_hash(&self.clock_key, boot);
        let clock = *hash.as_bytes().first_chunk().expect("a BLAKE3 hash has 32 bytes");
        GreetingStamp { clock, time_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::channel::{Handshake, KeyPair, PublicKey, Side};
    use crate::wire::curve25519::exchanges_of_thread;

    fn pairs() -> [KeyPair; 3] {
        [KeyPair::generate(), KeyPair::generate(), KeyPair::generate()]
    }

    #[test]
    fn only_the_holders_of_the_two_keys_make_a_mac_and_only_for_one_direction() {
        let [head, agent, stranger] = pairs();
        let made = head.agree(Side::Initiator, &agent.public).unwrap().mac(b"hello");
        let of = |side, ours: &KeyPair, theirs: &PublicKey| {
            ours.agree(side, theirs).unwrap().is_mac(b"hello", &made)
        };
        assert!(of(Side::Responder, &agent, &head.public));
        assert!(!of(Side::Responder, &head, &agent.public), "a greeting of the agent");
        assert!(!of(Side::Responder, &agent, &stranger.public));
        let pretender = KeyPair { public: head.public, ..stranger };
        assert!(
            !of(Side::Initiator, &pretender, &agent.public),
            "the public half does not suffice"
        );
        let other = agent.agree(Side::Responder, &head.public).unwrap();
        assert!(!other.is_mac(b"hallo", &made));
        assert!(agent.agree(Side::Responder, &[0; 32]).is_err(), "the secret is fixed");
    }

    /// Heads and agents of all releases derive the MAC of a retirement's greeting like this.
    #[test]
    fn the_mac_of_a_greeting_never_changes() {
        let [head, agent] = [1, 2].map(|byte| {
            let private = super::super::secret::Secret([byte; 32]);
            let loaded = StaticExchange::new(&private.0, &{
                let mut base = [0; 32];
                base[0] = 9;
                base
            });
            // The exchange with the curve's base point gives the public key.
            KeyPair { public: *loaded.unwrap().shared(), private }
        });
        let keys = head.agree(Side::Initiator, &agent.public).unwrap();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&keys.mac(b"greeting")), "0c37eddb5bdd84078f2eb18243017799");
    }

    #[test]
    fn the_clock_of_a_machine_is_known_again_by_the_same_agent_only() {
        let [head, agent, other] = pairs();
        let keys = head.agree(Side::Initiator, &agent.public).unwrap();
        let elsewhere = head.agree(Side::Initiator, &other.public).unwrap();
        let stamp = keys.stamp(b"boot", 7);
        assert_eq!((stamp, stamp.time_ns), (keys.stamp(b"boot", 7), 7));
        assert_ne!(stamp.clock, keys.stamp(b"another", 7).clock);
        assert_ne!(stamp.clock, elsewhere.stamp(b"boot", 7).clock);
    }

    /// The exchange of the long-lived keys is a part of the handshake, too.
    #[test]
    fn a_handshake_makes_four_exchanges_beyond_the_agreement() {
        let [head, agent, _] = pairs();
        let keys = [
            head.agree(Side::Initiator, &agent.public).unwrap(),
            agent.agree(Side::Responder, &head.public).unwrap(),
        ];
        let before = exchanges_of_thread();
        let [mut near, mut far] = [(Side::Initiator, &keys[0]), (Side::Responder, &keys[1])]
            .map(|(side, keys)| Handshake::control(side, keys, b"").unwrap());
        assert_eq!(exchanges_of_thread() - before, 0, "to begin costs none");
        let first = near.write(&[]).unwrap();
        let _ = far.read(&first).unwrap();
        let second = far.write(&[]).unwrap();
        let _ = near.read(&second).unwrap();
        assert_eq!(exchanges_of_thread() - before, 2 * 4);
    }
}
