//! The tools of `bench stripe`. Tools that cannot stripe get the file in parts and copy all parts
//! at the same time, which is the best that a script could do with them.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::contest::{self, Figure};
use crate::star::{LAB, Stage};

/// A tool of this benchmark.
pub(super) type Tool = contest::Tool<Stage>;

pub(super) const OUT: Tool = Tool {
    name: "garland",
    about: "garland cp --stripe --no-fsync to servers whose agents are up",
    need: None,
    measure: |stage| Ok(stage.rate(put(stage, &[])?)),
};

pub(super) const CLEAR: Tool = Tool {
    name: "garland-clear",
    about: "garland cp --stripe --no-fsync --no-encrypt",
    need: None,
    measure: |stage| Ok(stage.rate(put(stage, &["--no-encrypt"])?)),
};

pub(super) const BACK: Tool = Tool {
    name: "garland-back",
    about: "garland cp --stripe --no-fsync from servers whose agents are up",
    need: None,
    measure: |stage| Ok(stage.rate(back(stage)?)),
};

pub(super) const SECONDS: Tool = Tool {
    name: "garland-traced",
    about: "garland cp --stripe --no-fsync, with its trace: seconds",
    need: None,
    measure: |stage| put(stage, &[]).map(Figure::from_mean),
};

pub(super) const UNTRACED_SECONDS: Tool = Tool {
    name: "garland-untraced",
    about: "garland cp --stripe --no-fsync --no-trace: seconds",
    need: None,
    measure: |stage| put(stage, &["--no-trace"]).map(Figure::from_mean),
};

pub(super) const GAPS: Tool = Tool {
    name: "garland-gaps",
    about: "the round trips, bubbles and pauses that garland explain finds in the stream of such a copy",
    need: None,
    measure: gaps,
};

pub(super) const IPERF3: Tool = Tool {
    name: "iperf3",
    about: "a stream to each server at once for 4 s, after a first second that is not counted: the limit",
    need: Some(("iperf3", "iperf3")),
    measure: |stage| Ok(Figure::from_mean(measure_goodput(stage)? / 1e6)),
};

pub(super) const RSYNC: Tool = Tool {
    name: "rsync",
    about: "to a daemon on each server, --whole-file --inplace",
    need: Some(("rsync", "rsync")),
    measure: |stage| Ok(stage.rate(rsync(stage)?)),
};

pub(super) const SCP: Tool = Tool {
    name: "scp",
    about: "to an sshd on each server",
    need: Some(("openssh-server", "sshd")),
    measure: |stage| Ok(stage.rate(scp(stage)?)),
};

pub(super) const TAR: Tool = Tool {
    name: "tar-nc",
    about: "tar and netcat, a pair for each server",
    need: Some(("netcat-openbsd", "nc.openbsd")),
    measure: |stage| Ok(stage.rate(tar(stage)?)),
};

pub(super) const BARE: Tool = Tool {
    name: "relay",
    about: "bench/peers/relay.c, a pair for each server: 256 KiB reads and writes, no check of any kind",
    need: Some(("gcc", "cc")),
    measure: |stage| Ok(stage.rate(bare(stage)?)),
};

/// Returns TCP payload over all wires at once in bytes per second, as the servers count it.
pub(super) fn measure_goodput(stage: &Stage) -> Result<f64> {
    let servers = stage.listen(5201, |_| "exec iperf3 -s -1".to_owned())?;
    stage.time(|server| {
        let address = stage.address(server)?;
        Ok(format!("exec iperf3 -c {address} -t 4 -O 1 -J --logfile iperf-{server}.json"))
    })?;
    servers.finish()?;
    let mut sum = 0.0;
    for server in 1..=stage.servers {
        let file = stage.folder.join(format!("iperf-{server}.json"));
        let text = fs::read_to_string(&file).context("failed to read iperf3's result")?;
        fs::remove_file(&file).context("failed to remove iperf3's result")?;
        let result: Value =
            serde_json::from_str(&text).context("failed to parse iperf3's result")?;
        let bits = result["end"]["sum_received"]["bits_per_second"].as_f64();
        sum += bits.context("iperf3's result has no rate")?;
    }
    Ok(sum / 8.0)
}

/// The arguments of a copy.
const COPY: [&str; 6] = ["cp", "-q", "--lab", LAB, "--stripe", "--no-fsync"];

