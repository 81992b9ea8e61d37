//! What may make a switch slower than a hub, and how it is put into a lab.

use garland_core::units::{Rate, bytes};
use serde::{Deserialize, Serialize};

/// Something wrong between the server and the node that copies.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "what", rename_all = "lowercase", deny_unknown_fields)]
pub enum Suspect {
    /// One end of the node's cable is full duplex, and the other is half. Whenever the half one sends, it
    /// loses what it receives meanwhile: an acknowledgement of two frames costs the frame that it meets,
    /// so of all frames are lost half the share of the time in which the wire is busy.
    Duplex {},
    /// Of so many hundredths of all full frames to the node nothing comes.
    Loss {
        /// How many.
        percent: f64,
    },
    /// The node takes only so much at a time.
    Window {
        /// Bytes of its receive buffer, of which Linux offers half.
        bytes: String,
    },
}

/// Frames shorter than this are acknowledgements.
const FULL: u32 = 1000;

/// Bytes that a full frame takes on the wire.
const ON_WIRE: f64 = 1538.0;

/// Into so many parts the share of time is told in which a wire is busy.
const PARTS: u32 = 8;

/// It is busy when as many frames as this have followed each other, 2 ms of a wire of 100 Mbit/s. The half
/// end waits while it hears somebody, so what comes in a few frames meets nothing. How long it waited in 2004
/// nobody knows: with 4 a copy takes ten times as long as with 64.
const AFTER: u32 = 16;

impl Suspect {
    /// Whether the sizes that it names are sizes.
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

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Duplex {} => "duplex mismatch at the node's port".to_owned(),
            Self::Loss { percent } => format!("{percent} % of its frames lost"),
            Self::Window { bytes } => format!("a receive buffer of {bytes}"),
        }
    }

    /// Whether it would be there on the other network, too: it is the node's, and not its cable's.
    pub fn is_on_both(&self) -> bool {
        matches!(self, Self::Window { .. })
    }

    /// A shell's script that puts it into the node's place in the network, whose wire has this rate.
    pub fn script(&self, rate: Rate) -> String {
        match self {
            Self::Duplex {} => nft(&mismatch(rate)),
            Self::Loss { percent } => {
                // Each so many-th, so that two copies are alike: by chance one of them would meet several losses
                // in a row, and wait for seconds.
                let each = (100.0 / percent).round().max(2.0);
                nft(&format!("    meta length > {FULL} numgen inc mod {each} 0 drop\n"))
            }
            Self::Window { bytes: size } => {
                let size = bytes::parse(size).unwrap_or(4096);
                format!("sysctl -qw net.ipv4.tcp_rmem='{size} {size} {size}'\n")
            }
        }
    }

    /// The script that takes it away again.
    pub fn undo(&self) -> String {
        match self {
            Self::Duplex {} | Self::Loss { .. } => "nft delete table netdev riddle\n".to_owned(),
            Self::Window { .. } => {
                "sysctl -qw net.ipv4.tcp_rmem='4096 131072 6291456'\n".to_owned()
            }
        }
    }
}

/// Rules for what comes to the node.
fn nft(rules: &str) -> String {
    format!(
        "nft -f - <<'END'\ntable netdev riddle {{\n  chain in {{\n    type filter hook ingress device \
         \"eth0\" priority 0; policy accept;\n{rules}  }}\n}}\nEND\n"
    )
}

/// A line for each share of time that a wire of `rate` can be busy, the largest first: each eighth of
/// it costs a sixteenth of the frames that the others have left.
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
