//! The first bytes on every connection: the protocol version and the purpose. Peers of different
//! versions detect the difference here, before anything is encrypted. These bytes are part of the
//! handshake's prologue, so a change in transit is detected.

use std::sync::atomic::{AtomicU16, Ordering};

use thiserror::Error;
use zerocopy::TryFromBytes;

/// The version of everything on a connection: frames, messages, handshakes. It stays 1 until the
/// first release, since no other version is in use; from then on it is incremented whenever any of
/// them changes. What [`Purpose::Retire`] takes of them never changes.
pub const PROTOCOL: u16 = 1;

static SPOKEN: AtomicU16 = AtomicU16::new(PROTOCOL);

/// Returns the protocol version of this process: [`PROTOCOL`], except in tests.
pub fn spoken() -> u16 {
    SPOKEN.load(Ordering::Relaxed)
}

/// Makes this process claim another protocol version, so that tests have a program that stands for
/// an older or a newer release.
pub fn claim(protocol: u16) {
    SPOKEN.store(protocol, Ordering::Relaxed);
}

/// The length of a preamble in bytes.
pub const PREAMBLE_LEN: usize = 32;

const MAGIC: &[u8; 8] = b"GARLAND\n";
const RELEASE_LEN: usize = PREAMBLE_LEN - 11;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, TryFromBytes)]
#[repr(u8)]
pub enum Purpose {
    /// Orders of the head and messages of the agent.
    Control = b'C',
    /// A hop of a lane.
    Link = b'L',
    /// A node that does not have the agent's program requests the program.
    Binary = b'B',
    /// A connection that two agents measure.
    Probe = b'P',
    /// A mount requests a node's files.
    Files = b'F',
    /// A head of any protocol version asks the agent to end. All that this takes never changes:
    /// [`RetireRequest`](crate::wire::RetireRequest).
    Retire = b'R',
}

/// The first bytes that each side sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// The protocol version of the sender.
    pub protocol: u16,
    /// What the connection is for.
    pub purpose: Purpose,
    /// The release of the sender, for messages to people.
    pub release: String,
}

/// Why the preamble of a peer is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionError {
    /// The bytes are not a preamble of Garland.
    #[error("the peer doesn't speak Garland's protocol")]
    Stranger,
    /// The peer has another version.
    #[error(
        "the peer is garland {release} with protocol {theirs}, this is protocol {}: \
         use the same garland on both sides",
        spoken()
    )]
    Version {
        /// The protocol version of the peer.
        theirs: u16,
        /// The release of the peer.
        release: String,
    },
}

impl Preamble {
    /// Returns the preamble of this build.
    #[must_use]
    pub fn ours(purpose: Purpose) -> Self {
        Self { protocol: spoken(), purpose, release: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// Returns the bytes on the wire: `GARLAND\n`, the protocol version (little endian), the
    /// purpose (`C`, `L`, `B`, `P`, `F`, `R`), and the release padded with zeros.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PREAMBLE_LEN] {
        let mut bytes = [0; PREAMBLE_LEN];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&self.protocol.to_le_bytes());
        bytes[10] = self.purpose as u8;
        let release = self.release.as_bytes();
        let length = release.len().min(RELEASE_LEN);
        bytes[11..11 + length].copy_from_slice(&release[..length]);
        bytes
    }

    /// Parses a peer's preamble, and checks that it is compatible with this build. For
    /// [`Purpose::Retire`] all versions are.
    ///
    /// # Errors
    /// Fails if the peer is not Garland, or has another version.
    pub fn parse(bytes: &[u8; PREAMBLE_LEN]) -> Result<Self, VersionError> {
        if &bytes[..8] != MAGIC {
            return Err(VersionError::Stranger);
        }
        let protocol = u16::from_le_bytes([bytes[8], bytes[9]]);
        // Only printable characters may reach a terminal.
        let release: String = bytes[11..]
            .iter()
            .take_while(|&&byte| byte != 0)
            .map(|&byte| if byte.is_ascii_graphic() { char::from(byte) } else { '?' })
            .collect();
        let purpose = Purpose::try_read_from_bytes(&bytes[10..11]).ok();
        if protocol != spoken() && purpose != Some(Purpose::Retire) {
            return Err(VersionError::Version { theirs: protocol, release });
        }
        let purpose = purpose.ok_or(VersionError::Stranger)?;
        Ok(Self { protocol, purpose, release })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Purpose; 6] = [
        Purpose::Control,
        Purpose::Link,
        Purpose::Binary,
        Purpose::Probe,
        Purpose::Files,
        Purpose::Retire,
    ];

    #[test]
    fn a_preamble_survives_the_wire() {
        for purpose in ALL {
            let own = Preamble::ours(purpose);
            assert_eq!(Preamble::parse(&own.to_bytes()), Ok(own));
        }
    }

    #[test]
    fn another_version_says_which() {
        let other = Preamble { protocol: 9, ..Preamble::ours(Purpose::Control) };
        let error = Preamble::parse(&other.to_bytes()).unwrap_err();
        assert!(error.to_string().contains("protocol 9, this is protocol 1"), "{error}");
    }

    /// All releases read these bytes of each other: they never change.
    #[test]
    fn every_version_is_accepted_only_to_retire_an_agent() {
        for purpose in ALL {
            let other = Preamble { protocol: 0x0203, purpose, release: "9.9.9".to_owned() };
            let mut bytes = *b"GARLAND\n\x03\x02?9.9.9\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
            bytes[10] = purpose as u8;
            assert_eq!(other.to_bytes(), bytes);
            let parsed = Preamble::parse(&bytes);
            match purpose {
                Purpose::Retire => assert_eq!(parsed, Ok(other)),
                _ => assert!(matches!(parsed, Err(VersionError::Version { theirs: 0x0203, .. }))),
            }
        }
        assert_eq!(Purpose::Retire as u8, b'R');
    }

    #[test]
    fn other_protocols_are_refused() {
        let mut http = [b' '; PREAMBLE_LEN];
        http[..14].copy_from_slice(b"GET / HTTP/1.1");
        assert_eq!(Preamble::parse(&http), Err(VersionError::Stranger));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_preamble_or_a_printable_error(bytes in proptest::array::uniform32(any::<u8>()), ours: bool) {
            let mut bytes = bytes;
            if ours {
                bytes[..8].copy_from_slice(MAGIC);
            }
            match Preamble::parse(&bytes) {
                Ok(preamble) => prop_assert_eq!(Preamble::parse(&preamble.to_bytes()), Ok(preamble)),
                Err(error) => prop_assert!(!error.to_string().contains(char::is_control)),
            }
        }
    }
}
