//! The report as text.

use std::fmt::Write as _;

use super::peers::PEERS;
use super::{Report, Row};
use crate::bench::machine::version;
use crate::bench::result::Spread;

/// The whole report in Markdown.
pub(super) fn markdown(report: &Report) -> String {
    let (machine, mib) = (&report.machine, report.options.mib);
    let mut text = format!(
        "# One file over M servers: {}\n\n- command: `{}`\n- machine: {} cores of {}, {} MiB, {}, kernel \
         {}\n- nodes: network namespaces, a wire from the client to each server, all on these cores; \
         files of {mib} MiB in memory (tmpfs), no fsync; every copy compared with the source\n\
         - limit: what iperf3 moved over all wires at once in the same run\n",
        report.date,
        report.command,
        machine.cores,
        machine.processor,
        machine.memory_mib,
        machine.system,
        machine.kernel
    );
    let mut places: Vec<_> = report.rows.iter().map(|row| (&row.rate, row.servers)).collect();
    places.dedup();
    for (rate, servers) in places {
        let here = |row: &&Row| (&row.rate, row.servers) == (rate, servers);
        let rows: Vec<&Row> = report.rows.iter().filter(here).collect();
        let goodput = rows.first().map_or(0.0, |row| row.goodput);
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "\n## {servers} servers, {rate} each: iperf3 {:.1} MB/s\n\n\
             | tool | whole command, s | MB/s | of iperf3 | runs |\n|---|---|--:|--:|--:|",
            goodput / 1e6
        );
        for row in rows {
            let _ = writeln!(text, "{}", line(row, mib << 20));
        }
    }
    text.push_str("\nSeconds are median (least - most).\n\n");
    let mut about = |name: &str, of: &str, about: &str| {
        let _ = writeln!(text, "- **{name}** ({of}): {about}");
    };
    for peer in &PEERS {
        let of = match peer.name {
            "rsync" => version(&["rsync", "--version"]),
            "scp" => version(&["dpkg-query", "-W", "openssh-client"]),
            "tar-nc" => version(&["tar", "--version"]),
            _ => version(&["git", "describe", "--always", "--dirty", "--exclude=*"]),
        };
        about(peer.name, &of, peer.about);
    }
    text
}

fn line(row: &Row, bytes: u64) -> String {
    let failed = row.failed.as_ref().map_or(String::new(), |why| format!(", then: {why}"));
    let Some(Spread { median, min, max }) = Spread::of(row.seconds.clone()) else {
        return format!("| {} | {} | | | 0 |", row.peer, failed.replace(['|', '\n'], " "));
    };
    let rate = bytes as f64 / median;
    format!(
        "| {} | {median:.3} ({min:.3} - {max:.3}) | {:.1} | {:.1} % | {}{} |",
        row.peer,
        rate / 1e6,
        rate / row.goodput * 100.0,
        row.seconds.len(),
        failed.replace(['|', '\n'], " ")
    )
}
