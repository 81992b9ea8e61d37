//! Test suites for file systems that others wrote, on a mount: `fsx` and `fio` (a file holds what
//! was written to it) and `pjdfstest` (what POSIX says of names, modes, times and errors).
//! `make test` builds them into `target/suites`.

use std::path::{Path, PathBuf};
use std::process::Command;

use garland_sys::random;
use garland_testkit::Scratch;

use crate::mount::stage::Stage;

/// What pjdfstest is told of this file system, and what of it isn't claimed.
const POSIX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/local/mount/pjdfstest.toml");

/// How much longer the suites run in a soak.
fn more() -> u32 {
    if std::env::var_os("GARLAND_SOAK").is_some() { 20 } else { 1 }
}

fn suite(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/suites/bin").join(name);
    assert!(path.is_file(), "{} isn't there: `cargo xtask test` builds it", path.display());
    path
}

/// Runs it; what it said, if it has ended well.
#[track_caller]
fn passes(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}\n{err}", output.status);
    said
}

/// Runs so many of fsx's operations, chosen by these weights, on a file of up to 3 MB: that is
/// beyond what is read and written at a time.
#[track_caller]
fn fsx(stage: &Stage<'_>, operations: u32, weights: &str) {
    let config = stage.scratch.path("fsx.toml");
    let text = format!("flen = 3000000\n[opsize]\nmax = 200000\n[weights]\n{weights}");
    std::fs::write(&config, text).expect("it can be written");
    let seed = u32::from_le_bytes(random::bytes());
    let mut command = Command::new(suite("fsx"));
    command.args(["-N", &(operations * more()).to_string(), "-S", &seed.to_string(), "-q", "-f"]);
    command.arg(&config).arg("-P").arg(stage.scratch.folder()).arg(stage.path("local1/x"));
    let _ = passes(&mut command);
}

#[test]
fn fsx_finds_no_wrong_byte_in_a_file_that_is_mapped_too() {
    let scratch = Scratch::new("mount-fsx-mapped");
    let stage = Stage::new(&scratch, 1);
    let weights = "close_open = 2\nread = 10\nwrite = 10\nmapread = 10\nmapwrite = 10\n\
        invalidate = 1\ntruncate = 3\nfsync = 1\nfdatasync = 1\nposix_fallocate = 1\n\
        punch_hole = 1\nsendfile = 3\nposix_fadvise = 1\ncopy_file_range = 3\n";
    fsx(&stage, 3000, weights);
    stage.end();
}

#[test]
fn fsx_finds_no_wrong_byte_in_a_file_that_is_read_and_written() {
    let scratch = Scratch::new("mount-fsx");
    let stage = Stage::new(&scratch, 1);
    let weights = "close_open = 2\nread = 10\nwrite = 10\nmapread = 0\nmapwrite = 0\n\
        truncate = 3\nfsync = 1\nfdatasync = 1\nposix_fallocate = 1\npunch_hole = 1\n\
        sendfile = 3\ncopy_file_range = 3\n";
    fsx(&stage, 5000, weights);
    stage.end();
}

#[test]
fn fio_reads_what_it_has_written() {
    let scratch = Scratch::new("mount-fio");
    let stage = Stage::new(&scratch, 1);
    let ways = [
        ["--ioengine=psync", "--rw=randrw", "--bsrange=512-70k", "--direct=0"],
        ["--ioengine=psync", "--rw=randwrite", "--bs=4k", "--direct=1"],
        ["--ioengine=libaio", "--rw=write", "--bs=1m", "--iodepth=4"],
        ["--ioengine=mmap", "--rw=randwrite", "--bs=4k", "--direct=0"],
    ];
    for way in ways {
        let mut fio = Command::new("fio");
        fio.args(["--name=verify", "--verify=crc32c", "--verify_fatal=1", "--do_verify=1"]);
        fio.args(["--fsync=100", "--numjobs=2", "--group_reporting", "--end_fsync=1"]);
        fio.arg(format!("--size={}m", 4 * more())).args(way);
        // It writes what it has verified into its working directory.
        fio.arg("--directory").arg(stage.path("local1")).current_dir(scratch.folder());
        let _ = passes(&mut fio);
    }
    stage.end();
}

#[test]
fn pjdfstest_finds_what_is_claimed() {
    let scratch = Scratch::new("pjdfstest");
    let stage = Stage::new(&scratch, 2);
    // Names of sockets have 107 bytes at most, and these tests make long ones: the mount gets a
    // short name, for them alone.
    let mut command = Command::new("unshare");
    let short = "mount --bind \"$0\" /mnt && exec \"$@\"";
    command.args(["--mount", "sh", "-c", short]).arg(stage.path(""));
    command.arg(suite("pjdfstest")).args(["-c", POSIX, "-p", "/mnt/local1"]);
    // Renaming and linking across nodes is as across file systems.
    command.args(["-s", "/mnt/local2"]);
    let said = passes(&mut command);
    let passed = said.lines().filter(|line| line.trim_end().ends_with(" ok")).count();
    assert!(passed > 200, "only {passed} tests were run:\n{said}");
    stage.end();
}
