//! Formats the report of `bench chain` and `bench wires-of-today` as Markdown. The first columns
//! are those of the table of 2005: receivers, seconds, MB/s and repeaters.

use std::fmt::Write;

use super::options::{rate_text, size_text};
use super::result::{Report, Row, Sample};
use super::spread::Spread;

/// Returns the whole report in Markdown.
pub(crate) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = head(&mut text, report);
    let mut places: Vec<_> = report.rows.iter().map(|row| (row.rate, row.bytes)).collect();
    places.dedup();
    for (rate, bytes) in places {
        let rows = report.rows.iter();
        let rows = rows.filter(|row| (row.rate, row.bytes) == (rate, bytes));
        let _ = section(&mut text, report, rate, bytes, &rows.collect::<Vec<_>>());
    }
    let _ = needs(&mut text, report);
    let _ = profiles(&mut text, report);
    let _ = foot(&mut text, report);
    text
}

fn head(text: &mut String, report: &Report) -> std::fmt::Result {
    let head = &report.head;
    writeln!(text, "# One file to N nodes: {}\n\n{head}", head.date)?;
    writeln!(
        text,
        "- nodes: network namespaces on one bridge, all on these cores; files in memory (tmpfs), no fsync; \
         every copy compared with the source afterwards"
    )?;
    writeln!(text, "- congestion control: {}", report.options.congestion)?;
    let memory = match (report.options.pinned, head.machine.page_reporting) {
        (true, _) => "pinned: no free 2 MiB block, so none goes back to a host; no huge pages",
        (false, true) => "plain: freed memory goes back to the host (see the column)",
        (false, false) => "plain: this kernel gives nothing back, or doesn't count it",
    };
    writeln!(text, "- memory: {memory}")?;
    writeln!(
        text,
        "- possible: the time that wires and the processors of this machine allow Garland, by `garland plan suggest`"
    )?;
    writeln!(
        text,
        "- limit: the file's length divided by the TCP payload rate of one link, measured by iperf3 in the \
         same cluster with one stream, or with one for each processor where that is faster:"
    )?;
    for link in &report.links {
        let rate = rate_text(link.rate);
        let goodput = link.goodput;
        writeln!(
            text,
            "  {rate}, {} receivers, {} cores: {:.1} MB/s = {:.3} Gbit/s",
            link.receivers,
            cores_text(link.cores),
            goodput / 1e6,
            goodput * 8.0 / 1e9
        )?;
    }
    Ok(())
}

fn section(
    text: &mut String,
    report: &Report,
    rate: Option<u64>,
    bytes: u64,
    rows: &[&Row],
) -> std::fmt::Result {
    writeln!(text, "\n## {} at {}\n", size_text(bytes), rate_text(rate))?;
    writeln!(
        text,
        "| tool | receivers | cores | whole command, s | MB/s | Gbit/s | repeaters | transfer, s | of limit | of possible | \
         of relay | of floor | CPU of floor | CPU s/GiB/relay | CPU s, head | CPU s, last | given back, MiB | runs |"
    )?;
    writeln!(text, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
    for row in rows {
        line(text, report, row)?;
    }
    Ok(())
}

fn line(text: &mut String, report: &Report, row: &Row) -> std::fmt::Result {
    write!(text, "| {} | {} | {} ", row.peer, row.receivers, cores_text(row.cores))?;
    let (Some(whole), Some(cpu)) = (row.whole(), row.cpu_per_gib()) else {
        let why = row.failed.as_deref().unwrap_or("not run");
        return writeln!(text, "| {} | | | | | | | | | | | | | | 0 |", why.replace('|', "/"));
    };
    let transfer = row.spread(|sample| sample.transfer);
    let head = row.spread(|sample| sample.cpu_head);
    let tail = row.spread(|sample| sample.cpu_tail);
    let given = row.spread(|sample| sample.given_back_kib.unwrap_or(0) as f64 / 1024.0);
    let rate = row.bytes as f64 / whole.median;
    let failed = match &row.failed {
        Some(why) => format!(", then: {}", why.replace('|', "/")),
        None => String::new(),
    };
    writeln!(
        text,
        "| {} | {:.1} | {:.3} | {} | {} | {:.2} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.0} | {}{failed} |",
        seconds(whole),
        rate / 1e6,
        rate * 8.0 / 1e9,
        row.repeaters,
        transfer.map(seconds).unwrap_or_default(),
        whole.median / row.limit,
        ratio(row.possible.map(|s| whole.median / s)),
        ratio(report.of_relay(row)),
        ratio(report.of_floor(row, Row::transfer)),
        ratio(report.of_floor(row, Row::cpu)),
        cpu.median,
        head.map_or(0.0, |head| head.median),
        tail.map_or(0.0, |tail| tail.median),
        given.map_or(0.0, |given| given.max),
        row.samples.len()
    )
}

/// Formats a ratio; empty if there is none.
fn ratio(ratio: Option<f64>) -> String {
    ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
}

/// Formats a spread in seconds as `9.02 (8.99 - 9.10)`: median, minimum, maximum.
fn seconds(spread: Spread) -> String {
    let digits = if spread.median < 1.0 { 3 } else { 2 };
    if spread.min == spread.max {
        return format!("{:.digits$}", spread.median);
    }
    format!("{:.digits$} ({:.digits$} - {:.digits$})", spread.median, spread.min, spread.max)
}

fn foot(text: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(
        text,
        "\nSeconds are median (least - most). The whole command is from before anything is started until \
         every node is done; the transfer is without starting what must run on the nodes for every copy. \
         CPU is user and system time of a tool's processes, per GiB and node that passes data on (per \
         receiver where none does); work in soft interrupts is the emulator's. Of relay: the transfer as a \
         multiple of the fastest relay's beside it. Of floor and CPU of floor: the transfer, and the CPU time of \
         all nodes and the head, as multiples of those of the better floor beside it that is encrypted if \
         Garland is. All tools have their turns in rounds.\n"
    )?;
    for tool in &report.tools {
        writeln!(text, "- **{}** ({}): {}", tool.name, tool.version, tool.about)?;
    }
    for row in &report.rows {
        own_account(text, row)?;
    }
    Ok(())
}

fn cores_text(cores: Option<usize>) -> String {
    cores.map_or("all".to_owned(), |cores| cores.to_string())
}

/// The rates of today's cards, in bit/s.
const CARDS: [f64; 2] = [100e9, 400e9];

/// Writes how many processors like these a node needs for the rates of today's cards, by what
/// Garland took here where no wire bound it.
fn needs(text: &mut String, report: &Report) -> std::fmt::Result {
    let unshaped = |row: &&Row| row.rate.is_none() && row.peer.starts_with("garland");
    let rows: Vec<_> = report.rows.iter().filter(unshaped).collect();
    let gib = |row: &Row| row.bytes as f64 / (1_u64 << 30) as f64;
    let costs = rows.iter().filter_map(|row| {
        let of = |of: fn(&Sample) -> f64| Some(row.spread(of)?.median / gib(row));
        let relay = if row.repeaters > 0 { row.cpu_per_gib() } else { None };
        let relay = relay.map(|relay| relay.median);
        Some((row, of(|sample| sample.cpu_head)?, relay, of(|sample| sample.cpu_tail)?))
    });
    let costs: Vec<_> = costs.collect();
    if costs.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\n## Processors for the rates of today's cards\n\nAt the costs above, where they stay the same:\n\n\
         | tool | receivers | cores | rate | processors of the head | of a node that passes on | of the last |\n\
         |---|---|---|---|---|---|---|"
    )?;
    for (row, head, relay, tail) in costs {
        for card in CARDS {
            let number = |cost: f64| format!("{:.1}", cost * card / 8.0 / (1_u64 << 30) as f64);
            writeln!(
                text,
                "| {} | {} | {} | {:.0} Gbit/s | {} | {} | {} |",
                row.peer,
                row.receivers,
                cores_text(row.cores),
                card / 1e9,
                number(head),
                relay.map(number).unwrap_or_default(),
                number(tail)
            )?;
        }
    }
    Ok(())
}

