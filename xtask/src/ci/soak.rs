//! Repeats the tests, each round with other random cases, until a given time is over.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::clock::Watch;
use xtask::packages;

use super::steps;

/// Cases of each property in a round; the default of a single test run is 256.
const CASES: u32 = 4096;

/// Simulated copies of the quickest kinds in a round; the default of a single test run is 2000. All
/// kinds together are 103,000 copies of the protocol's machines, and 7,000 of whole programs.
const COPIES: u32 = 27_000;

/// Seconds for which each parser is fuzzed in a round; in a single test run it is 2.
const FUZZ_S: u32 = 60;

/// How often `garland wires` measures a healthy lab in a round; in a single test run it does so 3
/// times.
const HEALTHY: u32 = 20;

/// Random trees that are copied beside rsync, on nine file systems; in a single test run they are
/// 100.
const RSYNC_ROUNDS: u64 = 10_000;

/// Networks of `truth suggest`.
const SUGGESTIONS: u64 = 20;

/// Cases of `truth forecast`.
const FORECASTS: u64 = 20;

/// Runs of `truth`.
const TRUTH_RUNS: u64 = 60;

/// Labs with a fault of `truth wires`.
const TRUTH_WIRES_RUNS: u64 = 12;

/// Minutes of `soak faults`.
const FAULTS_MIN: u64 = 30;

/// The copies of [`soak_healthy`].
const HEALTHY_COPIES: u64 = 200;

/// Runs rounds of all tests for at least `minutes`. Environment variables make each round longer
/// and different: `PROPTEST_CASES` is the number of cases per property, `GARLAND_SIM_SEEDS` the
/// simulated copies and their first seed, and `GARLAND_SOAK` the seed for tests that choose at
/// random. With `GARLAND_EXPLAIN`, `garland explain` is tested with all of its faults.
///
/// # Errors
/// If a round fails; the error contains the variables to run it again.
pub(crate) fn soak(root: &Path, minutes: u64) -> Result<()> {
    steps::setup(root)?;
    packages::install(packages::RSYNC)?;
    let watch = Watch::start();
    let mut round = 0_u32;
    while round == 0 || watch.read().as_secs() < minutes * 60 {
        round += 1;
        let needed = variables(seed());
        let again: Vec<String> =
            needed.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let again = again.join(" ");
        println!("== soak round {round}: {again}");
        steps::tests(root, &["--workspace", "--release"], &needed).with_context(|| {
            format!("round {round} failed; run it again with: {again} cargo test")
        })?;
    }
    println!("{round} rounds passed in {:.0} s", watch.read().as_secs_f64());
    Ok(())
}

/// Runs a round of [`soak`] with the tests of mounts only: a file is written and read for ten
/// minutes while agents are killed and restarted, and the test suites do twenty times as much as
/// usual.
///
/// # Errors
/// If a test fails, or a package that the tests need cannot be installed.
pub(crate) fn soak_mounts(root: &Path) -> Result<()> {
    steps::setup(root)?;
    let variables = [("GARLAND_SOAK", seed().to_string()), profile()];
    let which = ["--release", "--package", "garland", "--test", "local", "mount::"];
    steps::tests(root, &which, &variables)
}

/// Has peers with keys of all roles send random orders, requests and bytes for ten minutes, while
/// copies are made: no file that nobody was given is opened, neither agents nor heads grow, and
/// copies take no longer. Nothing else should use the processors.
///
/// # Errors
/// If one of that was found, or a package cannot be installed.
pub(crate) fn soak_hostile(root: &Path) -> Result<()> {
    packages::install(packages::HOSTILE)?;
    let mut command = printing(root, "garland", "local");
    command.arg("sessions::hostile::").env("GARLAND_SOAK", seed().to_string());
    steps::watched(&mut command)
}

/// Copies random trees with random options on nine file systems, beside rsync, and demands that no
/// difference is left: `soak rsync [--rounds N] [--seed S] [--from R | --round R]`. What is done is
/// printed with the options that go on from there; a fault with those that play its round alone.
///
/// # Errors
/// If an argument is wrong, a difference was found, or a package cannot be installed.
pub(crate) fn soak_rsync(root: &Path, args: &[String]) -> Result<()> {
    let [rounds, given, from, round] = numbers(args, ["--rounds", "--seed", "--from", "--round"])
        .context(
        "usage: cargo xtask soak rsync [--rounds N] [--seed S] [--from R | --round R]",
    )?;
    packages::install(packages::TESTS)?;
    packages::install(packages::RSYNC)?;
    let mut command = printing(root, "garland", "rsync");
    command.env("GARLAND_RSYNC_ROUNDS", rounds.unwrap_or(RSYNC_ROUNDS).to_string());
    command.env("GARLAND_SOAK", given.unwrap_or(seed().into()).to_string());
    for (name, value) in [("GARLAND_RSYNC_FROM", from), ("GARLAND_RSYNC_ROUND", round)] {
        if let Some(value) = value {
            command.env(name, value.to_string());
        }
    }
    steps::watched(&mut command)
}

