//! The makers of pauses, and what `garland explain` should find about each.

use garland_analysis::ledger::Cause;
use garland_core::units::Nanos;
use garland_protocol::copy::{Injection, Wanted, parse_injection};
use garland_terminal::failure::Failure;
use serde::{Deserialize, Serialize};

use super::sizes::Sizes;

/// The part of a copy that pauses at every operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// The source disk, before an operation's first byte.
    SourceDisk,
    /// The server's disk, before it writes the last buffer of an operation.
    SinkDisk,
    /// The client, before it sends an operation's first byte.
    Pause,
    /// The server's reply that an operation has been written.
    Control,
}

/// A pause at every operation.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The part that pauses.
    pub maker: Maker,
    /// The length of each pause, such as `11ms`.
    pub pause: String,
}

impl Maker {
    /// Returns the description for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::SourceDisk => "the source disk",
            Self::SinkDisk => "the server's disk",
            Self::Pause => "the client itself",
            Self::Control => "late replies",
        }
    }

    /// Returns the cause to which the ledger assigns the pause.
    pub fn cause(self) -> Cause {
        match self {
            Self::SourceDisk => Cause::SourceDisk,
            Self::SinkDisk => Cause::SinkDisk,
            Self::Pause => Cause::Pause,
            Self::Control => Cause::Control,
        }
    }

    /// Returns whether the client's own trace shows the pause.
    pub fn is_the_clients(self) -> bool {
        matches!(self, Self::SourceDisk | Self::Pause)
    }

    /// Returns whether a row of the ledger is at the place of this maker. `node` is the node of the
    /// row, `to` the far end if the row is about a hop. Any node but the server is taken for the
    /// client.
    pub fn is_at(self, server: &str, node: Option<&str>, to: Option<&str>) -> bool {
        match self {
            Self::SourceDisk | Self::Pause => {
                node.is_some_and(|node| node != server) && to.is_none()
            }
            Self::SinkDisk => node == Some(server) && to.is_none(),
            Self::Control => to == Some(server),
        }
    }
}

impl Pause {
    /// Returns the pause as an argument of `--inject`.
    pub fn fault(&self, sizes: Sizes, server: &str) -> String {
        let Sizes { buffer, operation, .. } = sizes;
        let pause = &self.pause;
        let last = operation - buffer;
        match self.maker {
            Maker::SourceDisk => format!("source-disk:{pause}/{operation}@0"),
            Maker::SinkDisk => format!("sink-disk:{server}:{pause}/{operation}@{last}"),
            Maker::Pause => format!("pause:{pause}/{operation}@0"),
            Maker::Control => format!("control:{server}:{pause}"),
        }
    }

    /// Returns the length of one pause in seconds.
    pub fn seconds(&self) -> Result<f64, Failure> {
        let pause: Nanos = self.pause.parse().map_err(Failure::usage)?;
        Ok(pause.as_secs_f64())
    }

    /// Returns the total length in nanoseconds of all pauses in a copy. Late replies count only
    /// where another operation waits for them.
    pub fn put_in_ns(&self, sizes: Sizes, server: &str) -> Result<u64, Failure> {
        let wanted = parse_injection(&self.fault(sizes, server)).map_err(Failure::usage)?;
        let (Wanted::AtHead(injection) | Wanted::At(_, injection)) = wanted else {
            return Err(Failure::usage(format!(
                "{} is an offset of a clock, not a pause",
                self.pause
            )));
        };
        Ok(match injection {
            Injection::SourceDisk(stall) | Injection::SinkDisk(stall) | Injection::Pause(stall) => {
                stall.pause_ns * stall.count(sizes.length)
            }
            Injection::Control(ns) | Injection::Fsync(ns) => {
                ns * sizes.operations().saturating_sub(1)
            }
            // These take no time.
            Injection::Rot(_) | Injection::Flip(_) => 0,
        })
    }
}
