//! The tools of `bench mount`: the same shell commands on both kinds of mount, and tools without a
//! mount.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::contest::{self, Figure};
use crate::sandbox;
use crate::star::{CLIENT, LAB, Stage};

/// A tool of this benchmark.
pub(super) type Tool = contest::Tool<Stage>;

/// Number of small files, and of files in one directory.
const FILES: usize = 10_000;
const PER_FOLDER: usize = 100;

/// Bytes of a small file and of a small read.
const SMALL: usize = 4096;

/// Seconds of small reads.
const SECONDS: u32 = 3;

const GARLAND: &str = "garland mount of a node with a standing agent";
const SSHFS: &str = "sshfs with its default options, to an sshd on the server";

const fn ours(measure: fn(&Stage) -> Result<Figure>) -> Tool {
    Tool { name: "garland-mount", about: GARLAND, need: None, measure }
}

const fn sshfs(measure: fn(&Stage) -> Result<Figure>) -> Tool {
    Tool { name: "sshfs", about: SSHFS, need: Some(("sshfs", "sshfs")), measure }
}

pub(super) const READ: Tool = ours(|stage| read(stage, Mount::Garland));
pub(super) const READ_SSHFS: Tool = sshfs(|stage| read(stage, Mount::Sshfs));
pub(super) const WRITE: Tool = ours(|stage| write(stage, Mount::Garland));
pub(super) const WRITE_SSHFS: Tool = sshfs(|stage| write(stage, Mount::Sshfs));
pub(super) const LIST: Tool = ours(|stage| list(stage, Mount::Garland));
pub(super) const LIST_SSHFS: Tool = sshfs(|stage| list(stage, Mount::Sshfs));
pub(super) const RANDOM: Tool = ours(|stage| random(stage, Mount::Garland));
pub(super) const RANDOM_SSHFS: Tool = sshfs(|stage| random(stage, Mount::Sshfs));

pub(super) const COPY_OUT: Tool = Tool {
    name: "garland-cp",
    about: "garland cp --whole --no-fsync of the same file in the same direction",
    need: None,
    measure: |stage| copy(stage, &stage.source.to_string_lossy(), "lab:io1:/copied"),
};

pub(super) const COPY_BACK: Tool = Tool {
    measure: |stage| {
        let here = stage.folder.join("back");
        copy(stage, "lab:io1:/large", &here.to_string_lossy())
    },
    ..COPY_OUT
};

pub(super) const ROUND_TRIPS: Tool = Tool {
    name: "round-trips",
    about: "bench/peers/fetch.c: a request of 64 bytes, a reply of 4 KiB, one after another",
    need: Some(("gcc", "cc")),
    measure: round_trips,
};

/// Writes the large file and the small ones into the server's root directory.
pub(super) fn prepare(stage: &Stage, root: &Path) -> Result<()> {
    sandbox::compile_in(&stage.folder, root, "cc", "bench/peers/fetch.c", "fetch")?;
    let node = stage.root(1)?;
    fs::copy(&stage.source, node.join("large")).context("failed to copy the large file")?;
    for at in 0..FILES {
        let folder = node.join("tree").join((at / PER_FOLDER).to_string());
        if at % PER_FOLDER == 0 {
            fs::create_dir_all(&folder).context("failed to create a directory")?;
        }
        fs::write(folder.join(at.to_string()), [0; SMALL]).context("failed to write a file")?;
    }
    Ok(())
}

/// A kind of mount.
#[derive(Clone, Copy)]
enum Mount {
    Garland,
    Sshfs,
}

