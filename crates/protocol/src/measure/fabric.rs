//! The libfabric provider and interface that an agent measures with.

use serde::{Deserialize, Serialize};

/// The maximum length of a provider's name in bytes.
pub const PROVIDER_MAX: usize = 64;

/// The libfabric provider that carries gets, puts and messages, and its properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FabricWay {
    /// The provider, as libfabric names it.
    pub provider: String,
    /// The initiator's network interface, as libfabric names it.
    pub domain: String,
    /// The version of libfabric on the initiator.
    pub library: (u16, u16),
    /// Whether the initiator and the target sleep while they wait; some providers only poll.
    pub sleeps: (bool, bool),
    /// Whether a put completes when its bytes are in the target's memory; otherwise it completes
    /// when the provider has sent them.
    pub delivers: bool,
    /// Sizes of gets or puts in bytes, each with whether such an operation completes without the
    /// target's CPU.
    pub one_sided: Vec<(u32, bool)>,
}

/// Checks that `name` may be the name of a provider.
///
/// # Errors
/// Quotes the name.
pub fn check_provider(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ";_-.^".contains(c);
    match name.len() {
        1..=PROVIDER_MAX if name.chars().all(plain) => Ok(()),
        _ => Err(format!(
            "{:?} is not the name of a libfabric provider",
            name.chars().take(80).collect::<String>()
        )),
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
