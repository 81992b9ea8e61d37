//! The project's own chores, run as `cargo xtask <chore>`.
//!
//! A chore is a module: it parses its own arguments and returns an error that says what to do.
//! Nothing here is part of what goes to users or nodes.

// This program lints the others, and only its tests are linted with them.
#![deny(unused)]

mod ci;
mod fabric;
mod guard;
mod package;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
usage: cargo xtask <chore>

  tidy                check the house rules (directions, lengths, clocks, unsafe, names)
  imports             which file uses names of which, a line each
  fabric [--release]  build garland-fabric, the helper for libfabric, beside garland
  static              the program as it is given to others: an optimised, static build
  deb [--binary FILE] a Debian package in target/debian, of that program or of a new one
  check               tidy, Clippy, and tests that need neither root nor other programs
  test | ci           all checks and all tests, after installing what they need
  setup               install what the tests need
  guard COMMAND       run a command of which nothing remains, however this ends
  soak [MINUTES]      the tests again and again with other random cases (60 minutes)
  soak scenarios      all scenarios, in one report
  soak mount          those of mounts for ten minutes and more, with agents killed meanwhile
  bench chain         one file to N nodes, against peers (its own --help)
  bench lab           how long labs take to come up and to go (its own --help)
  bench ping          small messages between two nodes, against peers (its own --help)
  bench wires         rates between two nodes, beside iperf3's (its own --help)
  bench disk          a disk's figures, beside fio's (its own --help)
  bench stripe        one file over several servers, against peers (its own --help)
  bench report        how long a report takes to make and to open (its own --help)
  screenshots PROGRAM [FOLDER]  the pictures of reports in docs/images, with this garland; into
                      FOLDER all looks of each";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((chore, rest)) = args.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let root = repository();
    let done = match chore.as_str() {
        "tidy" if rest.is_empty() => tidy::run(root),
        "imports" if rest.is_empty() => tidy::print_imports(root),
        "fabric" if rest.is_empty() => fabric::build(root, false),
        "fabric" if rest == ["--release"] => fabric::build(root, true),
        "static" if rest.is_empty() => package::release(root),
        "deb" if rest.is_empty() => package::deb(root, None),
        "deb" if rest.len() == 2 && rest[0] == "--binary" => {
            package::deb(root, Some(rest[1].as_str().into()))
        }
        "test" | "ci" if rest.is_empty() => guard::chore(|| ci::test(root)),
        "check" if rest.is_empty() => guard::chore(|| ci::check(root)),
        "setup" if rest.is_empty() => ci::setup(root),
        "guard" if !rest.is_empty() => return exit(guard::run(rest).map(ExitCode::from)),
        guard::KEEPER => return exit(guard::keep(rest)),
        "soak" if rest == ["mount"] => guard::chore(|| ci::soak_mounts(root)),
        "soak" if rest == ["scenarios"] => ci::scenarios(root),
        "soak" if rest.len() <= 1 => {
            minutes(rest).and_then(|minutes| guard::chore(|| ci::soak(root, minutes)))
        }
        "bench" => benchmarks(root, rest),
        "screenshots" => benchmarks(root, &args),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("unknown chore or argument: {}\n\n{USAGE}", args.join(" "));
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

/// Goes on as the benchmarks, which need much that the other chores don't.
fn benchmarks(root: &Path, args: &[String]) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt;

    let mut command = std::process::Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "garland-bench", "--manifest-path"]);
    command.arg(root.join("Cargo.toml")).arg("--").args(args);
    Err(command.exec()).context("start cargo")
}

fn minutes(args: &[String]) -> anyhow::Result<u64> {
    let Some(text) = args.first() else {
        return Ok(60);
    };
    text.parse().with_context(|| format!("`{text}` is no number of minutes"))
}

/// The repository this binary was built from: the parent of the `xtask` package.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the xtask package lies in the repository")
}