impl Mount {
    /// Mounts the server, runs a shell command in the mount, and returns its standard output. The
    /// command can call the shell function `now`, which prints the time in nanoseconds.
    fn with(self, stage: &Stage, line: &str) -> Result<String> {
        let said = stage.folder.join("said");
        let folder = stage.folder.join("mounted");
        let told = said.display();
        fs::create_dir_all(&folder).context("failed to create the mount point")?;
        let at = folder.display();
        // Unmount even if the command fails.
        let inside = |below: &str| {
            format!(
                "set -e; trap 'cd /; fusermount3 -u {at}' EXIT; cd {at}{below}; now() {{ date +%s%N; }}; \
                 {{ {line}; }} > {told}"
            )
        };
        let mut command = match self {
            Self::Garland => {
                let point = at.to_string();
                stage.garland(&["mount", "--lab", LAB, &point, "lab:io1"])?;
                let mut command = Command::new("sh");
                command.args(["-c", &inside("/io1")]);
                command
            }
            Self::Sshfs => {
                let node = stage.root(1)?.display().to_string();
                let address = stage.address(1)?;
                let options = stage.ssh_options();
                let mount = format!("sshfs {options} root@{address}:{node} {at}; {}", inside(""));
                stage.shell(CLIENT, &mount)?
            }
        };
        let daemons = matches!(self, Self::Sshfs).then(|| stage.sshd()).transpose()?;
        command.current_dir(&stage.folder).stdin(Stdio::null());
        let status = command.status().context("failed to start sh")?;
        drop(daemons);
        ensure!(status.success(), "`{line}` failed: {status}");
        fs::read_to_string(&said).context("failed to read the tool's output")
    }

    /// Returns the seconds that a shell command takes in a new mount.
    fn time(self, stage: &Stage, line: &str) -> Result<f64> {
        let said =
            self.with(stage, &format!("t=$(now); {{ {line}; }} >&2; echo $(($(now) - t))"))?;
        let nanoseconds: f64 = said
            .trim()
            .parse()
            .with_context(|| format!("the output is not a time in nanoseconds: {said}"))?;
        Ok(nanoseconds / 1e9)
    }
}

fn read(stage: &Stage, mount: Mount) -> Result<Figure> {
    Ok(stage.rate(mount.time(stage, "dd if=large of=/dev/null bs=1M status=none")?))
}

fn write(stage: &Stage, mount: Mount) -> Result<Figure> {
    let source = stage.source.display();
    let seconds = mount.time(stage, &format!("dd if={source} of=written bs=1M status=none"))?;
    let written = stage.root(1)?.join("written");
    Stage::assert_equal(&stage.source, &written)?;
    fs::remove_file(&written).context("failed to remove the written file")?;
    Ok(stage.rate(seconds))
}

fn list(stage: &Stage, mount: Mount) -> Result<Figure> {
    let seconds = mount.time(stage, "ls -lR tree > /dev/null")?;
    Ok(Figure::from_mean(FILES as f64 / seconds))
}

fn random(stage: &Stage, mount: Mount) -> Result<Figure> {
    let line = format!(
        "fio --name=r --filename=large --readonly --rw=randread --bs={SMALL} --ioengine=psync \
         --norandommap --time_based --runtime={SECONDS} --output-format=json"
    );
    let said = mount.with(stage, &line)?;
    let told = said.find('{').map_or("", |begin| &said[begin..]);
    let result: Value = serde_json::from_str(told).context("failed to parse fio's result")?;
    let rate = result["jobs"][0]["read"]["iops"].as_f64();
    rate.map(Figure::from_mean).context("fio's result has no rate")
}

fn copy(stage: &Stage, from: &str, to: &str) -> Result<Figure> {
    let words = ["cp", "-q", "--lab", LAB, "--whole", "--no-fsync", from, to];
    let (seconds, _) = stage.garland(&words)?;
    for copied in [stage.folder.join("back"), stage.root(1)?.join("copied")] {
        if copied.exists() {
            fs::remove_file(&copied).context("failed to remove the copy")?;
        }
    }
    Ok(stage.rate(seconds))
}

fn round_trips(stage: &Stage) -> Result<Figure> {
    const PORT: u16 = 7005;
    let fetch = stage.folder.join("fetch").display().to_string();
    let server = stage.listen(PORT, |_| format!("exec {fetch} serve {PORT}"))?;
    let address = stage.address(1)?;
    let said = stage.folder.join("said");
    let line = format!("exec {fetch} ask {address} {PORT} {SMALL} {SECONDS} > {}", said.display());
    let status = stage.shell(CLIENT, &line)?.status().context("failed to start fetch")?;
    ensure!(status.success(), "fetch failed: {status}");
    server.finish()?;
    let told = fs::read_to_string(&said).context("failed to read the tool's output")?;
    let rate = told.trim().parse();
    rate.map(Figure::from_mean)
        .with_context(|| format!("the output of fetch is not a rate: {told}"))
}
