//! Copies with the published pauses, of other sizes and with more operations in progress.

use std::fmt;

use garland_core::units::{Nanos, bytes};
use garland_terminal::failure::Failure;
use serde::{Deserialize, Serialize};

use super::maker::Pause;
use super::sizes::Sizes;
use crate::scenario_lab::Busy;

/// Entry of `[[job.varied]]`: what differs from the published copy, as its user could have varied
/// it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variation {
    /// The length of an operation; `None` for the published one.
    pub operation: Option<String>,
    /// The length of a buffer; `None` for the published one.
    pub buffer: Option<String>,
    /// The number of operations that may be in progress beyond the oldest one.
    #[serde(default)]
    pub overlap: u64,
    /// Whether a pause is as long as its operation has bytes, as that of a disk is. Otherwise it is
    /// the same for all operations, as that of a message is.
    #[serde(default)]
    pub grows: bool,
}

/// A copy with a variation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Varied {
    /// The sizes of the copy.
    #[serde(flatten, serialize_with = "fields")]
    pub sizes: Sizes,
    /// Whether pauses grew with the operation.
    pub grows: bool,
    /// The predicted seconds of the whole command.
    pub predicted_s: f64,
    /// Seconds of the whole command.
    pub whole_s: f64,
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
    /// Whether the server's file equals the source.
    pub equal: bool,
}

/// Serializes the sizes that vary.
fn fields<S: serde::Serializer>(sizes: &Sizes, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields {
        operation: u64,
        buffer: u64,
        overlap: u64,
    }
    let Sizes { operation, buffer, overlap, length: _ } = *sizes;
    Fields { operation, buffer, overlap }.serialize(serializer)
}

impl Variation {
    /// Returns the sizes of a copy with this variation; those of the published copy are `sizes`.
    pub fn sizes(&self, sizes: Sizes) -> Result<Sizes, Failure> {
        let or = |own: &Option<String>, usual| match own {
            Some(own) => bytes::parse(own).map_err(Failure::usage),
            None => Ok(usual),
        };
        let operation = or(&self.operation, sizes.operation)?;
        let buffer = or(&self.buffer, sizes.buffer)?;
        if operation == 0 || buffer == 0 || !operation.is_multiple_of(buffer) {
            return Err(Failure::usage("a varied `operation` must be a multiple of its `buffer`"));
        }
        Ok(Sizes { operation, buffer, overlap: self.overlap, ..sizes })
    }

    /// Returns the pause of a copy of `own` sizes that was `pause` in operations of `usual` bytes.
    pub fn pause(&self, pause: &Pause, own: Sizes, usual: u64) -> Result<Pause, Failure> {
        let mut ns = pause.pause.parse::<Nanos>().map_err(Failure::usage)?.0;
        if self.grows {
            ns = (ns as f64 * own.operation as f64 / usual as f64) as u64;
        }
        Ok(Pause { maker: pause.maker, pause: format!("{ns}ns") })
    }
}

impl fmt::Display for Varied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { operation, buffer, overlap, .. } = self.sizes;
        let operation = bytes::format(operation);
        let buffer = bytes::format(buffer);
        let longer = if self.grows { ", pauses by their bytes" } else { "" };
        write!(f, "operations of {operation}, buffers of {buffer}, {overlap} more{longer}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::maker::Maker;
    use super::*;

    #[test]
    fn a_pause_by_its_bytes_grows_with_the_operation() {
        let usual = Sizes { length: 100 << 20, buffer: 1 << 20, operation: 10 << 20, overlap: 0 };
        let pause = Pause { maker: Maker::SinkDisk, pause: "17.5ms".to_owned() };
        let longer = |grows| Variation {
            operation: Some("40MiB".to_owned()),
            grows,
            ..Variation::default()
        };
        let of = |varied: &Variation| {
            let own = varied.sizes(usual).unwrap();
            let pause = varied.pause(&pause, own, usual.operation).unwrap();
            (own.operation >> 20, pause.seconds().unwrap())
        };
        assert_eq!((of(&longer(false)), of(&longer(true))), ((40, 0.0175), (40, 0.07)));
        let small = Variation { operation: Some("1.5MiB".to_owned()), ..Variation::default() };
        assert!(small.sizes(usual).is_err());
    }
}
