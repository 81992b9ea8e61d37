//! Faults that are injected into a copy on purpose, to test that `garland explain` finds them.

use std::fmt;

use garland_core::units::{Nanos, UnitError, bytes};
use serde::{Deserialize, Serialize};

/// Pauses at offsets of the file: at a first offset, and at regular distances after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// The length of a pause in nanoseconds.
    pub pause_ns: u64,
    /// The number of bytes between pauses, at least 1.
    pub every: u64,
    /// The number of bytes before the first pause.
    pub first: u64,
}

impl Stall {
    /// Returns the number of pauses within `bytes` bytes.
    #[must_use]
    pub fn count(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.first).div_ceil(self.every.max(1))
    }
}

/// A fault that is injected into one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Injection {
    /// Reads of the source pause.
    SourceDisk(Stall),
    /// Writes to the destination pause.
    SinkDisk(Stall),
    /// Syncing the file takes this many nanoseconds longer.
    Fsync(u64),
    /// Sending pauses.
    Pause(Stall),
    /// Replies to the head's orders are delayed by this many nanoseconds.
    Control(u64),
    /// The byte at this offset of the node's file is corrupted on the medium.
    Rot(u64),
    /// The byte at this offset of the source, or of what a node sends of its file, changes in
    /// memory once, after its block was hashed and before it is sealed.
    Flip(u64),
}

/// A fault of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFault {
    /// The number of nanoseconds by which the clock is fast; negative if it is slow.
    pub offset_ns: i64,
    /// The nanoseconds that the clock gains per second (thousandths of a ppm).
    pub drift_ppb: i64,
    /// A jump of the clock: the time after the start of the process in nanoseconds, and the number
    /// of nanoseconds by which it jumps.
    pub step: Option<(u64, i64)>,
}

/// A fault as the user requested it: where to inject it, and the fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A fault at the head.
    AtHead(Injection),
    /// A fault at the node of this name.
    At(String, Injection),
    /// A fault of the clock of the node of this name.
    Clock(String, ClockFault),
}

/// The syntax of faults, for error messages.
pub const FORM: &str = "source-disk:TIME/SIZE[@FIRST], sink-disk:NODE:TIME/SIZE[@FIRST], \
     pause:TIME/SIZE[@FIRST], fsync:NODE:TIME, control:NODE:TIME, rot:NODE:PLACE, \
     flip:PLACE or \
     clock:NODE:TIME[,PPMppm][,TIME@TIME]";

/// The longest pause. If a node is silent for much longer, its peers give it up.
const PAUSE_MAX: Nanos = Nanos::from_secs(60);

/// Parses a fault, such as `sink-disk:n2:17ms/10MiB`.
///
/// # Errors
/// Describes the syntax.
pub fn parse_injection(text: &str) -> Result<Wanted, String> {
    parse(text).map_err(|why| format!("`{text}`: {why}; valid faults are {FORM}"))
}

fn parse(text: &str) -> Result<Wanted, String> {
    let (kind, rest) = text.split_once(':').ok_or("there is no `:` after the fault's name")?;
    match kind {
        "source-disk" => return Ok(Wanted::AtHead(Injection::SourceDisk(stall(rest)?))),
        "pause" => return Ok(Wanted::AtHead(Injection::Pause(stall(rest)?))),
        "flip" => return Ok(Wanted::AtHead(Injection::Flip(size(rest)?))),
        _ => {}
    }
    // A lab's nodes have a `:` in their names.
    let (node, what) = rest.rsplit_once(':').ok_or("the node is missing")?;
    let injection = match kind {
        "sink-disk" => Injection::SinkDisk(stall(what)?),
        "fsync" => Injection::Fsync(pause(what)?),
        "rot" => Injection::Rot(size(what)?),
        "control" => Injection::Control(pause(what)?),
        "clock" => return Ok(Wanted::Clock(node.to_owned(), what.parse()?)),
        _ => return Err(format!("there is no fault named `{kind}`")),
    };
    Ok(Wanted::At(node.to_owned(), injection))
}

fn size(text: &str) -> Result<u64, String> {
    bytes::parse(text).map_err(|error| error.to_string())
}

fn time(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: UnitError| error.to_string())
}

fn pause(text: &str) -> Result<u64, String> {
    let parsed = time(text)?;
    if parsed > PAUSE_MAX {
        return Err(format!("{parsed} is longer than the maximum of {PAUSE_MAX}"));
    }
    Ok(parsed.0)
}

fn stall(text: &str) -> Result<Stall, String> {
    let (time, places) = text.split_once('/').ok_or("`/` and a size are missing")?;
    let (every, first) = places.split_once('@').unwrap_or((places, places));
    Ok(Stall { pause_ns: pause(time)?, every: size(every)?.max(1), first: size(first)? })
}

