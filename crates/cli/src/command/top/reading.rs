//! What a node's kernel has counted, and what two looks at it come to.

use std::collections::BTreeMap;

/// What ends a look.
pub const END: &str = ".";

/// The kernel's counts at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Seconds since the node was started.
    uptime: f64,
    /// Of each NIC but the loopback the bytes received and sent.
    nics: BTreeMap<String, (u64, u64)>,
    /// The processors' ticks at work, and all of them.
    cpu: (u64, u64),
    /// Sectors read and written, and milliseconds in use of the busiest disk, by disk.
    disks: BTreeMap<String, (u64, u64, u64)>,
    /// TCP's segments that were sent again.
    resent: u64,
}

/// What happened between two looks, per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// Of each NIC bytes received and sent.
    pub nics: Vec<(String, f64, f64)>,
    /// The share of the processors at work.
    pub cpu: f64,
    /// Bytes read from all disks.
    pub read: f64,
    /// Bytes written to them.
    pub written: f64,
    /// The share of the time in which the busiest one was in use.
    pub disk: f64,
    /// Segments sent again.
    pub resent: f64,
}

/// Bytes of a sector in `/proc/diskstats`, whatever the disk's own are.
const SECTOR: f64 = 512.0;

impl Reading {
    /// Reads the lines of one look; what isn't understood is passed over.
    pub fn of(lines: &[String]) -> Self {
        let mut reading = Self::default();
        let mut tcp: Option<Vec<&str>> = None;
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            match words.as_slice() {
                ["@", uptime, ..] => reading.uptime = uptime.parse().unwrap_or(0.0),
                ["cpu", ..] => {
                    let all: Vec<u64> = (1..9).filter_map(number).collect();
                    let sum: u64 = all.iter().sum();
                    // The fourth is idle, the fifth waits for disks.
                    let idle: u64 = all.iter().skip(3).take(2).sum();
                    reading.cpu = (sum - idle, sum);
                }
                ["Tcp:", "RtoAlgorithm", ..] => tcp = Some(words),
                ["Tcp:", ..] => {
                    let names = tcp.take().unwrap_or_default();
                    let at = names.iter().position(|name| *name == "RetransSegs");
                    reading.resent = at.and_then(number).unwrap_or(0);
                }
                [_, _, disk, ..] if words.len() >= 14 && number(0).is_some() => {
                    if is_whole_disk(disk)
                        && let (Some(read), Some(written), Some(busy)) =
                            (number(5), number(9), number(12))
                    {
                        reading.disks.insert((*disk).to_owned(), (read, written, busy));
                    }
                }
                [nic, ..] if nic.ends_with(':') && words.len() >= 17 => {
                    let name = nic.trim_end_matches(':');
                    if let (Some(received), Some(sent), true) = (number(1), number(9), name != "lo")
                    {
                        reading.nics.insert(name.to_owned(), (received, sent));
                    }
                }
                _ => {}
            }
        }
        reading
    }

    /// What happened since an earlier look; none where no time went by.
    pub fn since(&self, earlier: &Self) -> Option<Rates> {
        let seconds = self.uptime - earlier.uptime;
        if seconds <= 0.0 {
            return None;
        }
        let per = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        let mut rates = Rates { resent: per(self.resent, earlier.resent), ..Rates::default() };
        for (name, now) in &self.nics {
            let then = earlier.nics.get(name).unwrap_or(now);
            rates.nics.push((name.clone(), per(now.0, then.0), per(now.1, then.1)));
        }
        for (name, now) in &self.disks {
            let then = earlier.disks.get(name).unwrap_or(now);
            rates.read += per(now.0, then.0) * SECTOR;
            rates.written += per(now.1, then.1) * SECTOR;
            rates.disk = rates.disk.max((per(now.2, then.2) / 1000.0).min(1.0));
        }
        let ticks = self.cpu.1.saturating_sub(earlier.cpu.1);
        if ticks > 0 {
            rates.cpu = self.cpu.0.saturating_sub(earlier.cpu.0) as f64 / ticks as f64;
        }
        Some(rates)
    }
}

/// Whether a block device is a disk, and no part of one, nor what stands on others.
fn is_whole_disk(name: &str) -> bool {
    let stacked = ["loop", "ram", "dm-", "md", "zram", "sr"];
    if stacked.iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    let numbered = name.ends_with(|last: char| last.is_ascii_digit());
    let of_controller = name.starts_with("nvme") || name.starts_with("mmcblk");
    if of_controller { !name.contains('p') } else { !numbered }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "\
@ 100.00 180.00
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  900       1    0    0    0     0          0         0      900       1    0    0    0     0       0          0
  eth0: 1000      10    0    0    0     0          0         0     2000      10    0    0    0     0       0          0
cpu  100 0 50 800 50 0 0 0 0 0
 259       0 nvme0n1 10 0 2000 5 20 0 4000 6 0 300 11 0 0 0 0
 259       1 nvme0n1p1 10 0 2000 5 20 0 4000 6 0 300 11 0 0 0 0
   8       0 sda 1 0 8 1 1 0 8 1 0 1 1
   7       0 loop0 10 0 2000 5 20 0 4000 6 0 300 11
Tcp: RtoAlgorithm RtoMin RetransSegs InErrs
Tcp: 1 200 7 0";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn two_looks_come_to_rates() {
        let first = Reading::of(&lines(FIRST));
        let later = FIRST
            .replace("@ 100.00", "@ 102.00")
            .replace("eth0: 1000      10", "eth0: 201000    10")
            .replace("cpu  100 0 50 800 50", "cpu  150 0 100 900 50")
            .replace(
                "nvme0n1 10 0 2000 5 20 0 4000 6 0 300",
                "nvme0n1 10 0 2000 5 20 0 8000 6 0 1300",
            )
            .replace("200 7 0", "200 17 0");
        let rates = Reading::of(&lines(&later)).since(&first).unwrap();
        assert_eq!(rates.nics, [("eth0".to_owned(), 100_000.0, 0.0)]);
        assert_eq!((rates.cpu, rates.resent, rates.disk), (0.5, 5.0, 0.5));
        assert_eq!((rates.read, rates.written), (0.0, 4000.0 * 512.0 / 2.0));
        assert_eq!(first.since(&first), None);
    }

    #[test]
    fn what_is_no_look_is_nothing() {
        assert_eq!(Reading::of(&lines("sh: not found\n: : :\ncpu\n1 2 3")), Reading::default());
        assert_eq!(Reading::of(&[]).since(&Reading::of(&lines(FIRST))), None);
    }
}
