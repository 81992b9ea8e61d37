//! What an agent says of a fabric that it measures by.

use serde::{Deserialize, Serialize};

/// The most characters of a provider's name.
pub const PROVIDER_MAX: usize = 64;

/// How gets, puts and messages go over a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FabricWay {
    /// The provider, by libfabric's name.
    pub provider: String,
    /// What it goes by on the initiator: libfabric's name of the NIC.
    pub domain: String,
    /// libfabric's version there.
    pub library: (u16, u16),
    /// Whether the initiator and the target sleep while they wait; a provider may not be able to.
    pub sleeps: (bool, bool),
    /// Whether a put ends when its bytes are in the target's memory; otherwise it ends when the
    /// provider has sent them.
    pub delivers: bool,
    /// Sizes of gets or puts, and whether they end while the target's CPU does nothing for them.
    pub one_sided: Vec<(u32, bool)>,
}

/// Whether this may be a provider's name.
///
/// # Errors
/// Why not, in words.
pub fn check_provider(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ";_-.^".contains(c);
    match name.len() {
        1..=PROVIDER_MAX if name.chars().all(plain) => Ok(()),
        _ => Err(format!("{:?} is no provider's name", name.chars().take(80).collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_names_are_short_and_plain() {
        assert_eq!(check_provider("tcp;ofi_rxm"), Ok(()));
        for name in ["", "a b", "x\n", "é", &"x".repeat(PROVIDER_MAX + 1)] {
            assert!(check_provider(name).is_err(), "{name}");
        }
    }
}