/// Has other users write a thousand files and directories into a spool, slowly and in all ways,
/// while nodes go and come: each byte on each node must be that in `done`. It takes ten minutes.
///
/// # Errors
/// If one was not, or a package cannot be installed.
pub(crate) fn soak_spool(root: &Path) -> Result<()> {
    packages::install(packages::TESTS)?;
    let mut command = printing(root, "garland", "local");
    command.arg("sessions::spool::others::").env("GARLAND_SOAK", seed().to_string());
    steps::watched(&mut command)
}

/// Draws rounds of real commands in a lab with faults at random moments, for so many minutes, and
/// prints a table of what was found: `soak faults [--minutes N] [--seed S] [--round R]`. With a
/// round, only that round of the seed is run.
///
/// # Errors
/// If an argument is wrong, or a promise was broken.
pub(crate) fn soak_faults(root: &Path, args: &[String]) -> Result<()> {
    let [minutes, given, round] = numbers(args, ["--minutes", "--seed", "--round"])
        .context("usage: cargo xtask soak faults [--minutes N] [--seed S] [--round R]")?;
    packages::install(packages::TESTS)?;
    let mut command = printing(root, "garland", "soak_faults");
    command.env("GARLAND_SOAK_FAULTS_MINUTES", minutes.unwrap_or(FAULTS_MIN).to_string());
    command.env("GARLAND_SOAK_FAULTS_SEED", given.unwrap_or(seed().into()).to_string());
    if let Some(round) = round {
        command.env("GARLAND_SOAK_FAULTS_ROUND", round.to_string());
    }
    steps::watched(&mut command)
}

/// Makes two hundred healthy copies of all kinds and rates, or as many as `args` say
/// (`--copies N`), and demands that no node is called slow, detached or tried on the side.
///
/// # Errors
/// If an argument is wrong, or a node was.
pub(crate) fn soak_healthy(root: &Path, args: &[String]) -> Result<()> {
    let [copies] =
        numbers(args, ["--copies"]).context("usage: cargo xtask soak healthy [--copies N]")?;
    packages::install(packages::TESTS)?;
    let mut command = printing(root, "garland", "lab");
    command.arg("a_healthy_copy_").env("GARLAND_SOAK", seed().to_string());
    command.env("GARLAND_SOAK_HEALTHY", copies.unwrap_or(HEALTHY_COPIES).to_string());
    steps::watched(&mut command)
}

/// Draws copies in a lab with faults from outside of the program, has each explained, and prints a
/// table of how many explanations are true:
/// `truth [wires|forecast] [--runs N] [--seed S] [--run K]`. With `wires`, the wires of labs with
/// faults and of healthy ones are measured instead; with `forecast`, farms and copies are forecast
/// and then made. With a run, only that run of the seed is made.
///
/// # Errors
/// If an argument is wrong, or a command failed.
pub(crate) fn truth(root: &Path, args: &[String]) -> Result<()> {
    let (test, runs_variable, usual, rest) = match args.split_first() {
        Some((word, rest)) if word == "wires" => {
            ("wires_name", "GARLAND_TRUTH_WIRES_RUNS", TRUTH_WIRES_RUNS, rest)
        }
        Some((word, rest)) if word == "forecast" => {
            ("forecasts_hold", "GARLAND_TRUTH_FORECASTS", FORECASTS, rest)
        }
        _ => ("explanations_name", "GARLAND_TRUTH_RUNS", TRUTH_RUNS, args),
    };
    let [runs, given, run] = numbers(rest, ["--runs", "--seed", "--run"])
        .context("usage: cargo xtask truth [wires|forecast] [--runs N] [--seed S] [--run K]")?;
    packages::install(packages::TESTS)?;
    let mut command = printing(root, "garland", "truth");
    command.arg(test);
    command.env(runs_variable, runs.unwrap_or(usual).to_string());
    command.env("GARLAND_TRUTH_SEED", given.unwrap_or(seed().into()).to_string());
    if let Some(run) = run {
        command.env("GARLAND_TRUTH_RUN", run.to_string());
    }
    steps::watched(&mut command)
}

