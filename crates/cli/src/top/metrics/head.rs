//! Metrics of the head: this user's last copy, and what waits in the user's spools.

use garland_commands::spool::record::served;
use garland_results::listed::{self, ListedRun};
use garland_results::spool::SpoolState;
use garland_state::places::Places;

use super::exposition::{Exposition, Kind};

/// Adds the metrics of the state directory.
pub fn add(text: &mut Exposition, places: &Places) {
    text.begin("build_info", Kind::Gauge, "The release that writes this file.");
    text.value("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    if let Ok(Some(copy)) = listed::last_of_kind(places, "cp") {
        add_copy(text, &copy);
    }
    add_spools(text, &served(places).unwrap_or_default());
}

/// Adds what the last copy of the user came to.
fn add_copy(text: &mut Exposition, copy: &ListedRun) {
    let name = "last_copy_start_time_seconds";
    text.begin(name, Kind::Gauge, "When the last copy began, in seconds since 1970.");
    if let Some(began_s) = copy.began_s {
        text.value(name, &[], began_s as f64);
    }
    let name = "last_copy_duration_seconds";
    text.begin(name, Kind::Gauge, "How long the last copy took.");
    if let Some(ns) = copy.elapsed_ns {
        text.value(name, &[], ns as f64 / 1e9);
    }
    let name = "last_copy_bytes";
    text.begin(name, Kind::Gauge, "Bytes of what the last copy copied.");
    if let Some(bytes) = copy.bytes {
        text.value(name, &[], bytes as f64);
    }
    let name = "last_copy_nodes";
    text.begin(name, Kind::Gauge, "Nodes of the last copy, by verdict.");
    for (verdict, count) in copy.counts() {
        text.value(name, &[("verdict", verdict)], count as f64);
    }
}

/// Adds what waits in the spools that this user serves on this machine.
fn add_spools(text: &mut Exposition, spools: &[SpoolState]) {
    let name = "spool_waiting_entries";
    text.begin(name, Kind::Gauge, "Entries of a spool that not all nodes have.");
    for spool in spools {
        let directory = spool.directory();
        let directory = directory.to_string_lossy();
        text.value(name, &[("directory", &directory)], spool.waits() as f64);
    }
}
