//! Faults that may make a switch slower than a hub, and how they are put into a lab.

use garland_core::units::{Rate, bytes};
use serde::{Deserialize, Serialize};

/// A fault between the server and the copying node.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "what", rename_all = "lowercase", deny_unknown_fields)]
pub enum Suspect {
    /// A duplex mismatch: one end of the node's cable is full duplex, the other half duplex. The latter
    /// loses the frames that arrive while it sends. There is one acknowledgement for two frames, and it
    /// costs the frame that it meets, so the share of lost frames is half the share of time in which the
    /// wire is busy.
    Duplex {},
    /// Loss of full frames to the node.
    Loss {
        /// Lost frames in percent.
        percent: f64,
    },
    /// A small receive window at the node.
    Window {
        /// Bytes of the receive buffer; Linux offers half of it as the window.
        bytes: String,
    },
}

/// Frames up to this many bytes are acknowledgements.
const FULL: u32 = 1000;

/// Bytes that a full frame takes on the wire.
const ON_WIRE: f64 = 1538.0;

/// Number of steps in which the busy share of a wire's time is told apart.
const PARTS: u32 = 8;

/// A wire is busy after this many frames in a row, 2 ms at 100 Mbit/s. The half-duplex end defers while it
/// receives, so short bursts meet no collision. How long it deferred in 2004 is not known: with 4 frames a
/// copy takes ten times as long as with 64.
const AFTER: u32 = 16;

impl Suspect {
    /// Checks the fault's figures; the error says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Window { bytes } => {
                bytes::parse(bytes).map(drop).map_err(|error| error.to_string())
            }
            Self::Loss { percent } if !(*percent > 0.0 && *percent < 100.0) => {
                Err("`percent` is between 0 and 100".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The text for tables.
    pub fn words(&self) -> String {
        match self {
            Self::Duplex {} => "duplex mismatch at the node's port".to_owned(),
            Self::Loss { percent } => format!("{percent} % of its frames lost"),
            Self::Window { bytes } => format!("a receive buffer of {bytes}"),
        }
    }

    /// Whether the other network has the fault, too: it is the node's, not its cable's.
    pub fn is_on_both(&self) -> bool {
        matches!(self, Self::Window { .. })
    }

    /// A shell script that adds the fault to the network namespace of the node, whose wire has this rate.
    pub fn script(&self, rate: Rate) -> String {
        match self {
            Self::Duplex {} => nft(&mismatch(rate)),
            Self::Loss { percent } => {
                // Drop at regular intervals, so that copies are alike: at random, one of them would meet
                // several losses in a row and wait for seconds.
                let each = (100.0 / percent).round().max(2.0);
                nft(&format!("    meta length > {FULL} numgen inc mod {each} 0 drop\n"))
            }
            Self::Window { bytes: size } => {
                let size = bytes::parse(size).unwrap_or(4096);
                format!("sysctl -qw net.ipv4.tcp_rmem='{size} {size} {size}'\n")
            }
        }
    }

    /// A shell script that removes the fault.
    pub fn undo(&self) -> String {
        match self {
            Self::Duplex {} | Self::Loss { .. } => "nft delete table netdev riddle\n".to_owned(),
            Self::Window { .. } => {
                "sysctl -qw net.ipv4.tcp_rmem='4096 131072 6291456'\n".to_owned()
            }
        }
    }
}

/// A script that installs nftables `rules` for frames that arrive at the node.
fn nft(rules: &str) -> String {
    format!(
        "nft -f - <<'END'\ntable netdev riddle {{\n  chain in {{\n    type filter hook ingress device \
         \"eth0\" priority 0; policy accept;\n{rules}  }}\n}}\nEND\n"
    )
}

/// The rules of a duplex mismatch on a wire of `rate`, one for each eighth of the busy share, the largest
/// first: each eighth costs a sixteenth of the frames that the other rules have left.
fn mismatch(rate: Rate) -> String {
    let all = rate.bits_per_second() as f64 / 8.0 / ON_WIRE;
    let lost = 500 / PARTS;
    let line = |part: u32| {
        let frames = (all * f64::from(part) / f64::from(PARTS)) as u64;
        format!(
            "    meta length > {FULL} limit rate over {frames}/second burst {AFTER} packets numgen \
             random mod 1000 < {lost} drop\n"
        )
    };
    (1..PARTS).rev().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busier_the_wire_the_more_is_lost() {
        let rules = mismatch(Rate::from_bits_per_second(100_000_000));
        let lines: Vec<&str> = rules.lines().collect();
        assert_eq!(lines.len(), 7);
        assert!(lines[0].contains("over 7111/second") && lines[0].ends_with("< 62 drop"));
        assert!(lines[6].contains("over 1015/second") && lines[6].ends_with("< 62 drop"));
    }

    #[test]
    fn a_suspect_says_what_it_is() {
        let loss = Suspect::Loss { percent: 0.5 };
        assert!(loss.script(Rate::default()).contains("numgen inc mod 200 0 drop"));
        assert!(Suspect::Loss { percent: 100.0 }.check().is_err());
        assert!(Suspect::Window { bytes: "x".to_owned() }.check().is_err());
        assert!(!Suspect::Duplex {}.is_on_both());
    }
}
