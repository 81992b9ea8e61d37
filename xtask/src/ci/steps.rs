//! The steps of `make test`, the quickest first.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use xtask::clock::Watch;
use xtask::packages;

use super::leftovers::Watchman;
use super::sources::Sources;
use super::{client, python, suites, tools};
use crate::{fabric, tidy};

/// Expected upper limit of the time of `make test` from a fresh clone on two idle processors, in
/// seconds.
const BUDGET_S: u64 = 30 * 60;

/// Runs every check and every test.
///
/// # Errors
/// If a step fails; the error names it, and no further step is run.
pub(crate) fn test(root: &Path) -> Result<()> {
    let whole = Watch::start();
    style(root)?;
    setup(root)?;
    step("deny", || tools::deny(root))?;
    let before = Sources::look(root)?;
    let linting = lint_variables();
    step("clippy and build", || build(root, &linting))?;
    step("fabric", || fabric::check(root, &linting))?;
    step("test", || tests(root, &["--workspace"], &linting))?;
    step("examples in documentation", || {
        let args = ["test", "--quiet", "--workspace", "--doc", "--locked"];
        run(Command::new(env!("CARGO")).current_dir(root).args(args).envs(linting.clone()))
    })?;
    step("sources", || Sources::assert_same(before, root))?;
    let took = whole.read().as_secs();
    println!("all passed in {took} s");
    if took > BUDGET_S {
        println!("warning: this exceeds the budget of {BUDGET_S} s on two processors");
    }
    Ok(())
}

/// The tests of `make check`, as a filter for nextest: tests of crates and of the protocol's
/// machines, which start no program and need no root.
const IN_PROCESS: &str = "(kind(lib) | kind(bin) \
     | package(/^garland-(protocol|simulation|predict)$/)) & !package(/^(garland-fuzz|garland-bench)$/)";

/// Runs the checks and tests that every change should pass. They take minutes and need no root.
///
/// # Errors
/// If a step fails; the error names it, and no further step is run.
pub(crate) fn check(root: &Path) -> Result<()> {
    style(root)?;
    step("tools", || tools::install(root))?;
    let linting = lint_variables();
    step("clippy and build", || build(root, &linting))?;
    let after_build = Watch::start();
    step("test", || tests(root, &["--workspace", "-E", IN_PROCESS], &linting))?;
    println!("all passed; tests took {} s", after_build.read().as_secs());
    Ok(())
}

/// Runs the checks that do not compile our crates.
fn style(root: &Path) -> Result<()> {
    step("tidy", || tidy::run(root))?;
    step("components", components)?;
    step("fmt", || cargo(root, &["fmt", "--all", "--check"]))
}

fn build(root: &Path, linting: &[(&'static str, String)]) -> Result<()> {
    let args = ["test", "--quiet", "--workspace", "--all-targets", "--locked", "--no-run"];
    run(Command::new(env!("CARGO")).current_dir(root).args(args).envs(linting.iter().cloned()))
}

/// Installs what the tests need.
///
/// # Errors
/// If a package or a tool cannot be installed.
pub(crate) fn setup(root: &Path) -> Result<()> {
    step("packages", || packages::install(packages::TESTS))?;
    step("python", || python::install(root))?;
    step("client", || client::install(root))?;
    step("suites", || suites::install(root))?;
    step("tools", || tools::install(root))
}

/// Returns the environment variables with which cargo compiles our crates by Clippy's driver, the
/// compiler with more lints, and denies warnings. So the tests use the crates that were linted;
/// `cargo clippy` would check every crate and all dependencies a second time. Incremental
/// compilation is off, since no source changes between the steps; so are tables of lines, which
/// only debuggers and backtraces need.
fn lint_variables() -> Vec<(&'static str, String)> {
    let driver = Path::new(env!("CARGO")).with_file_name("clippy-driver");
    let separator = "__CLIPPY_HACKERY__";
    vec![
        ("RUSTC_WORKSPACE_WRAPPER", driver.display().to_string()),
        ("CLIPPY_ARGS", format!("-D{separator}warnings{separator}")),
        ("CARGO_INCREMENTAL", "0".to_owned()),
        ("CARGO_PROFILE_DEV_DEBUG", "none".to_owned()),
    ]
}

/// Runs the tests that the nextest arguments `which` choose, with additional environment variables,
/// and checks that they leave nothing behind. `.config/nextest.toml` says which tests run at the
/// same time.
pub(super) fn tests(root: &Path, which: &[&str], variables: &[(&str, String)]) -> Result<()> {
    let mut command = tools::nextest(root);
    command
        .args(["--cargo-quiet", "--locked", "--no-fail-fast", "--test-threads", &threads()])
        .args(which)
        .envs(variables.iter().map(|(name, value)| (name, value)));
    watched(&mut command)
}

/// Runs a command that runs tests, and checks that they leave nothing behind.
pub(super) fn watched(command: &mut Command) -> Result<()> {
    let watchman = Watchman::new()?;
    watchman.mark(command);
    let outcome = run(command);
    let left = watchman.look();
    outcome?;
    left
}

/// Returns the number of test threads, three for each processor. `.config/nextest.toml` assigns one
/// thread to a test that mostly waits, three to a test that computes, and all to a test that
/// measures.
fn threads() -> String {
    (3 * std::thread::available_parallelism().map_or(1, usize::from)).to_string()
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("== {name}");
    let watch = Watch::start();
    work().with_context(|| format!("step `{name}` failed"))?;
    println!("== {name}: {:.1} s", watch.read().as_secs_f64());
    Ok(())
}

/// Installs rustfmt and Clippy with rustup, since a minimal installation of Rust lacks them.
fn components() -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let there = Command::new(env!("CARGO"))
            .args([subcommand, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !there {
            println!("installing Rust component: {component}");
            run(Command::new("rustup").args(["component", "add", component])).with_context(
                || {
                    format!(
                        "the Rust component `{component}` is missing, and rustup cannot be started"
                    )
                },
            )?;
        }
    }
    Ok(())
}

fn cargo(root: &Path, args: &[&str]) -> Result<()> {
    run(Command::new(env!("CARGO")).current_dir(root).args(args))
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("failed to start `{name}`"))?;
    if !status.success() {
        bail!("`{name}` failed: {status}");
    }
    Ok(())
}
