//! Report files: `benches/results/DATE-NAME`, as Markdown and as JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// Writes the report of the benchmark `name` in both formats; `page` is the Markdown.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn keep(
    root: &Path,
    (date, name): (&str, &str),
    report: &impl Serialize,
    page: String,
) -> Result<()> {
    let dir = root.join("benches/results");
    fs::create_dir_all(&dir).with_context(|| format!("failed to create {}", dir.display()))?;
    let json =
        serde_json::to_string_pretty(report).context("failed to serialise the report as JSON")?;
    for (suffix, text) in [("md", page), ("json", json + "\n")] {
        let path = dir.join(format!("{date}-{name}.{suffix}"));
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(())
}
