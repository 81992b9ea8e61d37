//! Jobs with many small files: each gets its files from this machine, and its results go back.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::{LAB, Place};
use crate::cluster::Cluster;
use crate::contest::{Figure, Tool};
use crate::source::Noise;
use xtask::clock::Watch;

/// Number of jobs, and of those among them that the slower tool does.
const JOBS: usize = 200;
const FEWER: usize = 40;

/// Number of files that a job gets, and of its results.
const FILES: usize = 25;

/// Bytes of each file.
const BYTES: usize = 1024;

/// The name of the list of jobs for Garland.
const LIST: &str = "staged.toml";

pub(super) const GARLAND: Tool<Place> = Tool {
    name: "garland-stage",
    about: "`garland farm run JOBS NODES --data stage`; results are synced to the disk",
    need: None,
    measure: |place| {
        let cluster = &place.cluster;
        clear(cluster)?;
        let words = ["farm", "run", LIST, "lab:n[1-2]", "--lab", LAB, "--data", "stage", "--quiet"];
        let (seconds, _) = cluster.garland(&words)?;
        rate(cluster, JOBS, seconds)
    },
};

pub(super) const PARALLEL: Tool<Place> = Tool {
    name: "parallel-ssh",
    about: "`parallel --transferfile --return` of a directory a job, rsync over one ssh connection a node; \
            40 of the jobs, results are not synced",
    need: Some(("parallel", "parallel")),
    measure: parallel,
};

/// Writes the files, and the list of jobs for Garland.
pub(super) fn prepare(cluster: &Cluster) -> Result<()> {
    let (mut list, mut noise, mut bytes) = (String::new(), Noise(1), [0; BYTES]);
    for job in 0..JOBS {
        let folder = cluster.folder.join(format!("in/{job}"));
        fs::create_dir_all(&folder).context("failed to create a directory")?;
        for file in 0..FILES {
            noise.fill(&mut bytes);
            let path = folder.join(file.to_string());
            fs::write(path, bytes).context("failed to write a file")?;
        }
        let names =
            |above: &str| (0..FILES).map(|file| format!("'{above}/{job}/{file}'")).collect();
        let [inputs, outputs]: [Vec<String>; 2] = ["in", "out"].map(names);
        let (inputs, outputs) = (inputs.join(", "), outputs.join(", "));
        let command = format!("cp in/{job}/* out/{job}");
        writeln!(
            list,
            "[[job]]\ncommand = '{command}'\ninputs = [{inputs}]\noutputs = [{outputs}]"
        )?;
    }
    fs::write(cluster.folder.join(LIST), list).context("failed to write the list of jobs")
}

/// Removes the results of the last turn, and creates their directories.
fn clear(cluster: &Cluster) -> Result<()> {
    let out = cluster.folder.join("out");
    // It does not exist before the first turn.
    let _ = fs::remove_dir_all(&out);
    let mut folders = (0..JOBS).map(|job| out.join(job.to_string()));
    folders.try_for_each(fs::create_dir_all).context("failed to create the results' directories")
}

fn parallel(Place { cluster, .. }: &Place) -> Result<Figure> {
    clear(cluster)?;
    let nodes = ["n1", "n2"].map(str::to_owned);
    let daemons = cluster.sshd(&nodes)?;
    // One connection a node, which all transfers and jobs share.
    let ssh = format!(
        "ssh {} -oLogLevel=ERROR -oControlMaster=auto -oControlPath={}/%h -oControlPersist=5",
        cluster.ssh_options(),
        cluster.folder.display()
    );
    let logins = nodes.iter().map(|node| Ok(format!("root@{}", cluster.address(node)?)));
    let logins = logins.collect::<Result<Vec<_>>>()?.join(",");
    let line = format!(
        "seq 0 {} | PARALLEL_SSH='{ssh}' parallel --plain --will-cite --sshlogin {logins} \
         --workdir {}/remote --transferfile in/{{}} --return out/{{}} \
         'mkdir -p out/{{}} && cp in/{{}}/* out/{{}}'",
        FEWER - 1,
        cluster.folder.display()
    );
    let watch = Watch::start();
    cluster.start([("n0".to_owned(), Ok(line))])?.finish()?;
    let seconds = watch.read().as_secs_f64();
    drop(daemons);
    fs::remove_dir_all(cluster.folder.join("remote"))
        .context("failed to remove the nodes' files")?;
    rate(cluster, FEWER, seconds)
}

/// Returns files per second, inputs and results of `jobs` jobs. Fails unless all results are there.
fn rate(cluster: &Cluster, jobs: usize, seconds: f64) -> Result<Figure> {
    for job in 0..jobs {
        let read = |above: &str, file: usize| {
            fs::read(cluster.folder.join(format!("{above}/{job}/{file}")))
        };
        for file in 0..FILES {
            let (input, output) = (read("in", file), read("out", file));
            let output = output.with_context(|| format!("job {job} lacks a result"))?;
            ensure!(input.is_ok_and(|input| input == output), "a result of job {job} is wrong");
        }
    }
    Ok(Figure::of((2 * jobs * FILES) as f64 / seconds))
}
