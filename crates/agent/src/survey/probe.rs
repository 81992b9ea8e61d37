//! The contents of a probe: the token of the run, and the node and NIC that sent it.

use garland_protocol::measure::Token;

/// Bytes before the NIC's name: the token and the node's number.
const HEAD: usize = 20;

/// The length of the longest probe in bytes: the name of a NIC has at most 15 bytes.
pub const MAX_PROBE_BYTES: usize = HEAD + 1 + 15;

/// Returns the bytes of a probe. The NIC's name is preceded by its length, since frames are padded
/// to Ethernet's minimum.
pub fn write(token: &Token, node: u32, nic: &str) -> Vec<u8> {
    let name = &nic.as_bytes()[..nic.len().min(MAX_PROBE_BYTES - HEAD - 1)];
    let mut bytes = token.to_vec();
    bytes.extend(node.to_le_bytes());
    bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    bytes.extend(name);
    bytes
}

/// Returns the node and NIC of a probe with this token, or `None` for any other bytes.
pub fn read(token: &Token, bytes: &[u8]) -> Option<(u32, String)> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let (theirs, node) = head.split_at(token.len());
    let (&length, rest) = rest.split_first()?;
    let name = rest.get(..usize::from(length).min(MAX_PROBE_BYTES))?;
    let node = u32::from_le_bytes(node.try_into().ok()?);
    (theirs == token).then(|| Some((node, std::str::from_utf8(name).ok()?.to_owned())))?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_probe_is_read_despite_padding_and_only_by_its_own_run() {
        let mut bytes = write(&[7; 16], 3, "enp3s0");
        assert!(bytes.len() <= MAX_PROBE_BYTES);
        bytes.resize(46, 0);
        assert_eq!(read(&[7; 16], &bytes), Some((3, "enp3s0".to_owned())));
        assert_eq!(read(&[8; 16], &bytes), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_probe_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let token = bytes.get(..16).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
            let _ = read(&token, &bytes);
        }
    }
}
