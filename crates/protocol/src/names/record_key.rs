//! The keys of the records of names: one that signs, which derives from the controller's private
//! key, and one by which records are recognised (Ed25519, RFC 8032).

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::wire::Secret;

/// The context of the key that signs records, and of what it signs.
const CONTEXT: &str = "garland 2026 names of content";

/// A signature, in two halves.
pub type Signature = [[u8; 32]; 2];

/// The public key by which records are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordKey([u8; 32]);

impl RecordKey {
    /// Returns the key by which the records are recognised that a controller with the private key
    /// `key` makes.
    #[must_use]
    pub fn from_secret(key: &Secret) -> Self {
        let public = pair(key).public_key().as_ref().try_into();
        Self(public.expect("an Ed25519 public key has 32 bytes"))
    }

    /// Returns whether `signature` is that of `record` by the other key of the pair.
    #[must_use]
    pub fn verifies(&self, record: &[u8], signature: &Signature) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(&message(record), signature.as_flattened()).is_ok()
    }
}

/// Signs a record with the key that derives from the private key of a controller.
pub fn sign(key: &Secret, record: &[u8]) -> Signature {
    let signature = pair(key).sign(&message(record));
    let halves = signature.as_ref().as_chunks::<32>().0;
    halves.try_into().expect("an Ed25519 signature has 64 bytes")
}

fn message(record: &[u8]) -> Vec<u8> {
    [CONTEXT.as_bytes(), record].concat()
}

fn pair(key: &Secret) -> Ed25519KeyPair {
    let seed = Secret(blake3::derive_key(CONTEXT, &key.0));
    Ed25519KeyPair::from_seed_unchecked(&seed.0).expect("an Ed25519 seed has 32 bytes")
}
