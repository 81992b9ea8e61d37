//! How a head ends a standing agent of any other release: the contents of the sealed frames that
//! follow the greeting of [`Purpose::Retire`](crate::wire::Purpose::Retire), one from each side.
//!
//! All releases have to understand each other here, so these bytes never change, nor do the
//! preamble, the greeting of a control channel ([`Hello`](crate::wire::Hello) with its MAC, and the
//! handshake) and the frames of [`Line`](crate::wire::Line) that carry them. Both sides ignore
//! further bytes, which a later release may add.

/// What a head asks of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetireRequest {
    /// End if no session is open, and if the agent's protocol version is lower than this one, the
    /// head's. The versions in the preambles do not suffice: an attacker may have changed the
    /// agent's.
    Replace(u16),
    /// End at once, as by `Shutdown` on a control channel.
    End,
}

/// The answer of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetireReply {
    /// The agent ends now, and closes its connections.
    Ends,
    /// The agent stays: a session is open.
    Busy,
    /// The agent stays: it is not of an older release than the head.
    NotOlder,
}

impl RetireRequest {
    /// Returns the bytes on the wire: a letter and the protocol version (little endian).
    #[must_use]
    pub fn to_bytes(self) -> [u8; 3] {
        let (letter, protocol) = match self {
            Self::Replace(protocol) => (b'R', protocol),
            Self::End => (b'E', 0),
        };
        let [low, high] = protocol.to_le_bytes();
        [letter, low, high]
    }

    /// Returns the request that a head sent; none if it is not known.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match *bytes.first_chunk()? {
            [b'R', low, high] => Some(Self::Replace(u16::from_le_bytes([low, high]))),
            [b'E', ..] => Some(Self::End),
            _ => None,
        }
    }
}

impl RetireReply {
    /// Returns the byte on the wire.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 1] {
        match self {
            Self::Ends => *b"E",
            Self::Busy => *b"B",
            Self::NotOlder => *b"N",
        }
    }

    /// Returns the answer that an agent sent; none if it is not known.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        [Self::Ends, Self::Busy, Self::NotOlder]
            .into_iter()
            .find(|reply| bytes.starts_with(&reply.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_retirement_never_change() {
        let requests =
            [(RetireRequest::Replace(0x0203), *b"R\x03\x02"), (RetireRequest::End, *b"E\0\0")];
        for (request, bytes) in requests {
            assert_eq!(request.to_bytes(), bytes);
            assert_eq!(RetireRequest::parse(&[&bytes[..], b"more"].concat()), Some(request));
            assert_eq!(RetireRequest::parse(&bytes[..2]), None);
        }
        let replies =
            [(RetireReply::Ends, b"E"), (RetireReply::Busy, b"B"), (RetireReply::NotOlder, b"N")];
        for (reply, bytes) in replies {
            assert_eq!(&reply.to_bytes(), bytes);
            assert_eq!(RetireReply::parse(&[&bytes[..], b"more"].concat()), Some(reply));
        }
        assert_eq!(RetireRequest::parse(b"X\0\0"), None);
        assert_eq!((RetireReply::parse(b"X"), RetireReply::parse(b"")), (None, None));
    }
}