/// Draws networks; compares the plans that are suggested with the best of all orders, and with real
/// copies in labs: `truth suggest [--runs N] [--seed S]`.
///
/// # Errors
/// If an argument is wrong, a suggestion is not near the best, or a copy failed.
pub(crate) fn truth_suggest(root: &Path, args: &[String]) -> Result<()> {
    let [runs, given] = numbers(args, ["--runs", "--seed"])
        .context("usage: cargo xtask truth suggest [--runs N] [--seed S]")?;
    packages::install(packages::TESTS)?;
    let runs = runs.unwrap_or(SUGGESTIONS);
    let given = given.unwrap_or(seed().into()).to_string();
    for (package, test, count) in [
        ("garland-predict", "suggest", "GARLAND_TRUTH_RUNS"),
        ("garland", "truth", "GARLAND_TRUTH_COPIES"),
    ] {
        let mut command = printing(root, package, test);
        command.arg("suggested_plans").env(count, runs.to_string());
        steps::watched(command.env("GARLAND_TRUTH_SEED", &given))?;
    }
    Ok(())
}

/// Returns the command that runs the integration test `name` of a package alone, and shows what it
/// prints at once. (Nextest would print it in the end only.)
fn printing(root: &Path, package: &str, name: &str) -> Command {
    let mut command = Command::new("env");
    // A shell has what it starts in the background ignore Ctrl-C, and programs that tests interrupt
    // would ignore it, too.
    command.args(["--default-signal=INT,QUIT", env!("CARGO")]);
    command.current_dir(root).args(["test", "--quiet", "--locked", "--release"]);
    command.args(["--package", package, "--test", name, "--", "--nocapture"]);
    command
}

/// Returns the numbers that follow the options `names` in `args`.
fn numbers<const N: usize>(args: &[String], names: [&str; N]) -> Result<[Option<u64>; N]> {
    let mut values = [None; N];
    for pair in args.chunks(2) {
        let known = names.iter().position(|name| *name == pair[0]);
        let (Some(at), Some(text)) = (known, pair.get(1)) else {
            bail!("unknown option, or no number after it: {}", pair.join(" "));
        };
        let number = text.parse().with_context(|| format!("{}: `{text}` is not a number", pair[0]));
        values[at] = Some(number?);
    }
    Ok(values)
}

/// Returns a seed from the clock, different for each round and short enough to type.
fn seed() -> u32 {
    let bits = RandomState::new().hash_one("soak");
    u32::try_from(bits >> 32).expect("32 bits are left")
}

/// Returns the variable that selects nextest's profile for long tests.
fn profile() -> (&'static str, String) {
    ("NEXTEST_PROFILE", "soak".to_owned())
}

/// Returns the environment variables of a round.
fn variables(seed: u32) -> [(&'static str, String); 9] {
    [
        ("PROPTEST_CASES", CASES.to_string()),
        ("GARLAND_SOAK", seed.to_string()),
        ("GARLAND_SIM_SEEDS", format!("{seed}+{COPIES}")),
        ("GARLAND_WIRES_RUNS", HEALTHY.to_string()),
        ("GARLAND_RSYNC_ROUNDS", RSYNC_ROUNDS.to_string()),
        ("GARLAND_EXPLAIN", "all".to_owned()),
        ("GARLAND_FUZZ_SECONDS", FUZZ_S.to_string()),
        // A number that wraps would only seem to be right.
        ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true".to_owned()),
        profile(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_and_modules_that_soaks_run_exist() {
        let source = include_str!("soak.rs");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates/cli/tests");
        let mut count = 0;
        let starts = source.split("= printing(root, \"garland\", \"").skip(1);
        for start in starts.filter(|start| !start.starts_with('\\')) {
            let (program, rest) = start.split_once('"').expect("the word ends");
            let command = rest.split("steps::watched").next().expect("there is a first part");
            let modules = command.split('"').find(|word| word.ends_with("::"));
            let modules = modules.map_or(String::new(), |modules| modules.replace("::", "/"));
            let module = root.join(program).join(modules.trim_end_matches('/'));
            let is_there = module.is_dir() || module.with_extension("rs").is_file();
            assert!(is_there, "{}", module.display());
            count += 1;
        }
        assert!(count >= 6, "{count}");
    }
}
