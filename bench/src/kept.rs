//! Report files: `bench/results/DATE-NAME`, as Markdown and as JSON.

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result};
use serde::Serialize;
use xtask::clock::today;

use super::machine::Machine;

/// The fields at the beginning of every report.
#[derive(Serialize)]
pub(crate) struct Head {
    /// The schema of the JSON file.
    schema: &'static str,
    #[serde(skip)]
    name: &'static str,
    /// The date in UTC.
    pub(crate) date: String,
    /// The command line.
    pub(crate) command: String,
    /// The machine.
    pub(crate) machine: Machine,
}

impl Head {
    /// Returns the head of the report of the benchmark `name`, which got the arguments `args`.
    pub(crate) fn new(schema: &'static str, name: &'static str, args: &[String]) -> Self {
        let command = format!("cargo xtask bench {name} {}", args.join(" ")).trim().to_owned();
        Self { schema, name, date: today(), command, machine: Machine::here() }
    }

    /// Prints `page`, the report in Markdown, and writes it and `report` to files if `write`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn keep(
        &self,
        root: &Path,
        report: &impl Serialize,
        page: String,
        write: bool,
    ) -> Result<()> {
        println!("{page}");
        if !write {
            return Ok(());
        }
        let dir = root.join("bench/results");
        fs::create_dir_all(&dir).with_context(|| format!("failed to create {}", dir.display()))?;
        let json = serde_json::to_string_pretty(report)
            .context("failed to serialise the report as JSON")?;
        for (suffix, text) in [("md", page), ("json", json + "\n")] {
            let path = dir.join(format!("{}-{}.{suffix}", self.date, self.name));
            fs::write(&path, text)
                .with_context(|| format!("failed to write {}", path.display()))?;
            println!("written: {}", path.display());
        }
        Ok(())
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- command: `{}`\n- machine: {}", self.command, self.machine)
    }
}
