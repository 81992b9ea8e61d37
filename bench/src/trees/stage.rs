//! A lab with a head and nodes on one switch, a tree of small files, and a directory for each node.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, Running};
use crate::contest::Figure;
use crate::source::Noise;
use crate::{memory, sandbox};

/// The lab's name.
pub(super) const LAB: &str = "bench-trees";

/// Bytes of a file.
pub(super) const SIZE: usize = 4096;

/// Number of files in a directory.
const PER_FOLDER: usize = 100;

/// The lab, and its files, all in memory; dropping it removes both.
pub(crate) struct Stage {
    /// Number of receiving nodes.
    pub(super) nodes: usize,
    /// Number of files.
    pub(super) files: usize,
    /// The directory of all files.
    pub(super) folder: PathBuf,
    /// The path of a program that only creates files.
    pub(super) maker: String,
    cluster: Cluster,
}

impl Stage {
    /// Builds a switch with `nodes` nodes and standing agents, and a tree of `files` files.
    pub(super) fn up(root: &Path, nodes: usize, files: usize) -> Result<Self> {
        // Inodes and directories take about as much as the bytes.
        memory::check_room((files * SIZE * 2) as u64, nodes)?;
        let mut cluster = Cluster::in_folder(Path::new("/dev/shm"), LAB)?;
        let folder = cluster.folder.clone();
        let maker = format!("{}/files", folder.display());
        let source = root.join("bench/peers/files.c").display().to_string();
        sandbox::command(&["cc", "-O2", "-pthread", "-o", &maker, &source])?;
        cluster.raise(&format!(
            "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-{nodes}]\"\n"
        ))?;
        let mut stage = Self { nodes, files, folder, maker, cluster };
        stage.make_tree()?;
        let list = stage.list();
        stage.cluster.settle(&list)?;
        Ok(stage)
    }

    /// Returns the tree's directory.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Returns the directory of `node` for tools that aren't confined to a node's root.
    pub(super) fn dir(&self, node: usize) -> PathBuf {
        self.folder.join(format!("n{node}"))
    }

    /// Returns the root directory of `node`, for Garland.
    pub(super) fn root(&self, node: usize) -> Result<PathBuf> {
        self.cluster.root(&format!("n{node}"))
    }

    /// Returns the receiving nodes as a node list.
    pub(super) fn list(&self) -> String {
        format!("lab:n[1-{}]", self.nodes)
    }

    /// Returns the address of `node`; the head is 0.
    pub(super) fn address(&self, node: usize) -> Result<String> {
        self.cluster.address(&format!("n{node}"))
    }

    /// Starts a shell command on a node.
    pub(super) fn start(&self, node: usize, line: String) -> Result<Running> {
        self.cluster.start([(format!("n{node}"), Ok(line))])
    }

    /// Runs garland, and returns its seconds.
    pub(super) fn garland(&self, words: &[&str]) -> Result<f64> {
        self.cluster.garland(words).map(|(seconds, _)| seconds)
    }

    /// Returns files per second at each node if the copy takes `seconds`.
    pub(super) fn rate(&self, seconds: f64) -> Figure {
        Figure::from_mean(self.files as f64 / seconds)
    }

    /// Checks that each of `copies` has all files and that the last one equals the tree, and
    /// removes them.
    pub(super) fn compare(&self, copies: &[PathBuf]) -> Result<()> {
        let count = |copy: &Path| -> Result<usize> {
            let mut count = 0;
            for folder in fs::read_dir(copy).context("failed to list a copy")? {
                count += fs::read_dir(folder?.path()).context("failed to list a copy")?.count();
            }
            Ok(count)
        };
        for copy in copies {
            let found = count(copy)?;
            ensure!(found == self.files, "{} has a wrong number of files: {found}", copy.display());
        }
        if let Some(last) = copies.last() {
            let tree = self.tree().display().to_string();
            let last = last.display().to_string();
            sandbox::command(&["diff", "-rq", &tree, &last])?;
        }
        for copy in copies {
            fs::remove_dir_all(copy)
                .with_context(|| format!("failed to remove {}", copy.display()))?;
        }
        Ok(())
    }

    fn make_tree(&self) -> Result<()> {
        let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
        let mut bytes = vec![0; SIZE];
        for at in 0..self.files {
            let folder = self.tree().join((at / PER_FOLDER).to_string());
            if at % PER_FOLDER == 0 {
                fs::create_dir_all(&folder).context("failed to create a folder")?;
            }
            noise.fill(&mut bytes);
            fs::write(folder.join(at.to_string()), &bytes).context("failed to write a file")?;
        }
        for node in 1..=self.nodes {
            fs::create_dir_all(self.dir(node)).context("failed to create a node's folder")?;
        }
        Ok(())
    }

    /// Returns seconds of creating the files of all nodes with `threads` threads in the given
    /// `way`.
    pub(super) fn make_files(&self, threads: usize, way: &str) -> Result<f64> {
        let tops = (1..=self.nodes).map(|node| self.dir(node).join("made"));
        let tops: Vec<PathBuf> = tops.collect();
        let mut list = String::new();
        for top in &tops {
            fs::create_dir(top).context("failed to create a folder")?;
            list += &format!("{}\n", top.display());
        }
        let words = [self.files.to_string(), SIZE.to_string(), threads.to_string(), way.to_owned()];
        let mut child = Command::new(&self.maker)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start files")?;
        let mut input = child.stdin.take().context("the standard input of files is not a pipe")?;
        input
            .write_all(list.as_bytes())
            .context("failed to write to the standard input of files")?;
        drop(input);
        let output = child.wait_with_output().context("failed to wait for files")?;
        ensure!(output.status.success(), "the program files failed: {}", output.status);
        tops.iter().try_for_each(fs::remove_dir_all).context("failed to remove the files")?;
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .context("the output of files is not a number")
    }
}
