//! The functions in which the processors spend their time while a tool copies, by perf(1), for the
//! head, the nodes that pass the file on, and the last one.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use xtask::packages::Need;

use super::field::{DIR, Field};
use super::peer::Job;

/// The package that profiles need.
pub(crate) const NEED: Need = ("linux-perf", "perf");

/// Samples a second of each processor; no divisor of the ticks of the kernel's clock.
const RATE: u32 = 997;

/// How often the processes of the nodes are looked up; a process that lives shorter may be missed.
const LOOKUP_INTERVAL: Duration = Duration::from_millis(10);

/// The most functions of a kind of node.
const MAX_FUNCTIONS: usize = 8;

/// The part of a function in the processor time of a kind of node.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Cost {
    /// `head`, `relay` or `tail`.
    pub(crate) role: &'static str,
    /// The name of the function.
    pub(crate) function: String,
    /// CPU seconds for a GiB and node.
    pub(crate) seconds: f64,
}

/// Records all processors while `copy` runs. Returns the functions that took most, the largest
/// first, for each kind of node. Work in soft interrupts counts for the process that it interrupts.
///
/// # Errors
/// If perf or the copy fails.
pub(crate) fn take(
    field: &Field,
    job: &Job,
    copy: impl FnOnce() -> Result<()>,
) -> Result<Vec<Cost>> {
    let data = PathBuf::from(DIR).join("perf.data");
    let ended = AtomicBool::new(false);
    let (nodes, outcome) = thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut nodes = HashMap::new();
            while !ended.load(Ordering::Relaxed) {
                for node in 0..=field.receivers {
                    nodes.extend(field.group(node).processes().into_iter().map(|pid| (pid, node)));
                }
                thread::sleep(LOOKUP_INTERVAL);
            }
            nodes
        });
        let outcome = recorded(&data, copy);
        ended.store(true, Ordering::Relaxed);
        (looks.join(), outcome)
    });
    outcome?;
    let Ok(nodes) = nodes else { bail!("the thread that looks up processes has panicked") };
    let script = Command::new("perf")
        .args(["script", "--fields", "pid,ip,sym", "--input"])
        .arg(&data)
        .stderr(Stdio::null())
        .output()
        .context("failed to start perf script")?;
    std::fs::remove_file(&data).context("failed to remove the profile")?;
    let text = String::from_utf8_lossy(&script.stdout).into_owned();
    let gib = job.bytes as f64 / (1_u64 << 30) as f64;
    Ok(costs(&text, &nodes, job.receivers, gib))
}

/// Runs `copy` while perf records into the file `data`.
fn recorded(data: &Path, copy: impl FnOnce() -> Result<()>) -> Result<()> {
    // perf records until the program that it has started ends, and starts that once it records.
    let mut perf = Command::new("perf")
        .args(["record", "--quiet", "--all-cpus", "--event", "cpu-clock"])
        .args(["--freq", &RATE.to_string(), "--output"])
        .arg(data)
        .args(["--", "sh", "-c", "echo; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("failed to start perf")?;
    let mut line = String::new();
    let out = perf.stdout.take().context("the standard output of perf is not a pipe")?;
    let began = BufReader::new(out).read_line(&mut line);
    let outcome = match began {
        Ok(1) => copy(),
        _ => Err(anyhow::anyhow!("perf does not record on this machine")),
    };
    drop(perf.stdin.take());
    let status = perf.wait().context("failed to wait for perf")?;
    outcome?;
    if !status.success() {
        bail!("perf record failed: {status}");
    }
    Ok(())
}

/// Sums up the lines of perf script, `PID ADDRESS FUNCTION`, for nodes by process.
fn costs(text: &str, nodes: &HashMap<i32, usize>, receivers: usize, gib: f64) -> Vec<Cost> {
    let mut counts: HashMap<(&'static str, &str), u32> = HashMap::new();
    for line in text.lines() {
        let mut words = line.trim_start().splitn(2, char::is_whitespace);
        let Some(pid) = words.next().and_then(|word| word.parse().ok()) else { continue };
        let Some(&node) = nodes.get(&pid) else { continue };
        let rest = words.next().unwrap_or_default().trim_start();
        let function = rest.split_once(char::is_whitespace).map_or("[unknown]", |(_, name)| name);
        *counts.entry((role(node, receivers), function.trim())).or_default() += 1;
    }
    let of_role = |name: &'static str| {
        let number = (0..=receivers).filter(|node| role(*node, receivers) == name).count();
        let one = 1.0 / f64::from(RATE) / gib / number as f64;
        let mut all: Vec<Cost> = counts
            .iter()
            .filter(|((role, _), _)| *role == name)
            .map(|((role, function), count)| Cost {
                role,
                function: (*function).to_owned(),
                seconds: f64::from(*count) * one,
            })
            .collect();
        all.sort_by(|a, b| {
            b.seconds.total_cmp(&a.seconds).then_with(|| a.function.cmp(&b.function))
        });
        all.truncate(MAX_FUNCTIONS);
        all
    };
    ["head", "relay", "tail"].into_iter().flat_map(of_role).collect()
}

fn role(node: usize, receivers: usize) -> &'static str {
    match node {
        0 => "head",
        node if node == receivers => "tail",
        _ => "relay",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_seconds_of_a_node() {
        let text = "  7  ffffffff8112 copy_user\n  7 55aa <a as b>::write\n  7  ffff8112 copy_user\n\
                    8 12 copy_user\n  9 12 idle\n 10 13 copy_user\n";
        let nodes = HashMap::from([(7, 0), (8, 1), (10, 3)]);
        let found = costs(text, &nodes, 3, 2.0);
        let tick = 1.0 / f64::from(RATE);
        let cost =
            |role, function: &str, seconds| Cost { role, function: function.to_owned(), seconds };
        assert_eq!(
            found,
            [
                cost("head", "copy_user", tick),
                cost("head", "<a as b>::write", tick / 2.0),
                cost("relay", "copy_user", tick / 4.0),
                cost("tail", "copy_user", tick / 2.0),
            ]
        );
    }
}