/// Writes where the processors' time went, a paragraph for each tool and cluster.
fn profiles(text: &mut String, report: &Report) -> std::fmt::Result {
    let rows = || report.rows.iter().filter(|row| !row.profile.is_empty());
    if rows().next().is_none() {
        return Ok(());
    }
    writeln!(
        text,
        "\n## Where the processors' time goes\n\nMilliseconds of CPU for a GiB and node, by function, of one further \
         copy by perf; work in soft interrupts counts for the process that it interrupts."
    )?;
    for row in rows() {
        let size = size_text(row.bytes);
        let cores = cores_text(row.cores);
        writeln!(text, "\n**{}**, {size} to {}, {cores} cores:", row.peer, row.receivers)?;
        for costs in row.profile.chunk_by(|one, two| one.role == two.role) {
            let functions = costs
                .iter()
                .map(|cost| format!("`{}` {:.0}", cost.function, cost.seconds * 1e3))
                .collect::<Vec<_>>();
            writeln!(text, "\n- {}: {}", costs[0].role, functions.join(", "))?;
        }
    }
    Ok(())
}

/// Returns the tool's own figures of the run with the median time.
fn own_account(text: &mut String, row: &Row) -> std::fmt::Result {
    let mut samples: Vec<_> = row.samples.iter().collect();
    samples.sort_by(|a, b| (a.start + a.transfer).total_cmp(&(b.start + b.transfer)));
    let Some(sample) = samples.get(samples.len() / 2) else { return Ok(()) };
    let extra = &sample.extra;
    let Some(elapsed) = extra.elapsed_ns else { return Ok(()) };
    let rate = rate_text(row.rate);
    let size = size_text(row.bytes);
    write!(text, "\n{} {size} at {rate} to {}", row.peer, row.receivers)?;
    write!(text, ", {} cores: ", cores_text(row.cores))?;
    write!(text, "by its own account {:.1} ms", elapsed as f64 / 1e6)?;
    for (phase, ns) in &extra.phases {
        write!(text, ", {phase} {:.1}", *ns as f64 / 1e6)?;
    }
    if let Some(kib) = extra.resident_kib {
        write!(text, "; largest agent {:.1} MiB resident", kib as f64 / 1024.0)?;
    }
    if let Some(opening) = &extra.opening {
        let relays = row.relays();
        let gib = row.bytes as f64 / (1_u64 << 30) as f64;
        let opening = opening.iter().take(relays).sum::<f64>() / relays as f64 / gib;
        let all = sample.cpu_relays / relays as f64 / gib;
        write!(text, "; CPU s/GiB/relay {all:.3}, without opening blocks {:.3}", all - opening)?;
    }
    writeln!(text)
}