fn put(stage: &Stage, more: &[&str]) -> Result<f64> {
    let target = format!("{}:/f", stage.list());
    let source = stage.source.to_string_lossy();
    let (seconds, _) = stage.garland(&[&COPY, more, &[&source, &target]].concat())?;
    Ok(seconds)
}

/// Copies the stripes back; comparing the file with the source checks both directions.
fn back(stage: &Stage) -> Result<f64> {
    put(stage, &[])?;
    let source = format!("{}:/f", stage.list());
    let here = stage.folder.join("back");
    let target = here.to_string_lossy();
    let (seconds, _) = stage.garland(&[&COPY[..], &[&source, &target]].concat())?;
    Stage::assert_equal(&stage.source, &here)?;
    fs::remove_file(&here).context("failed to remove the copy")?;
    Ok(seconds)
}

/// Returns the share of a copy's stream in percent in which both ends waited for each other.
fn gaps(stage: &Stage) -> Result<Figure> {
    put(stage, &[])?;
    let (_, said) = stage.garland(&["explain", "--json"])?;
    let told: Value = serde_json::from_slice(&said).context("failed to read what explain says")?;
    let rows = told["rows"].as_array().context("the result of garland explain has no rows")?;
    let sum = |causes: &[&str]| -> u64 {
        let of = rows.iter().filter(|row| causes.iter().any(|cause| row["cause"] == *cause));
        of.filter_map(|row| row["ns"].as_u64()).sum()
    };
    let wall = told["wall_ns"].as_u64().context("the result of garland explain has no wall_ns")?;
    let stream = wall.saturating_sub(sum(&["set-up", "teardown", "fsync"]));
    let waited = sum(&["control round trips", "pipeline bubble", "pause"]);
    Ok(Figure::from_mean(waited as f64 / stream.max(1) as f64 * 100.0))
}

fn tar(stage: &Stage) -> Result<f64> {
    let dir = |server| stage.dir(server).display().to_string();
    let servers =
        stage.listen(7003, |server| format!("nc.openbsd -l 7003 | tar xf - -C {}", dir(server)))?;
    let seconds = stage.time(|server| {
        let address = stage.address(server)?;
        Ok(format!("tar cf - part-{server} | nc.openbsd -N {address} 7003"))
    })?;
    servers.finish()?;
    compare(stage)?;
    Ok(seconds)
}

fn rsync(stage: &Stage) -> Result<f64> {
    for server in 1..=stage.servers {
        let text = format!(
            "use chroot = no\nuid = root\ngid = root\nreverse lookup = no\n[bench]\npath = {}\n\
             read only = no\n",
            stage.dir(server).display()
        );
        fs::write(stage.folder.join(format!("rsyncd-{server}.conf")), text)
            .context("failed to write rsyncd.conf")?;
    }
    let daemon = |server| {
        let folder = stage.folder.display();
        format!("exec rsync --daemon --no-detach --config {folder}/rsyncd-{server}.conf")
    };
    let daemons = stage.listen(873, daemon)?;
    let seconds = stage.time(|server| {
        let address = stage.address(server)?;
        let words = "--whole-file --inplace";
        Ok(format!("exec rsync {words} part-{server} rsync://{address}/bench/part-{server}"))
    })?;
    drop(daemons);
    compare(stage)?;
    Ok(seconds)
}

fn scp(stage: &Stage) -> Result<f64> {
    let daemons = stage.sshd()?;
    let options = stage.ssh_options();
    let seconds = stage.time(|server| {
        let address = stage.address(server)?;
        let dir = stage.dir(server).display().to_string();
        Ok(format!("exec scp -q {options} part-{server} root@{address}:{dir}/"))
    })?;
    drop(daemons);
    compare(stage)?;
    Ok(seconds)
}

fn bare(stage: &Stage) -> Result<f64> {
    let relay = &stage.relay;
    let servers = stage.listen(7001, |server| {
        let file = stage.dir(server).join(format!("part-{server}"));
        format!("exec {relay} node {} - 7001", file.display())
    })?;
    let seconds = stage.time(|server| {
        Ok(format!("exec {relay} head part-{server} {} 7001", stage.address(server)?))
    })?;
    servers.finish()?;
    compare(stage)?;
    Ok(seconds)
}

/// Compares the received parts with the sent ones, and removes them.
fn compare(stage: &Stage) -> Result<()> {
    for server in 1..=stage.servers {
        let came = stage.dir(server).join(format!("part-{server}"));
        Stage::assert_equal(&stage.part(server), &came)?;
        fs::remove_file(&came).context("failed to remove a part")?;
    }
    Ok(())
}
