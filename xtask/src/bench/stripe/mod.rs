//! `bench stripe`: one file over M servers, a wire to each, by Garland and by what people use for it.

mod peers;
mod stage;
mod table;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::peers::PEERS;
use self::stage::Stage;
use super::chain;
use super::machine::Machine;
use crate::ci::{Need, install};
use crate::clock::today;

/// What the lab and the peers need.
const NEEDS: &[Need] = &[
    ("iproute2", "ip"),
    ("iperf3", "iperf3"),
    ("rsync", "rsync"),
    ("openssh-client", "scp"),
    ("openssh-server", "sshd"),
    ("netcat-openbsd", "nc.openbsd"),
];

/// What can be said.
pub(crate) const USAGE: &str = "\
cargo xtask bench stripe [options]

  --size MIB                  the file, in MiB (1024)
  --servers 1,2,4             numbers of servers
  --rates 1gbit,unshaped      rates of the wire to each
  --peers garland,rsync,...   which tools (all of them by default)
  --runs 3                    runs of each
  --no-write                  print only, leave benches/results/ alone";

/// The parsed words.
#[derive(Clone, Debug, Serialize)]
struct Options {
    mib: u64,
    servers: Vec<usize>,
    rates: Vec<String>,
    peers: Vec<String>,
    runs: usize,
    #[serde(skip)]
    write: bool,
}

/// All of it, for the JSON file.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    date: String,
    command: String,
    machine: Machine,
    options: Options,
    rows: Vec<Row>,
}

/// One tool over one number of servers.
#[derive(Serialize)]
struct Row {
    rate: String,
    servers: usize,
    peer: &'static str,
    /// Bytes per second that iperf3 moved over all wires at once.
    goodput: f64,
    /// Seconds of the whole command.
    seconds: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

/// Runs it with these words.
///
/// # Errors
/// When the words make no sense, a lab can't be made, or a tool failed (after all others ran).
pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    install(NEEDS)?;
    chain::build(root)?;
    let mut report = Report {
        schema: "garland.bench-stripe/1",
        date: today(),
        command: format!("cargo xtask bench stripe {}", args.join(" ")).trim().to_owned(),
        machine: Machine::here(),
        rows: Vec::new(),
        options,
    };
    let options = report.options.clone();
    for rate in &options.rates {
        for &servers in &options.servers {
            let stage = Stage::up(servers, rate, options.mib << 20)?;
            let goodput = peers::goodput(&stage).context("measure the wires")?;
            eprintln!("{servers} servers at {rate}: iperf3 {:.1} MB/s", goodput / 1e6);
            for peer in PEERS.iter().filter(|peer| options.wants(peer.name)) {
                let mut row = Row {
                    rate: rate.clone(),
                    servers,
                    peer: peer.name,
                    goodput,
                    seconds: Vec::new(),
                    failed: None,
                };
                let turns = peers::turns(&stage, peer, options.runs, &mut row.seconds);
                row.failed = turns.err().map(|error| format!("{error:#}"));
                eprintln!("{}: {:.3?} s {:?}", row.peer, row.seconds, row.failed);
                report.rows.push(row);
            }
        }
    }
    finish(root, &report)
}

fn finish(root: &Path, report: &Report) -> Result<()> {
    let text = table::markdown(report);
    println!("{text}");
    if report.options.write {
        let json = serde_json::to_string_pretty(report).context("write the report as JSON")? + "\n";
        for (suffix, text) in [("md", text), ("json", json)] {
            let path = root.join(format!("benches/results/{}-stripe.{suffix}", report.date));
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
    }
    let failed = report.rows.iter().filter(|row| row.failed.is_some()).count();
    if failed > 0 {
        bail!("{failed} of {} rows have failures", report.rows.len());
    }
    Ok(())
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            mib: 1024,
            servers: vec![1, 2, 4],
            rates: vec!["1gbit".to_owned(), "unshaped".to_owned()],
            peers: Vec::new(),
            runs: 3,
            write: true,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            if word == "--no-write" {
                options.write = false;
                continue;
            }
            let value = words.next().with_context(|| format!("`{word}`: what?\n\n{USAGE}"))?;
            let parts = || value.split(',').map(str::to_owned);
            match word.as_str() {
                "--size" => options.mib = value.parse::<u64>()?.clamp(1, 1 << 20),
                "--servers" => {
                    let servers = value.split(',').map(str::parse::<usize>);
                    options.servers = servers.collect::<Result<_, _>>()?;
                }
                "--rates" => options.rates = parts().collect(),
                "--peers" => options.peers = parts().collect(),
                "--runs" => options.runs = value.parse::<usize>()?.max(1),
                _ => bail!("`{word}`: unknown\n\n{USAGE}"),
            }
        }
        if options.servers.iter().any(|servers| !(1..=15).contains(servers)) {
            bail!("1 to 15 servers: the client has a NIC for each");
        }
        Ok(options)
    }

    fn wants(&self, peer: &str) -> bool {
        self.peers.is_empty() || self.peers.iter().any(|name| name == peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_options() {
        let parse = |text: &str| {
            let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words)
        };
        let options = parse("--size 64 --servers 2 --peers scp --no-write").unwrap();
        assert_eq!((options.mib, options.servers.as_slice()), (64, &[2][..]));
        assert!(options.wants("scp") && !options.wants("rsync") && !options.write);
        for wrong in ["--size", "--servers 0", "--servers x", "--x 1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
