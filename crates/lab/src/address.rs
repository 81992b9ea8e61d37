//! Names and addresses of lab nodes, all of them computed from a node's number so that nothing has
//! to be kept or asked.

use std::net::Ipv4Addr;

/// The most nodes a lab can have beside its head: a Linux bridge has 1023 ports.
pub const MOST_NODES: u32 = 1000;

/// Length of the network prefix that all nodes of a lab share (10.88.0.0/16).
pub const PREFIX: u8 = 16;

/// Nodes per third byte of the address, which keeps the last byte clear of 0 to 9 and 250 to 255.
const PER_ROW: u32 = 240;

/// The name of node `number`: `n0` is the head.
pub fn name(number: u32) -> String {
    format!("n{number}")
}

/// The number behind a node's name, if it is one.
pub fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('n')?;
    let number = digits.parse().ok()?;
    (self::name(number) == name).then_some(number)
}

/// The address of node `number`: 10.88.0.10 for the head, 10.88.0.13 for `n3`.
pub fn address(number: u32) -> Ipv4Addr {
    let row = u8::try_from(number / PER_ROW).expect("at most 1000 nodes make 5 rows");
    let column = u8::try_from(10 + number % PER_ROW).expect("at most 249");
    Ipv4Addr::new(10, 88, row, column)
}

/// The Ethernet address of node `number`, locally administered.
pub fn ethernet(number: u32) -> String {
    let [_, _, high, low] = number.to_be_bytes();
    format!("02:88:00:00:{high:02x}:{low:02x}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_node_has_its_own_address_and_name() {
        let all: HashSet<_> = (0..=MOST_NODES).map(address).collect();
        assert_eq!(all.len(), 1001);
        assert_eq!(address(0), Ipv4Addr::new(10, 88, 0, 10));
        assert_eq!(address(3), Ipv4Addr::new(10, 88, 0, 13));
        assert_eq!(address(1000), Ipv4Addr::new(10, 88, 4, 50));
        assert_eq!(ethernet(1000), "02:88:00:00:03:e8");
    }

    #[test]
    fn names_are_read_back_strictly() {
        assert_eq!(number("n12"), Some(12));
        for wrong in ["n012", "12", "n", "n-1", "n+1", "m1", "n99999999999"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }
}
