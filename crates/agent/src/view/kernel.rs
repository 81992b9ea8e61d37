//! The kernel's counters: see proc_pid_net(5), proc_stat(5) and the kernel's iostats.rst. Missing
//! or unknown counters are omitted.

use std::fs;

use garland_protocol::measure::{DiskCounts, KernelCounts, NicCounts};

/// Bytes of a sector in `/proc/diskstats`, independent of the disk.
const SECTOR: u64 = 512;

/// Reads all counters.
pub fn counts() -> KernelCounts {
    // /proc/net shows the network namespace of this process.
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut counts = KernelCounts { nics: nics(&read("/proc/net/dev")), ..KernelCounts::default() };
    counts.disks = disks(&read("/proc/diskstats"));
    (counts.busy_ticks, counts.ticks) = ticks(&read("/proc/stat"));
    counts.resent = resent(&read("/proc/net/snmp"));
    counts
}

fn nics(dev: &str) -> Vec<NicCounts> {
    let nics = dev.lines().filter_map(|line| {
        // The first number may directly follow the colon.
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> = counts.split_whitespace().map_while(|it| it.parse().ok()).collect();
        let name = name.trim();
        let received = *counts.first()?;
        let sent = *counts.get(8)?;
        (name != "lo").then(|| NicCounts { name: name.to_owned(), received, sent })
    });
    nics.collect()
}

/// Returns the busy ticks and all ticks of all CPUs together, from the text of `/proc/stat`.
fn ticks(stat: &str) -> (u64, u64) {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    // The first two numbers include guest time.
    let all: Vec<u64> = line.split_whitespace().take(8).map_while(|it| it.parse().ok()).collect();
    let sum: u64 = all.iter().sum();
    // The fourth number is idle time, the fifth is time waiting for disks.
    let idle: u64 = all.iter().skip(3).take(2).sum();
    (sum - idle, sum)
}

fn disks(diskstats: &str) -> Vec<DiskCounts> {
    let disks = diskstats.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let name = *words.get(2)?;
        let read = number(5)?;
        let written = number(9)?;
        let busy_ms = number(12)?;
        is_whole(name).then(|| DiskCounts {
            name: name.to_owned(),
            read: read.saturating_mul(SECTOR),
            written: written.saturating_mul(SECTOR),
            busy_ms,
        })
    });
    disks.collect()
}

/// Returns whether a block device is a disk, not a partition, and not built on others.
fn is_whole(name: &str) -> bool {
    let stacked = ["loop", "ram", "dm-", "md", "zram", "sr"];
    if stacked.iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    let numbered = name.ends_with(|last: char| last.is_ascii_digit());
    let of_controller = name.starts_with("nvme") || name.starts_with("mmcblk");
    if of_controller { !name.contains('p') } else { !numbered }
}

/// Returns the number of retransmitted TCP segments, from the text of `/proc/net/snmp`.
fn resent(snmp: &str) -> u64 {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let names = lines.next().unwrap_or_default();
    let counts = lines.next().unwrap_or_default();
    let at = names.split_whitespace().position(|name| name == "RetransSegs");
    let count = at.and_then(|at| counts.split_whitespace().nth(at));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  900       1    0    0    0     0          0         0      900       1    0    0    0     0       0          0
  eth0:1000      10    0    0    0     0          0         0     2000      10    0    0    0     0       0          0
";

    const DISKS: &str = "\
 259       0 nvme0n1 10 0 2000 5 20 0 4000 6 0 300 11 0 0 0 0
 259       1 nvme0n1p1 10 0 2000 5 20 0 4000 6 0 300 11 0 0 0 0
   8       0 sda 1 0 8 1 1 0 8 1 0 1 1
   8       1 sda1 1 0 8 1 1 0 8 1 0 1 1
   7       0 loop0 10 0 2000 5 20 0 4000 6 0 300 11
";

    #[test]
    fn counters_are_parsed() {
        let nic = |name: &str, received, sent| NicCounts { name: name.to_owned(), received, sent };
        assert_eq!(nics(DEV), [nic("eth0", 1000, 2000)]);
        let parsed = disks(DISKS);
        let names: Vec<&str> = parsed.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["nvme0n1", "sda"]);
        let nvme = &parsed[0];
        assert_eq!((nvme.read, nvme.written, nvme.busy_ms), (2000 * 512, 4000 * 512, 300));
        assert_eq!(ticks("cpu  100 0 50 800 50 0 0 0 7 7\ncpu0 1 1 1 1\n"), (150, 1000));
        let snmp = "Ip: A\nIp: 1\nTcp: RtoAlgorithm RtoMin RetransSegs InErrs\nTcp: 1 200 7 0\n";
        assert_eq!(resent(snmp), 7);
    }

    #[test]
    fn invalid_lines_are_ignored() {
        for text in ["", ":", "cpu \n: : :\n1 2 3\n", "eth0: x\n", "Tcp: RetransSegs\nTcp: x\n"] {
            assert_eq!((nics(text), disks(text)), (vec![], vec![]), "{text}");
            assert_eq!((ticks(text), resent(text)), ((0, 0), 0), "{text}");
        }
    }

    #[test]
    fn counters_of_this_kernel_are_plausible() {
        let now = counts();
        assert!(now.ticks > now.busy_ticks && now.busy_ticks > 0, "{now:?}");
    }
}
