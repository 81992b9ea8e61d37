//! What made a node of another time slower than its wires: conditions of the time, which a lab puts
//! into effect.

use garland_core::units::{Nanos, Rate};
use serde::{Deserialize, Serialize};

/// The smallest capacity of a pipe, in bytes: one page, as before Linux 2.6.11 (pipe(7)).
pub const LEAST_PIPE: u64 = 4096;

/// The largest capacity of a pipe, in bytes, that every user may set (`pipe-max-size` in pipe(7)).
pub const MOST_PIPE: u64 = 1 << 20;

/// The conditions of the time of a node; `None` leaves the node as this machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vintage {
    /// The rate at which the node's processor passes bytes on as a repeater, with nothing else to
    /// do: from a TCP connection to a file and a pipe, and from the pipe to another connection. The
    /// inverse is what all copies of a byte cost.
    pub copies: Option<Rate>,
    /// The capacity of the node's pipes in bytes.
    pub pipe: Option<u64>,
    /// The number of bytes that programs on the node read and write at once.
    pub block: Option<u64>,
    /// The time that another node waits until a program that it starts here runs, as with rsh.
    pub start: Option<Nanos>,
    /// The TCP of the node.
    pub tcp: OldTcp,
}

/// The TCP of another time; `None` leaves this kernel's. Acknowledgements are delayed as they were
/// then (RFC 1122, 4.2.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OldTcp {
    /// The largest receive window in bytes. Windows of up to 64 KiB are not scaled (RFC 1323).
    pub window: Option<u64>,
    /// Whether there are selective acknowledgements (RFC 2018).
    pub sack: Option<bool>,
    /// Whether the congestion control is that of 1990 (Reno), which finds a loss by three duplicate
    /// acknowledgements or a timeout: neither by time (RACK, 2016) nor by probes of the tail
    /// (2012).
    pub reno: Option<bool>,
}

/// The smallest and the largest receive window in bytes: a full segment, and half of the largest
/// buffer of a lab's nodes.
pub const LEAST_WINDOW: u64 = 2048;
pub const MOST_WINDOW: u64 = 16 << 20;

impl Vintage {
    /// Returns these conditions, and those of `other` where they say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            copies: self.copies.or(other.copies),
            pipe: self.pipe.or(other.pipe),
            block: self.block.or(other.block),
            start: self.start.or(other.start),
            tcp: OldTcp {
                window: self.tcp.window.or(other.tcp.window),
                sack: self.tcp.sack.or(other.tcp.sack),
                reno: self.tcp.reno.or(other.tcp.reno),
            },
        }
    }

    /// Describes the first condition that no lab can emulate, and what to write; `None` if there is
    /// none.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        if self.copies.is_some_and(|rate| rate.bits_per_second() == 0) {
            return Some(("copies", "the rate must be above 0".to_owned()));
        }
        let is_pipe =
            |size: &u64| (LEAST_PIPE..=MOST_PIPE).contains(size) && size.is_power_of_two();
        if self.pipe.is_some_and(|size| !is_pipe(&size)) {
            let reason = "the kernel has pipes of 4KiB to 1MiB, in powers of 2".to_owned();
            return Some(("pipe", reason));
        }
        if self.block.is_some_and(|size| !(1..=MOST_PIPE).contains(&size)) {
            return Some(("block", "write 1B to 1MiB".to_owned()));
        }
        if self.tcp.window.is_some_and(|size| !(LEAST_WINDOW..=MOST_WINDOW).contains(&size)) {
            return Some(("window", "write 2KiB to 16MiB".to_owned()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_first_counts() {
        let one = Vintage { pipe: Some(4096), ..Vintage::default() };
        let two = Vintage { pipe: Some(8192), block: Some(1), ..Vintage::default() };
        assert_eq!(one.or(two), Vintage { pipe: Some(4096), block: Some(1), ..Vintage::default() });
        assert_eq!(Vintage::default().or(two), two);
    }

    #[test]
    fn pipes_that_no_kernel_has_are_faults() {
        let pipe = |size| Vintage { pipe: Some(size), ..Vintage::default() }.fault();
        assert_eq!(pipe(4096).or(pipe(1 << 20)), None);
        for size in [0, 2048, 5000, 1 << 21] {
            assert_eq!(pipe(size).map(|(key, _)| key), Some("pipe"), "{size}");
        }
        let none = Vintage { copies: Some(Rate::default()), ..Vintage::default() };
        assert_eq!(none.fault().map(|(key, _)| key), Some("copies"));
        let block = Vintage { block: Some(0), ..Vintage::default() };
        assert_eq!(block.fault().map(|(key, _)| key), Some("block"));
        let tcp = OldTcp { window: Some(1000), ..OldTcp::default() };
        let window = Vintage { tcp, ..Vintage::default() };
        assert_eq!(window.fault().map(|(key, _)| key), Some("window"));
    }
}
