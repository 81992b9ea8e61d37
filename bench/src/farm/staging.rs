//! Jobs with many small files: each gets its files from this machine, and its results go back.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};

use super::place::{LAB, Place};
use crate::cluster::Cluster;
use crate::contest::{Figure, Tool};
use crate::source;

/// Number of jobs, and of the files that each gets and gives back.
const JOBS: usize = 200;
const FILES: usize = 25;

/// Measures the time of the whole command per file, inputs and results.
pub(super) const STAGING: Tool<Place> = Tool {
    name: "garland-stage",
    about: "`garland farm run staged.toml NODES --data stage`; results are synced to the disk",
    need: None,
    measure: |Place { cluster, .. }| {
        for job in 0..JOBS {
            let out = cluster.folder.join(format!("out/{job}"));
            // It does not exist before the first turn.
            let _ = fs::remove_dir_all(&out);
            fs::create_dir_all(out).context("failed to create a directory")?;
        }
        let nodes = &["lab:n[1-2]", "--lab", LAB, "--data", "stage", "--quiet"][..];
        let words = [&["farm", "run", "staged.toml"], nodes].concat();
        let (seconds, _) = cluster.garland(&words)?;
        Ok(Figure::from_mean(seconds * 1e3 / (2 * JOBS * FILES) as f64))
    },
};

/// Writes the files, and the list of jobs.
pub(super) fn prepare(cluster: &Cluster) -> Result<()> {
    let mut list = String::new();
    for job in 0..JOBS {
        let folder = cluster.folder.join(format!("in/{job}"));
        fs::create_dir_all(&folder).context("failed to create a directory")?;
        (0..FILES).try_for_each(|file| source::write(&folder.join(file.to_string()), 1024))?;
        let names = |above| (0..FILES).map(|file| format!("'{above}/{job}/{file}', ")).collect();
        let [inputs, outputs]: [String; 2] = ["in", "out"].map(names);
        let command = format!("command = 'cp in/{job}/* out/{job}'");
        writeln!(list, "[[job]]\n{command}\ninputs = [{inputs}]\noutputs = [{outputs}]")?;
    }
    fs::write(cluster.folder.join("staged.toml"), list).context("failed to write the list of jobs")
}