/// Parses a time of at most a year, which may be negative; returns nanoseconds.
fn signed(text: &str) -> Result<i64, String> {
    const YEAR: Nanos = Nanos::from_secs(366 * 24 * 3600);
    let size = text.strip_prefix('-');
    let parsed = time(size.unwrap_or(text))?;
    if parsed > YEAR {
        return Err(format!("{parsed} is longer than a year"));
    }
    let ns = i64::try_from(parsed.0).unwrap_or(i64::MAX);
    Ok(if size.is_some() { -ns } else { ns })
}

impl fmt::Display for ClockFault {
    /// Writes the text that `from_str` parses: the part of a fault after `clock:NODE:`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns,{}ppm", self.offset_ns, self.drift_ppb as f64 / 1000.0)?;
        self.step.iter().try_for_each(|(after, by)| write!(f, ",{by}ns@{after}ns"))
    }
}

impl std::str::FromStr for ClockFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut fault = Self::default();
        for part in text.split(',') {
            if let Some(ppm) = part.strip_suffix("ppm") {
                let ppm: f64 = ppm.parse().map_err(|_| format!("`{ppm}` is not a number"))?;
                if ppm.abs() > 100_000.0 || ppm.is_nan() {
                    return Err(format!("{ppm} ppm is outside -100000 to 100000"));
                }
                fault.drift_ppb = (ppm * 1000.0) as i64;
            } else if let Some((by, after)) = part.split_once('@') {
                fault.step = Some((time(after)?.0, signed(by)?));
            } else {
                fault.offset_ns = signed(part)?;
            }
        }
        Ok(fault)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn faults_are_read() {
        let stall = Stall { pause_ns: 17_000_000, every: 10 << 20, first: 10 << 20 };
        let read = |text| parse_injection(text).unwrap();
        assert_eq!(read("source-disk:17ms/10MiB"), Wanted::AtHead(Injection::SourceDisk(stall)));
        let early = Stall { first: 0, ..stall };
        assert_eq!(read("pause:17ms/10MiB@0"), Wanted::AtHead(Injection::Pause(early)));
        assert_eq!([0, 1, 10 << 20, (10 << 20) + 1].map(|bytes| early.count(bytes)), [0, 1, 1, 2]);
        assert_eq!([10 << 20, (10 << 20) + 1].map(|bytes| stall.count(bytes)), [0, 1]);
        let sink = Wanted::At("lab:n2".to_owned(), Injection::SinkDisk(stall));
        assert_eq!(read("sink-disk:lab:n2:17ms/10MiB"), sink);
        assert_eq!(read("flip:5MiB"), Wanted::AtHead(Injection::Flip(5 << 20)));
        let late = Wanted::At("n2".to_owned(), Injection::Control(11_000_000));
        assert_eq!(read("control:n2:11ms"), late);
        let rotten = Wanted::At("n2".to_owned(), Injection::Rot(5 << 20));
        assert_eq!(read("rot:n2:5MiB"), rotten);
        let step = Some((2_000_000_000, -5_000_000));
        let fault = ClockFault { offset_ns: 49_000_000_000, drift_ppb: 100_000, step };
        assert_eq!(read("clock:n2:49s,100ppm,-5ms@2s"), Wanted::Clock("n2".to_owned(), fault));
    }

    #[test]
    fn invalid_faults_get_the_list_of_valid_ones() {
        for text in [
            "",
            "x",
            "fsync:200ms",
            "sink-disk:n1:17ms",
            "pause:2h/1MiB",
            "pause:1ms/1MiB@",
            "slow:n1:1ms",
        ] {
            let error = parse_injection(text).unwrap_err();
            assert!(error.contains(text) && error.contains("sink-disk:NODE"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_clocks_fault_survives_its_argument(offset_ns in -1_000_000_000_000_i64..1_000_000_000_000, drift_ppb in -1_000_000_i64..1_000_000, step in proptest::option::of((0..1_u64 << 40, -1_000_000_000_i64..1_000_000_000))) {
            let fault = ClockFault { offset_ns, drift_ppb, step };
            let again: ClockFault = fault.to_string().parse().unwrap();
            prop_assert_eq!((again.offset_ns, again.step), (offset_ns, step));
            prop_assert!((again.drift_ppb - drift_ppb).abs() <= 1);
        }

        #[test]
        fn any_text_is_a_fault_or_an_error(text in "\\PC{0,40}") {
            let _ = parse_injection(&text);
        }
    }
}
