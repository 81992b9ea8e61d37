//! The arguments of `cargo xtask bench chain` and `cargo xtask bench wires-of-today`.

use anyhow::{Result, bail};
use serde::Serialize;

use super::contest::Usage;

/// Which of the two benchmarks runs. They differ in what they measure by default only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Many nodes by many tools, on shaped wires too.
    Chain,
    /// One and five nodes on unshaped wires, by numbers of processors, with profiles.
    WiresOfToday,
}

impl Kind {
    /// The name of the benchmark, as the command line and files have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::WiresOfToday => "wires-of-today",
        }
    }

    /// The schema of its results.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Chain => "garland.bench-chain/1",
            Self::WiresOfToday => "garland.bench-wires-of-today/1",
        }
    }
}

/// The parsed arguments.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Options {
    /// Numbers of receiving nodes.
    pub(crate) receivers: Vec<usize>,
    /// Sizes of the file in bytes.
    pub(crate) sizes: Vec<u64>,
    /// Rates of the links in bit/s; `None` is unshaped.
    pub(crate) rates: Vec<Option<u64>>,
    /// Names of tools; empty for all.
    pub(crate) peers: Vec<String>,
    /// Number of runs of each tool at each size, rate and number of receivers.
    pub(crate) runs: usize,
    /// Numbers of processors on which everything runs; `None` is all.
    pub(crate) cores: Vec<Option<usize>>,
    /// Whether a further copy by each tool tells which functions take the processors' time.
    pub(crate) profile: bool,
    /// Congestion control of every node's namespace.
    pub(crate) congestion: String,
    /// Whether free memory is pinned, so that none is returned to a host.
    pub(crate) pinned: bool,
    /// Whether the result is written to a file.
    pub(crate) write: bool,
}

impl Options {
    /// The options of a benchmark.
    pub(crate) fn usage(kind: Kind) -> Usage {
        let today = kind == Kind::WiresOfToday;
        let by = |chain, of_today| if today { of_today } else { chain };
        let options = vec![
            ("--receivers", by("1,5,10,20", "1,5"), "numbers of receiving nodes"),
            ("--sizes", by("1GiB,10MB", "1GiB"), "sizes of the file"),
            ("--rates", by("1gbit,unshaped", "unshaped"), "rates of every node's link"),
            (
                "--peers",
                by(ALL, "relay,relay-threads,relay-splice,rsync,garland,garland-clear"),
                "only these tools",
            ),
            ("--runs", by("3", "9"), "runs of each; a run of more than a minute is not repeated"),
            ("--cores", by("all", "1,all"), "numbers of processors for everything"),
            ("--profile", by("no", "yes"), "which functions take the processors' time: yes or no"),
            ("--cc", "reno", "congestion control of every node: reno or bbr"),
            ("--memory", "pinned", "pinned: no free memory is returned to the host; or plain"),
        ];
        Usage { name: kind.name(), options }
    }

    /// Returns the clusters: processors, rate, and receivers.
    pub(crate) fn clusters(&self) -> Vec<(Option<usize>, Option<u64>, usize)> {
        let mut all = Vec::new();
        for &cores in &self.cores {
            for &rate in &self.rates {
                all.extend(self.receivers.iter().map(|&receivers| (cores, rate, receivers)));
            }
        }
        all
    }

    /// Parses the arguments.
    pub(crate) fn parse(kind: Kind, args: &[String]) -> Result<Self> {
        let words = Self::usage(kind).parse(args)?;
        let peers = Some(words.value("--peers")).filter(|names| *names != ALL);
        let peers = peers.map(|names| names.split(',').map(str::to_owned));
        Ok(Self {
            receivers: words
                .parsed("--receivers", |all| all.split(',').map(receivers).collect())?,
            sizes: words.parsed("--sizes", |all| all.split(',').map(size).collect())?,
            rates: words.parsed("--rates", |all| all.split(',').map(rate).collect())?,
            peers: peers.into_iter().flatten().collect(),
            runs: words.count("--runs")?,
            cores: words.parsed("--cores", |all| all.split(',').map(cores).collect())?,
            profile: words.parsed("--profile", |value| match value {
                "yes" => Ok(true),
                "no" => Ok(false),
                _ => bail!("the value must be `yes` or `no`"),
            })?,
            congestion: words.value("--cc").to_owned(),
            pinned: words.parsed("--memory", |value| match value {
                "pinned" => Ok(true),
                "plain" => Ok(false),
                _ => bail!("the value must be `pinned` or `plain`"),
            })?,
            write: words.write,
        })
    }
}

/// The word for all tools that can be had, and for all processors.
const ALL: &str = "all";

fn cores(text: &str) -> Result<Option<usize>> {
    let here = std::thread::available_parallelism()?.get();
    match text {
        ALL => Ok(None),
        text => match text.parse()? {
            number if (1..=here).contains(&number) => Ok(Some(number)),
            _ => bail!("this machine has 1 to {here} processors"),
        },
    }
}

fn receivers(text: &str) -> Result<usize> {
    let n = text.parse()?;
    if !(1..=200).contains(&n) {
        bail!("the number of receivers must be 1 to 200");
    }
    Ok(n)
}

/// Parses a size such as `10MB` or `1GiB`.
pub(crate) fn size(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => bail!("unknown unit `{unit}`; use B, kB, MB, GB, KiB, MiB or GiB"),
    };
    Ok(digits.parse::<u64>()? * unit)
}

fn rate(text: &str) -> Result<Option<u64>> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "unshaped" if digits.is_empty() => return Ok(None),
        "mbit" => 1_000_000,
        "gbit" => 1_000_000_000,
        unit => bail!("unknown unit `{unit}`; use mbit or gbit, or the word unshaped"),
    };
    Ok(Some(digits.parse::<u64>()? * unit))
}

/// Formats a rate in bit/s as `1 Gbit/s`; `None` as `unshaped`.
pub(crate) fn rate_text(rate: Option<u64>) -> String {
    match rate {
        None => "unshaped".to_owned(),
        Some(rate) if rate % 1_000_000_000 == 0 => format!("{} Gbit/s", rate / 1_000_000_000),
        Some(rate) => format!("{} Mbit/s", rate as f64 / 1e6),
    }
}

/// Formats a size as `1 GiB` or `1 MiB` if that is exact, else in MB.
pub(crate) fn size_text(bytes: u64) -> String {
    for (unit, name) in [(1_u64 << 30, "GiB"), (1 << 20, "MiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options> {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(Kind::Chain, &words)
    }

    #[test]
    fn words_become_options() {
        let options = parse("--sizes 1GiB,10MB --rates 100mbit,unshaped --no-write").unwrap();
        assert_eq!(options.sizes, [1 << 30, 10_000_000]);
        assert_eq!(options.rates, [Some(100_000_000), None]);
        assert!(!options.write);
        assert_eq!(size_text(1 << 30), "1 GiB");
        assert_eq!(size_text(10_000_000), "10 MB");
        assert_eq!(rate_text(Some(1_000_000_000)), "1 Gbit/s");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["--sizes 1XB", "--rates fast", "--receivers 0", "--runs", "--x 1", "--cores 0"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
