//! The key exchange of the Noise protocol by AWS-LC, whose code for Curve25519 (RFC 7748) takes a
//! third of the time of the one that snow brings: a machine greets hundreds of agents at the same
//! time. The exchange between two long-lived keys is made once, and known to all their handshakes.

use std::cell::Cell;
use std::sync::Arc;

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use zeroize::Zeroizing;

/// The length of a public or private key in bytes.
pub const KEY_LEN: usize = 32;

thread_local! {
    static EXCHANGES: Cell<u64> = const { Cell::new(0) };
}

/// Returns how often this thread has multiplied a point of the curve, for an exchange or for a
/// public key: tests show by it what a peer costs.
#[must_use]
pub fn exchanges_of_thread() -> u64 {
    EXCHANGES.get()
}

fn count_exchange() {
    EXCHANGES.set(EXCHANGES.get() + 1);
}

/// The exchange between two long-lived keys.
#[derive(Clone)]
pub(super) struct StaticExchange {
    own: LoadedKey,
    theirs: [u8; KEY_LEN],
    shared: Zeroizing<[u8; KEY_LEN]>,
}

impl StaticExchange {
    /// Makes the exchange between the private key `own` and the public key `theirs`; none if the
    /// public key fixes the result.
    pub(super) fn new(own: &[u8; KEY_LEN], theirs: &[u8; KEY_LEN]) -> Option<Self> {
        let own = LoadedKey::new(own)?;
        let mut shared = Zeroizing::new([0; KEY_LEN]);
        own.exchange(theirs, &mut *shared).ok()?;
        Some(Self { own, theirs: *theirs, shared })
    }

    pub(super) fn private(&self) -> &[u8; KEY_LEN] {
        &self.own.private
    }

    pub(super) fn theirs(&self) -> &[u8; KEY_LEN] {
        &self.theirs
    }

    pub(super) fn shared(&self) -> &[u8; KEY_LEN] {
        &self.shared
    }
}

/// A private key as AWS-LC holds it, and its public key.
#[derive(Clone)]
struct LoadedKey {
    key: Arc<PrivateKey>,
    private: Zeroizing<[u8; KEY_LEN]>,
    public: [u8; KEY_LEN],
}

impl LoadedKey {
    /// Loads a key; none if the bytes have the wrong length.
    fn new(private: &[u8]) -> Option<Self> {
        count_exchange();
        let key = PrivateKey::from_private_key(&X25519, private).ok()?;
        let public = key.compute_public_key().ok()?.as_ref().try_into().ok()?;
        let private = Zeroizing::new(private.try_into().ok()?);
        Some(Self { key: Arc::new(key), private, public })
    }

    fn exchange(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        count_exchange();
        let public = public.get(..KEY_LEN).ok_or(Error::Dh)?;
        agree(&self.key, UnparsedPublicKey::new(&X25519, public), Error::Dh, |shared| {
            out[..KEY_LEN].copy_from_slice(shared);
            Ok(())
        })
    }
}

/// Resolves key exchanges by AWS-LC, and the rest as snow does.
#[derive(Default)]
pub(super) struct Resolver {
    /// The exchange that has been made already.
    pub(super) made: Option<StaticExchange>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        DefaultResolver.resolve_rng()
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        match choice {
            DHChoice::Curve25519 => {
                Some(Box::new(Exchange { made: self.made.clone(), ..Exchange::default() }))
            }
            _ => None,
        }
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// A key pair, once it is set.
#[derive(Default)]
struct Exchange {
    /// The key pair; none before it is set.
    own: Option<LoadedKey>,
    made: Option<StaticExchange>,
}

/// What a key pair that is not set shows for a key.
const NO_KEY: [u8; KEY_LEN] = [0; KEY_LEN];

impl Dh for Exchange {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY_LEN
    }

    fn priv_len(&self) -> usize {
        KEY_LEN
    }

    fn set(&mut self, private: &[u8]) {
        let made = self.made.as_ref().map(|made| &made.own);
        let made = made.filter(|own| verify_slices_are_equal(&*own.private, private).is_ok());
        // Any 32 bytes are a private key; without one the exchange fails.
        self.own = made.cloned().or_else(|| LoadedKey::new(private));
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        let mut private = Zeroizing::new([0; KEY_LEN]);
        random.try_fill_bytes(&mut *private)?;
        self.set(&*private);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        self.own.as_ref().map_or(&NO_KEY, |own| &own.public)
    }

    fn privkey(&self) -> &[u8] {
        self.own.as_ref().map_or(&NO_KEY, |own| &*own.private)
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let own = self.own.as_ref().ok_or(Error::Dh)?;
        if let Some(made) = &self.made
            && Arc::ptr_eq(&made.own.key, &own.key)
            && public.get(..KEY_LEN) == Some(&made.theirs)
        {
            out[..KEY_LEN].copy_from_slice(made.shared());
            return Ok(());
        }
        own.exchange(public, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> [u8; KEY_LEN] {
        std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
    }

    #[test]
    fn keys_and_the_exchange_are_those_of_the_standard() {
        // RFC 7748, section 6.1.
        let [alice, bob, public, shared] = [
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
        ]
        .map(bytes);
        let mut one = Exchange::default();
        let mut two = Exchange::default();
        let mut out = [0; KEY_LEN];
        one.set(&alice);
        two.set(&bob);
        assert_eq!(two.pubkey(), public);
        one.dh(two.pubkey(), &mut out).unwrap();
        assert_eq!(out, shared);
        two.dh(one.pubkey(), &mut out).unwrap();
        assert_eq!(out, shared);
    }

    #[test]
    fn a_public_key_that_fixes_the_secret_is_refused() {
        let mut one = Exchange::default();
        one.set(&[7; KEY_LEN]);
        assert!(one.dh(&[0; KEY_LEN], &mut [0; KEY_LEN]).is_err());
        assert!(Exchange::default().dh(&[9; KEY_LEN], &mut [0; KEY_LEN]).is_err(), "no key");
    }
}
