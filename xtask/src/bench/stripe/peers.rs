//! The tools in the table. Those that can't stripe get the file in parts that were cut before, and
//! copy all parts at once: the best that a script around them could do.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::stage::Stage;

/// A tool.
pub(super) struct Peer {
    /// One word, as on the command line.
    pub(super) name: &'static str,
    /// What it is and how it is used here, for below the table.
    pub(super) about: &'static str,
    /// Makes one copy: its seconds.
    copy: fn(&Stage) -> Result<f64>,
    /// Whether agents stand between copies.
    up: bool,
}

/// All of them.
pub(super) const PEERS: [Peer; 9] = [
    Peer {
        name: "tar-nc",
        about: "tar and netcat, a pair for each server, on parts cut before",
        copy: tar,
        up: false,
    },
    Peer {
        name: "rsync",
        about: "rsync to a daemon on each server, --whole-file --inplace, on parts cut before",
        copy: rsync,
        up: false,
    },
    Peer { name: "scp", about: "scp to each server, on parts cut before", copy: scp, up: false },
    Peer {
        name: "garland",
        about: "garland cp --stripe --no-fsync, agents up",
        copy: |stage| put(stage, &[]),
        up: true,
    },
    Peer {
        name: "garland-clear",
        about: "the same with --clear",
        copy: |stage| put(stage, &["--clear"]),
        up: true,
    },
    Peer {
        name: "garland-cold",
        about: "the same without --clear, agents started and ended by every copy",
        copy: |stage| put(stage, &[]),
        up: false,
    },
    Peer {
        name: "garland-2007",
        about: "garland held to --op-size 10MiB --op-overlap 0",
        copy: |stage| put(stage, &["--op-size", "10MiB", "--op-overlap", "0"]),
        up: true,
    },
    Peer {
        name: "garland-back",
        about: "garland cp --stripe --no-fsync from the servers, agents up",
        copy: |stage| back(stage, &[]),
        up: true,
    },
    Peer {
        name: "garland-back-clear",
        about: "the same with --clear",
        copy: |stage| back(stage, &["--clear"]),
        up: true,
    },
];

/// TCP payload over all wires at once, in bytes/s, as the servers count it.
pub(super) fn goodput(stage: &Stage) -> Result<f64> {
    let servers = stage.listen(5201, |_| "exec iperf3 -s -1".to_owned())?;
    stage.time(|server| {
        let address = stage.address(server)?;
        Ok(format!("exec iperf3 -c {address} -t 4 -O 1 -J --logfile iperf-{server}.json"))
    })?;
    servers.finish()?;
    let mut sum = 0.0;
    for server in 1..=stage.servers {
        let file = stage.folder.join(format!("iperf-{server}.json"));
        let text = fs::read_to_string(&file).context("read iperf3's result")?;
        fs::remove_file(&file).context("remove iperf3's result")?;
        let result: Value = serde_json::from_str(&text).context("parse iperf3's result")?;
        let bits = result["end"]["sum_received"]["bits_per_second"].as_f64();
        sum += bits.context("iperf3's result has no rate")?;
    }
    Ok(sum / 8.0)
}

/// So many copies by `peer`; their seconds go to `seconds`.
pub(super) fn turns(stage: &Stage, peer: &Peer, runs: usize, seconds: &mut Vec<f64>) -> Result<()> {
    let list = stage.list();
    if peer.up {
        stage.garland(&["up", "--lab", super::stage::LAB, &list])?;
    }
    let mut copy = || -> Result<()> {
        for _ in 0..runs {
            seconds.push((peer.copy)(stage)?);
        }
        Ok(())
    };
    let copied = copy();
    if peer.up {
        stage.garland(&["down", "--lab", super::stage::LAB, &list])?;
    }
    copied
}

fn put(stage: &Stage, more: &[&str]) -> Result<f64> {
    let target = format!("{}:/f", stage.list());
    let source = stage.source.to_string_lossy();
    let words = ["cp", "-q", "--lab", super::stage::LAB, "--stripe", "--no-fsync"];
    let (seconds, _) = stage.garland(&[&words, more, &[&source, &target]].concat())?;
    Ok(seconds)
}

/// Back, of what an earlier copy has put there; the file is compared with the source.
fn back(stage: &Stage, more: &[&str]) -> Result<f64> {
    put(stage, &[])?;
    let source = format!("{}:/f", stage.list());
    let here = stage.folder.join("back");
    let target = here.to_string_lossy();
    let words = ["cp", "-q", "--lab", super::stage::LAB, "--stripe", "--no-fsync"];
    let (seconds, _) = stage.garland(&[&words, more, &[&source, &target]].concat())?;
    Stage::assert_equal(&stage.source, &here)?;
    fs::remove_file(&here).context("remove the copy")?;
    Ok(seconds)
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
            .context("write rsyncd.conf")?;
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
    let folder = stage.folder.display();
    // sshd wants its folder, whatever else it is told.
    let keys = format!(
        "mkdir -p /run/sshd && test -e key || ssh-keygen -q -t ed25519 -N '' -f key && \
         cp key.pub authorized && printf '%s\\n' 'HostKey {folder}/key' \
         'AuthorizedKeysFile {folder}/authorized' 'StrictModes no' 'UsePAM no' \
         'PermitRootLogin yes' 'PidFile none' 'Subsystem sftp internal-sftp' > sshd.conf"
    );
    let made = stage.shell(super::stage::CLIENT, &keys)?.status().context("make keys")?;
    anyhow::ensure!(made.success(), "making keys ended with {made}");
    let daemons = stage.listen(22, |_| format!("exec /usr/sbin/sshd -D -f {folder}/sshd.conf"))?;
    let seconds = stage.time(|server| {
        let address = stage.address(server)?;
        let options = "-q -i key -oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null";
        let dir = stage.dir(server).display().to_string();
        Ok(format!("exec scp {options} part-{server} root@{address}:{dir}/"))
    })?;
    drop(daemons);
    compare(stage)?;
    Ok(seconds)
}

/// Compares the parts that came with those that went, and removes them.
fn compare(stage: &Stage) -> Result<()> {
    for server in 1..=stage.servers {
        let came = stage.dir(server).join(format!("part-{server}"));
        Stage::assert_equal(&stage.part(server), &came)?;
        fs::remove_file(&came).context("remove a part")?;
    }
    Ok(())
}
