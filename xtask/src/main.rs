//! The project's own chores, run as `cargo xtask <chore>`.
//!
//! A chore is a module: it parses its own arguments and returns an error that says what to do.
//! No code of this package is part of the programs for users and nodes.

// This program starts the linting of the others; of its own code only the tests are linted with
// them.
#![deny(unused)]

mod book;
mod ci;
mod crates_io;
mod fabric;
mod guard;
mod package;
mod tidy;
mod walk;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
usage: cargo xtask <chore>

  tidy                check the house rules (directions, lengths, clocks, unsafe, names)
  imports             print each pair of files of which the first uses names of the second
  walk [cp|block|order] [--before]  print the files that a reader of a walk of ARCHITECTURE.md opens,
                      and their number; with --before, before copies became a library
  book                make the site of docs/ in target/book; fail if it has a dead link (builds mdBook
                      first if it is missing, which takes minutes)
  fabric [--release]  build garland-fabric, the helper for libfabric, beside garland
  static              build the optimised, static program for users; print its path and those of
                      its bill of materials and checksums
  deb                 make a Debian package in target/debian
  wheel               make a wheel of the Python client and the program in target/wheel
  image               make a container image, target/oci/garland.tar; with --binary FILE, each of the
                      three packs FILE and not a new build, and with --into DIRECTORY, it is made there
  reproducible        make all four twice, in different directories; fail if the bytes differ
  check               run tidy, Clippy, and the tests that need neither root nor other programs
  test | ci           install what the tests need, then run all checks and tests
  setup               install what the tests need
  guard COMMAND       run COMMAND, then kill all processes that it left
  soak [MINUTES]      repeat the tests with other random cases (default: 60 minutes)
  soak scenarios      run all scenarios; make one report
  soak bugs           put bugs back that were fixed; the simulator must find each by its seed
  soak faults [--minutes N] [--seed S] [--round R]  copies, farms and mounts in a lab with random
                      faults at random moments (default: 30 minutes); a round is repeated by its seed
  soak healthy [--copies N]  copies of all kinds at many rates, to which nothing is done: no node
                      may be called slow, detached or tried on the side (default: 200 copies)
  soak hostile        ten minutes of random orders, requests and bytes by peers with keys of all roles,
                      beside copies
  soak rsync [--rounds N] [--seed S] [--from R | --round R]  random trees with random options on
                      nine file systems, beside rsync: no difference may be left (default: 10000 rounds)
  soak spool          a thousand entries of a spool, written slowly by another user while nodes go
                      and come
  soak mount          test mounts for ten minutes and more while agents are killed
  truth [--runs N] [--seed S] [--run K]  copies in a lab with random faults from outside of the
                      program: how many explanations name them (default: 60 runs)
  truth suggest [--runs N] [--seed S]  random networks: are suggested plans near the best of all
                      orders, and do copies take as long as was predicted (default: 20 networks)
  truth forecast [--runs N] [--seed S] [--run K]  farms and copies of a lab: does a forecast from
                       fewer nodes hold the time on more (default: 20 cases)
  truth wires [--runs N] [--seed S] [--run K]  labs with random faults from outside of the program,
                      and healthy ones: does garland wires name the faults (default: 12 runs)
  bench chain         one file to N nodes, compared with other tools (has its own --help)
  bench wires-of-today  the same over wires that nothing bounds: CPU by node and function, by number of processors
  bench lab           time of building and removing labs (has its own --help)
  bench ping          small messages between two nodes, compared with other tools (--help)
  bench wires         rates between two nodes, compared with iperf3 (--help)
  bench disk          speed of a disk, compared with fio (--help)
  bench stripe        one file over several servers, compared with other tools (--help)
  bench report        time of making and opening a report (--help)
  screenshots PROGRAM [DIRECTORY]  make the pictures of reports in docs/images with the garland
                      program PROGRAM; with DIRECTORY: all variants of each, into DIRECTORY";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((chore, rest)) = words.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let root = repository();
    let done = match chore.as_str() {
        "tidy" if rest.is_empty() => tidy::run(root),
        "imports" if rest.is_empty() => tidy::print_imports(root),
        "walk" => walk::run(root, rest),
        "book" if rest.is_empty() => book::make(root),
        "fabric" if rest.is_empty() => fabric::build(root, false),
        "fabric" if rest == ["--release"] => fabric::build(root, true),
        "static" if rest.is_empty() => package::release(root),
        "deb" | "wheel" | "image" => package::pack(root, chore, rest),
        "reproducible" if rest.is_empty() => package::reproducible(root),
        "test" | "ci" if rest.is_empty() => guard::chore(|| ci::test(root)),
        "check" if rest.is_empty() => guard::chore(|| ci::check(root)),
        "setup" if rest.is_empty() => ci::setup(root),
        "guard" if !rest.is_empty() => return exit(guard::run(rest).map(ExitCode::from)),
        guard::KEEPER => return exit(guard::keep(rest)),
        "soak" if rest == ["mount"] => guard::chore(|| ci::soak_mounts(root)),
        "soak" if rest == ["spool"] => guard::chore(|| ci::soak_spool(root)),
        "soak" if rest == ["hostile"] => guard::chore(|| ci::soak_hostile(root)),
        "soak" if rest.first().is_some_and(|word| word == "faults") => {
            guard::chore(|| ci::soak_faults(root, &rest[1..]))
        }
        "soak" if rest.first().is_some_and(|word| word == "healthy") => {
            guard::chore(|| ci::soak_healthy(root, &rest[1..]))
        }
        "soak" if rest.first().is_some_and(|word| word == "rsync") => {
            guard::chore(|| ci::soak_rsync(root, &rest[1..]))
        }
        "truth" if rest.first().is_some_and(|word| word == "suggest") => {
            guard::chore(|| ci::truth_suggest(root, &rest[1..]))
        }
        "truth" => guard::chore(|| ci::truth(root, rest)),
        "soak" if rest == ["bugs"] => guard::chore(|| ci::bugs(root)),
        "soak" if rest == ["scenarios"] => ci::scenarios(root),
        "soak" if rest.len() <= 1 => {
            minutes(rest).and_then(|minutes| guard::chore(|| ci::soak(root, minutes)))
        }
        "bench" => benchmarks(root, rest),
        "screenshots" => benchmarks(root, &words),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("unknown chore or argument: {}\n\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    exit(done.map(|()| ExitCode::SUCCESS))
}

fn exit(done: anyhow::Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Replaces this process by the benchmark program, a package of its own since it has many more
/// dependencies.
fn benchmarks(root: &Path, args: &[String]) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt;

    let mut command = std::process::Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "garland-bench", "--manifest-path"]);
    command.arg(root.join("Cargo.toml")).arg("--").args(args);
    Err(command.exec()).context("failed to start cargo")
}

fn minutes(args: &[String]) -> anyhow::Result<u64> {
    let Some(text) = args.first() else {
        return Ok(60);
    };
    text.parse().with_context(|| format!("`{text}` is not a number of minutes"))
}

/// Returns the repository this binary was built from: the parent of the `xtask` package.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the xtask package lies in the repository")
}
