//! Formats nodes, lanes and jobs as lines of text.

use garland_core::units::bytes;

use super::figures::{Figures, Job, Lane};

/// The minimum width of a node's name, in columns.
pub const NAME: usize = 16;

/// Converts bytes per second to MB/s.
pub fn mega(rate: f64) -> f64 {
    rate / 1e6
}

/// Formats a node: a line for the node, one for each lane, and one for each job.
pub fn all(name: &str, figures: &Figures) -> String {
    let mut text = format!("{}\n", node(name, NAME, figures));
    for of in &figures.lanes {
        text += &format!("{name:<NAME$} lane {}\n", lane(of, 0));
    }
    for of in &figures.jobs {
        text += &format!("{name:<NAME$} job {}\n", job(of));
    }
    for more in left_out(figures) {
        text += &format!("{name:<NAME$} {more}\n");
    }
    text
}

/// Formats the line of a node.
pub fn node(name: &str, width: usize, figures: &Figures) -> String {
    format!(
        "{name:<width$} {:>9.1} {:>9.1} {:>8.0} {:>9.1} {:>9.1} {:>6.0} {:>5.0}  {}",
        mega(figures.received()),
        mega(figures.sent()),
        figures.resent,
        mega(figures.read),
        mega(figures.written),
        figures.disk * 100.0,
        figures.cpu * 100.0,
        nics(figures)
    )
    .trim_end()
    .to_owned()
}

/// Returns the heading of the lines of nodes.
pub fn node_heading(width: usize) -> String {
    format!(
        "{:<width$} {:>9} {:>9} {:>8} {:>9} {:>9} {:>6} {:>5}  MB/s of each NIC, in/out",
        "node", "in MB/s", "out MB/s", "resent/s", "read", "written", "disk %", "cpu %"
    )
}

/// Formats the rates of each NIC if there are several; the rates of a single NIC equal the sums.
pub fn nics(figures: &Figures) -> String {
    let one = |nic: &super::figures::Nic| {
        format!("{} {:.1}/{:.1}", nic.name, mega(nic.received), mega(nic.sent))
    };
    let several = figures.nics.iter().filter(|_| figures.nics.len() > 1);
    several.map(one).collect::<Vec<_>>().join(", ")
}

/// Formats a lane, for example as
/// `3fa2c1.0 45 % of 12.0 MiB, in 2.4 MB/s, out 2.4 MB/s, waits for upstream 97 %: /x`.
pub fn lane(lane: &Lane, width: usize) -> String {
    let share = lane.share.map_or_else(String::new, |share| format!(" {:.0} %", share * 100.0));
    format!(
        "{:<width$} {}, in {:.1} MB/s, out {:.1} MB/s, waits for {}{share}: {}",
        format!("{}.{}", lane.copy, lane.number),
        progress(lane),
        mega(lane.received),
        mega(lane.sent),
        lane.limiter.word(),
        lane.name
    )
}

/// Formats how much of the copy the node has.
pub fn progress(lane: &Lane) -> String {
    match lane.length {
        Some(length) => {
            let behind = left(lane.left).map_or_else(String::new, |left| format!(" ({left} left)"));
            format!("{} % of {}{behind}", percent(lane.held, length), bytes::format(length))
        }
        None => format!("{} so far", bytes::format(lane.held)),
    }
}

/// Formats the time that is left; `None` if it is unknown, or nothing is left.
pub fn left(seconds: Option<f64>) -> Option<String> {
    let seconds = seconds.filter(|&seconds| seconds > 0.0)?.ceil();
    Some(match seconds {
        ..100.0 => format!("{seconds:.0} s"),
        100.0..6000.0 => format!("{:.0} min", (seconds / 60.0).ceil()),
        _ => format!("{:.0} h", (seconds / 3600.0).ceil()),
    })
}

/// Returns `part` of `whole` in percent, rounded down, so that 100 means all of it.
pub fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    u64::try_from(percent.min(100)).unwrap_or(100)
}

/// Formats a job: `17 12 s, 1 core: sleep 60`.
pub fn job(job: &Job) -> String {
    let cores = if job.cores == 1 { "core" } else { "cores" };
    format!("{} {:.0} s, {} {cores}: {}", job.number, job.seconds, job.cores, job.command)
}

/// Returns lines with the numbers of jobs, lanes and agents that are not shown.
pub fn left_out(figures: &Figures) -> Vec<String> {
    let counts = [
        (figures.waiting, "jobs waiting for a processor"),
        (figures.more_jobs, "running jobs that are not shown"),
        (figures.more_lanes, "lanes that are not shown"),
        (figures.silent, "agents that do not answer, whose work is not shown"),
    ];
    counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what}: {count}"))
        .collect()
}
