//! The scale of the demo: so many nodes, and wires so slow, that the wires are the limit and not
//! this machine's processors.

use garland_core::units::{Rate, bytes};
use garland_lab::Spec;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::ScenarioLab;
use crate::args::Demo;

/// The rates of wires to choose from.
const RATES: [&str; 8] =
    ["50mbit", "100mbit", "200mbit", "500mbit", "1gbit", "2gbit", "5gbit", "10gbit"];

/// The part of the rate that this machine can emulate that wires may have.
const SHARE: f64 = 0.5;

/// The length in bytes of the file that is copied to find this rate.
const TRIAL: u64 = 64 << 20;

/// The number of seconds that the copy of the demo should take.
const SECONDS: f64 = 6.0;

/// The least and the greatest length of the file in bytes.
const LENGTHS: (u64, u64) = (64 << 20, 1 << 30);

/// The number of processors from which on more nodes are emulated.
const MANY: usize = 8;

/// The scale of the demo.
pub struct Scale {
    /// The number of nodes besides the head.
    pub nodes: u32,
    /// The rate of every wire.
    pub rate: Rate,
    /// The length of the file in bytes.
    pub length: u64,
    /// The rate that this machine can emulate, if it was measured.
    pub measured: Option<Rate>,
}

impl Scale {
    /// Returns the scale that the user chose. What is left open is chosen by what this machine can
    /// emulate: a copy over wires without a limit.
    pub fn choose(demo: &Demo, run: &Run, interrupts: &Interrupts) -> Result<Self, Failure> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let nodes = demo.nodes.unwrap_or(if processors < MANY { 4 } else { 8 });
        let (measured, rate) = match &demo.rate {
            Some(rate) => (None, rate.parse().map_err(Failure::usage)?),
            None => {
                let measured = emulated(nodes, run, interrupts)?;
                (Some(measured), fitting(measured)?)
            }
        };
        let length = match &demo.size {
            Some(size) => bytes::parse(size).map_err(Failure::usage)?,
            None => choose_length(rate),
        };
        Ok(Self { nodes, rate, length, measured })
    }
}

/// Returns the rate at which this machine copies to `nodes` nodes without limits.
fn emulated(nodes: u32, run: &Run, interrupts: &Interrupts) -> Result<Rate, Failure> {
    let spec = Spec::switch("lab", nodes, None);
    let lab = ScenarioLab::build(run, interrupts, spec, TRIAL * (u64::from(nodes) + 2))?;
    let source = lab.random_file("trial", TRIAL)?.to_string_lossy().into_owned();
    let list = format!("lab:n[1-{nodes}]");
    lab.garland(&["up", &list])?;
    let words = ["--json", "cp", "--no-fsync", &source, &format!("{list}:/dev/null")];
    let result = lab.garland(&words)?;
    lab.end()?;
    let result: serde_json::Value =
        serde_json::from_slice(&result).or_nothing("cannot read the result of a copy")?;
    let rate = result["stream_rate"].as_f64().unwrap_or_default();
    format!("{rate}B/s").parse().map_err(Failure::nothing)
}

/// Returns the greatest rate of wires of which this machine emulates `measured`.
fn fitting(measured: Rate) -> Result<Rate, Failure> {
    let rates: Result<Vec<Rate>, _> = RATES.iter().map(|rate| rate.parse()).collect();
    let rates: Vec<Rate> = rates.map_err(Failure::nothing)?;
    let most = measured.bytes_per_second() * SHARE;
    let fits = rates.iter().rev().find(|rate| rate.bytes_per_second() <= most);
    Ok(fits.copied().unwrap_or(rates[0]))
}

/// Returns the length of a file that takes some seconds at `rate`: a power of two.
fn choose_length(rate: Rate) -> u64 {
    let bytes = (rate.bytes_per_second() * SECONDS) as u64;
    let (least, most) = LENGTHS;
    1 << bytes.clamp(least, most).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_are_slower_than_the_machine_and_files_take_some_seconds() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        let cases =
            [("3gbit", "1gbit"), ("1gbit", "500mbit"), ("90gbit", "10gbit"), ("1mbit", "50mbit")];
        for (measured, wanted) in cases {
            assert_eq!(fitting(rate(measured)).unwrap(), rate(wanted), "{measured}");
        }
        assert_eq!(choose_length(rate("1gbit")), 512 << 20);
        assert_eq!(
            (choose_length(rate("50mbit")), choose_length(rate("10gbit"))),
            (64 << 20, 1 << 30)
        );
    }
}
