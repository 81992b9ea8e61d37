//! Faults that may make a switch slower than a hub, and their injection into a lab.

use garland_analysis::grade::Condition;
use garland_core::units::{Rate, bytes};
use garland_terminal::failure::Failure;
use serde::{Deserialize, Serialize};

use crate::sections::refuse;

/// Entry of `[[job.riddle.suspect]]`: a fault that is tested as a possible cause.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Suspect {
    /// Where the size of the fault comes from, outside of the published table; without it, the
    /// fault explains nothing.
    source: Option<String>,
    /// Whether the jobs are run with the fault, too; the copies always are.
    #[serde(default)]
    jobs: bool,
    #[serde(flatten)]
    fault: Fault,
}

/// A fault between the server and the copying node.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "what", rename_all = "lowercase", deny_unknown_fields)]
enum Fault {
    /// A duplex mismatch: one end of the node's cable is full duplex, the other half duplex. The
    /// half-duplex end loses frames that arrive while it sends. It sends one acknowledgement for
    /// two frames, and each loses the frame that it collides with. So the share of lost frames is
    /// half of the busy share of the wire's time.
    Duplex {},
    /// Loss of full frames to the node.
    Loss {
        /// Lost frames in percent.
        percent: f64,
    },
    /// A small receive window on the node.
    Window {
        /// Bytes of the receive buffer; Linux offers half of it as the window.
        bytes: String,
    },
}

/// Packets of up to this length in bytes count as acknowledgements, longer ones as full frames.
const FULL: u32 = 1000;

/// The length of a full frame on the wire in bytes, including preamble and gap.
const ON_WIRE: f64 = 1538.0;

/// The number of levels by which the busy share of a wire's time is approximated.
const PARTS: u32 = 8;

/// A wire counts as busy after this number of frames in a row, 2 ms at 100 Mbit/s. The half-duplex
/// end defers while it receives, so short bursts cause no collision. How long it deferred in 2004
/// is unknown: with 4 frames, a copy takes ten times as long as with 64.
const AFTER: u32 = 16;

impl Suspect {
    /// Checks that the figures of the fault are in their ranges.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.fault {
            Fault::Window { bytes } => bytes::parse(bytes).map(drop).map_err(Failure::usage),
            Fault::Loss { percent } if !(*percent > 0.0 && *percent < 100.0) => {
                refuse("`percent` must be above 0 and below 100")
            }
            _ => Ok(()),
        }
    }

    /// Returns the fault as a condition of the time, for tables and grades.
    pub fn condition(&self) -> Condition {
        let words = match &self.fault {
            Fault::Duplex {} => "duplex mismatch at the node's port".to_owned(),
            Fault::Loss { percent } => format!("{percent} % of its frames lost"),
            Fault::Window { bytes } => format!("a receive buffer of {bytes}"),
        };
        Condition::new(words, self.source.clone())
    }

    /// Returns whether the jobs are run with the fault.
    pub fn is_for_jobs(&self) -> bool {
        self.jobs
    }

    /// Returns whether the fast network has the fault as well: a fault of the node affects both
    /// networks, a fault of the cable only the slow one.
    pub fn is_on_both(&self) -> bool {
        matches!(self.fault, Fault::Window { .. })
    }

    /// Returns a shell script that injects the fault into the network namespace of the node, whose
    /// wire has the rate `rate`.
    pub fn script(&self, rate: Rate) -> String {
        match &self.fault {
            Fault::Duplex {} => nft(&mismatch(rate)),
            Fault::Loss { percent } => {
                // Drop at regular intervals, so that copies take equal times: at random, a copy may
                // lose several frames in a row and wait for seconds.
                let each = (100.0 / percent).round().max(2.0);
                nft(&format!("    meta length > {FULL} numgen inc mod {each} 0 drop\n"))
            }
            Fault::Window { bytes: size } => {
                let size = bytes::parse(size).unwrap_or(4096);
                format!("sysctl -qw net.ipv4.tcp_rmem='{size} {size} {size}'\n")
            }
        }
    }

    /// Returns a shell script that removes the fault.
    pub fn undo(&self) -> String {
        match self.fault {
            Fault::Duplex {} | Fault::Loss { .. } => "nft delete table netdev riddle\n".to_owned(),
            Fault::Window { .. } => {
                "sysctl -qw net.ipv4.tcp_rmem='4096 131072 6291456'\n".to_owned()
            }
        }
    }
}

/// Returns a script that applies nftables `rules` to frames that arrive at the node.
fn nft(rules: &str) -> String {
    format!(
        "nft -f - <<'END'\ntable netdev riddle {{\n  chain in {{\n    type filter hook ingress device \
         \"eth0\" priority 0; policy accept;\n{rules}  }}\n}}\nEND\n"
    )
}

/// Returns the rules of a duplex mismatch on a wire of `rate`: one for each eighth of the busy
/// share, the largest first. Each rule drops a sixteenth of the frames that the previous rules have
/// not dropped.
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
    fn a_busier_wire_loses_more() {
        let rules = mismatch(Rate::from_bits_per_second(100_000_000));
        let lines: Vec<&str> = rules.lines().collect();
        assert_eq!(lines.len(), 7);
        assert!(lines[0].contains("over 7111/second") && lines[0].ends_with("< 62 drop"));
        assert!(lines[6].contains("over 1015/second") && lines[6].ends_with("< 62 drop"));
    }

    #[test]
    fn suspects_are_checked_and_have_scripts() {
        let suspect = |text: &str| toml::from_str::<Suspect>(text);
        let loss = suspect("what = 'loss'\npercent = 0.5").unwrap();
        assert!(loss.script(Rate::default()).contains("numgen inc mod 200 0 drop"));
        assert!(suspect("what = 'loss'\npercent = 100").unwrap().check().is_err());
        assert!(suspect("what = 'window'\nbytes = 'x'").unwrap().check().is_err());
        let duplex = suspect("what = 'duplex'").unwrap();
        assert!(!duplex.is_on_both() && duplex.condition().source().is_none());
        let sourced = suspect("what = 'duplex'\nsource = 'a manual'").unwrap();
        assert_eq!(sourced.condition().source(), Some("a manual"));
        assert!(suspect("what = 'duplex'\nsize = 1").is_err(), "unknown key");
    }
}
