//! Secrets, and what is derived from them.

use aws_lc_rs::aead::{self, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

/// A secret of 32 bytes, which is overwritten when it is dropped: a private key, or the random
/// secret of a copy or session, which is sent only on control channels.
#[derive(Clone, Serialize, Deserialize)]
pub struct Secret(pub [u8; 32]);

impl Drop for Secret {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Secret {
    fn wipe(&mut self) {
        self.0.zeroize();
    }
}

impl PartialEq for Secret {
    /// Takes the same time for all values.
    fn eq(&self, other: &Self) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for Secret {}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Derives an AES-256-GCM key from `prk`, for the purpose that `info` describes.
pub(crate) fn aes_key(prk: &hkdf::Prk, info: &[&[u8]]) -> LessSafeKey {
    let key = UnboundKey::new(&aead::AES_256_GCM, &*expand(prk, info));
    LessSafeKey::new(key.expect("the key has the cipher's length"))
}

/// Returns the nonce for a number and a kind. A pair must not be used twice with the same key.
pub(crate) fn make_nonce(number: u64, kind: u8) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8] = kind;
    Nonce::assume_unique_for_key(bytes)
}

/// Derives 32 bytes from `prk`, for the purpose that `info` describes.
pub(crate) fn expand(prk: &hkdf::Prk, info: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let okm = prk.expand(info, hkdf::HKDF_SHA256).expect("HKDF can output 32 bytes");
    okm.fill(&mut *key).expect("the output has that length");
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of a dropped value cannot be read safely: check that dropping does something, and
    /// what it does.
    #[test]
    fn secrets_and_private_keys_are_overwritten_when_they_are_dropped() {
        assert!(std::mem::needs_drop::<Secret>() && std::mem::needs_drop::<crate::wire::KeyPair>());
        let mut secret = Secret([5; 32]);
        secret.wipe();
        assert_eq!(secret.0, [0; 32]);
    }
}
