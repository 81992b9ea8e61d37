//! Benchmarks, most of them with peers in the same run: copies, stripes, trees, mounts, messages,
//! disks, jobs, labs, predictions and reports.

mod chain;
mod cluster;
mod contest;
mod cpu;
mod disk;
mod farm;
mod field;
mod forecast;
mod gauges;
mod kept;
mod lab;
mod link;
mod machine;
mod memory;
mod mount;
mod options;
mod peer;
mod peers;
mod ping;
mod processes;
mod profile;
mod report;
mod result;
mod runnable;
mod sandbox;
mod screenshots;
mod source;
mod spread;
mod star;
mod stripe;
mod table;
mod trees;
mod ways;
mod wires;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use options::Kind;
use runnable::Runnable;

const ALL: [&dyn Runnable; 13] = [
    &chain::Chain(Kind::Chain),
    &chain::Chain(Kind::WiresOfToday),
    &lab::BENCHMARK,
    &ping::BENCHMARK,
    &wires::BENCHMARK,
    &disk::BENCHMARK,
    &stripe::BENCHMARK,
    &trees::BENCHMARK,
    &ways::BENCHMARK,
    &farm::BENCHMARK,
    &mount::BENCHMARK,
    &forecast::Forecasts,
    &report::BENCHMARK,
];

fn main() -> ExitCode {
    // A benchmark's lab starts this program again, as the process that keeps its namespaces.
    if let Some(exit) = garland_lab::hidden::main(std::env::args_os()) {
        return exit;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies in the repository");
    let done = match words.split_first() {
        Some((chore, rest)) if chore == "screenshots" => pictures(root, rest),
        _ => run(root, &words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the pictures of reports in docs/images, or all variants of them in a given directory.
fn pictures(root: &Path, args: &[String]) -> Result<()> {
    let Some(program) = args.first().filter(|_| args.len() <= 2) else {
        bail!("usage: cargo xtask screenshots PROGRAM [DIRECTORY]");
    };
    let docs = root.join("docs/images");
    let folder = args.get(1).map_or(docs.as_path(), Path::new);
    let program =
        Path::new(program).canonicalize().context("failed to find the garland program")?;
    screenshots::make(&program, folder, args.len() > 1)
}

/// Runs the benchmark that `args` name.
///
/// # Errors
/// If an argument is wrong, or the benchmark fails.
fn run(root: &Path, args: &[String]) -> Result<()> {
    let usages = || ALL.map(|bench| bench.usage().to_string()).join("\n\n");
    let Some((name, rest)) = args.split_first() else {
        bail!("the name of a benchmark is missing\n\n{}", usages());
    };
    match name.as_str() {
        field::SHELL => return field::shell(rest),
        ways::SLOW_PEERS => return ways::slow_peers(rest),
        _ => {}
    }
    match ALL.iter().find(|bench| bench.usage().name == name) {
        Some(bench) if rest.iter().any(|word| word == "--help") => {
            println!("{}", bench.usage());
            Ok(())
        }
        Some(bench) => bench.run(root, rest),
        None if args.iter().any(|word| word == "--help") => {
            println!("{}", usages());
            Ok(())
        }
        None => bail!("unknown benchmark `{name}`\n\n{}", usages()),
    }
}
