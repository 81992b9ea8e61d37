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
    pub library: LibraryVersion,
    /// Which sides sleep while they wait; some providers only poll.
    pub sleeps: SleepingSides,
    /// Whether a put completes when its bytes are in the target's memory; otherwise it completes
    /// when the provider has sent them.
    pub delivers: bool,
    /// The sizes of gets or puts that were tried.
    pub tries: Vec<OneSidedTry>,
}

/// The version of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryVersion {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

/// Which sides of a pair sleep while they wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepingSides {
    /// Whether the initiator does.
    pub initiator: bool,
    /// Whether the target does.
    pub target: bool,
}

/// Whether gets or puts of one size complete without the target's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneSidedTry {
    /// The size in bytes.
    pub size: u32,
    /// Whether such an operation completes without the target's CPU.
    pub one_sided: bool,
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
