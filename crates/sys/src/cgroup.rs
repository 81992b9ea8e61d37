//! Control groups (cgroups(7)), which limit the CPU time and the memory of a set of processes.
//!
//! The CPU controller belongs to one hierarchy only, of version 1 or of version 2. This module
//! supports both; the files in a group show its version.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::proc_file;

/// The name of the group that an administrator may create below the root of the hierarchy and give
/// to a user.
pub const GIVEN: &str = "garland";

/// In version 1, a memory limit of at least this number of bytes means that there is no limit.
const NO_LIMIT: u64 = 1 << 62;

/// The maximum time to wait for killed processes to leave a group.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// The directory of a control group with the CPU controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(PathBuf);

/// Returns the groups below which this process may be able to create groups: its own group, the
/// parent of that group, and [`GIVEN`]. Only an attempt shows whether it has the permission.
///
/// # Errors
/// When `/proc` cannot be read, or no hierarchy has a CPU controller.
pub fn places() -> io::Result<Vec<Group>> {
    let mounts = proc_file::read("/proc/self/mountinfo")?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let places = find(&mounts, &own, "cpu", controllers_at);
    if places.is_empty() {
        let reason = "this system has no control group with a CPU controller";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    Ok(places.into_iter().map(Group).collect())
}

/// Returns the names of the controllers of the version 2 group at `path`, separated by blanks.
fn controllers_at(path: &Path) -> String {
    fs::read_to_string(path.join("cgroup.controllers")).unwrap_or_default()
}

/// Returns the directories of the groups of [`places`], in the hierarchy with `controller`.
/// `mounts` is the text of `/proc/self/mountinfo`, and `own` that of `/proc/self/cgroup`.
/// `controllers` returns the controllers of a group of version 2.
fn find(
    mounts: &str,
    own: &str,
    controller: &str,
    controllers: impl Fn(&Path) -> String,
) -> Vec<PathBuf> {
    let own = |v1: bool| {
        own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (names, path) = rest.split_once(':')?;
            let is_it =
                if v1 { names.split(',').any(|name| name == controller) } else { names.is_empty() };
            is_it.then_some(path)
        })
    };
    for line in mounts.lines() {
        let Some((front, back)) = line.split_once(" - ") else { continue };
        let mut front = front.split(' ').skip(3);
        let (Some(root), Some(at)) = (front.next(), front.next()) else { continue };
        let mut back = back.split(' ');
        let kind = back.next();
        let options = back.nth(1).unwrap_or_default();
        let v1 = match kind {
            Some("cgroup") if options.split(',').any(|option| option == controller) => true,
            Some("cgroup2") if has(&controllers(Path::new(at)), controller) => false,
            _ => continue,
        };
        let top = PathBuf::from(at);
        let below = own(v1).and_then(|path| Path::new(path).strip_prefix(root).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty());
        let here = below.map_or_else(|| top.clone(), |below| top.join(below));
        let beside = here.parent().filter(|beside| beside.starts_with(&top)).map(Path::to_owned);
        let mut places = vec![here];
        places.extend(beside.filter(|_| !v1));
        places.push(top.join(GIVEN));
        return places;
    }
    Vec::new()
}

/// Returns the CPU limit that applies to this process, in thousandths of one CPU: the lowest limit
/// of its group and the groups above it. `None` without a limit, or if it cannot be read.
#[must_use]
pub fn allowed() -> Option<u32> {
    let own = places().ok()?.into_iter().next()?;
    // The lowest limit of the group and its ancestors applies.
    own.0.ancestors().filter_map(limit_at).min()
}

/// Returns the CPU limit of the group at `path` in thousandths of one CPU; `None` without a limit.
fn limit_at(path: &Path) -> Option<u32> {
    let read = |name: &str| fs::read_to_string(path.join(name)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(both) => {
            let (quota, period) = both.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    // A group without a limit has the quota -1 or `max`.
    let (quota, period): (u64, u64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    u32::try_from(quota.saturating_mul(1000).checked_div(period)?).ok()
}

fn has(controllers: &str, controller: &str) -> bool {
    controllers.split_whitespace().any(|name| name == controller)
}

/// The memory limit of a control group, and how much of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The limit for all processes of the group together, in bytes.
    pub most: u64,
    /// The unused part of the limit in bytes. Page cache that can be reclaimed counts as unused.
    pub left: u64,
}

/// Returns the memory limit of this process and the others in its group; `None` without a limit, or
/// if it cannot be read.
#[must_use]
pub fn memory() -> Option<Memory> {
    let mounts = proc_file::read("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = find(&mounts, &own, "memory", controllers_at).into_iter().next()?;
    let groups = own.ancestors().filter_map(memory_at);
    // The limits of the group's ancestors apply as well.
    groups.reduce(|one, two| Memory { most: one.most.min(two.most), left: one.left.min(two.left) })
}

/// Returns the memory limit of the group at `path`; `None` without a limit.
fn memory_at(path: &Path) -> Option<Memory> {
    let read = |name: &str| fs::read_to_string(path.join(name)).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let (most, used, reclaimed) = match read("memory.max") {
        Some(most) => (number(most)?, read("memory.current"), "inactive_file"),
        None => (
            number(read("memory.limit_in_bytes")?)?,
            read("memory.usage_in_bytes"),
            "total_inactive_file",
        ),
    };
    let stat = read("memory.stat").unwrap_or_default();
    let files = stat.lines().find_map(|line| line.strip_prefix(reclaimed)?.trim().parse().ok());
    let used = used.and_then(number).unwrap_or(0).saturating_sub(files.unwrap_or(0));
    // In version 1, the largest value of the counter means no limit.
    (most < NO_LIMIT).then(|| Memory { most, left: most.saturating_sub(used) })
}

impl Group {
    /// Returns the group at `path`, whether it exists or not.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Returns the directory of the group.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a group named `name` below this one.
    ///
    /// # Errors
    /// When this process lacks the permission, or this group is of version 2 and contains
    /// processes.
    pub fn make(&self, name: &str) -> io::Result<Self> {
        let control = self.0.join("cgroup.subtree_control");
        if fs::read_to_string(&control).is_ok_and(|enabled| !has(&enabled, "cpu")) {
            fs::write(&control, "+cpu")?;
        }
        let below = self.0.join(name);
        fs::create_dir(&below)?;
        Ok(Self(below))
    }

    /// Limits the CPU time of all processes of the group together, in thousandths of one CPU.
    ///
    /// The kernel gives the group its share in every period. The period is 20 ms, which keeps
    /// pauses short. It is longer only if the share of 20 ms would be less than 1 ms, the minimum
    /// that the kernel accepts.
    ///
    /// # Errors
    /// When this process lacks the permission, or the group does not exist.
    pub fn limit(&self, thousandths: u32) -> io::Result<()> {
        let share = u64::from(thousandths.max(1));
        let period = (1_000_000 / share).clamp(20_000, 1_000_000);
        let quota = (period * share / 1000).max(1000);
        let v2 = self.0.join("cpu.max");
        if v2.exists() {
            return fs::write(v2, format!("{quota} {period}"));
        }
        fs::write(self.0.join("cpu.cfs_period_us"), period.to_string())?;
        fs::write(self.0.join("cpu.cfs_quota_us"), quota.to_string())
    }

    /// Removes the limit of CPU time.
    ///
    /// # Errors
    /// Those of [`Group::limit`].
    pub fn lift(&self) -> io::Result<()> {
        let v2 = self.0.join("cpu.max");
        if v2.exists() {
            return fs::write(v2, "max");
        }
        fs::write(self.0.join("cpu.cfs_quota_us"), "-1")
    }

    /// Locks the group until the returned file is dropped. Returns `None` if another process holds
    /// the lock.
    ///
    /// # Errors
    /// When the group does not exist.
    pub fn claim(&self) -> io::Result<Option<File>> {
        let folder = File::open(&self.0)?;
        match folder.try_lock() {
            // The lock succeeds even if the group was removed after it was opened, so check for it.
            Ok(()) => fs::metadata(&self.0).map(|_| Some(folder)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the groups directly below this one whose names begin with `prefix`.
    ///
    /// # Errors
    /// When the group does not exist or cannot be read.
    pub fn below(&self, prefix: &str) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
            if named && entry.file_type()?.is_dir() {
                found.push(Self(entry.path()));
            }
        }
        Ok(found)
    }

    /// Moves this process into the group.
    ///
    /// # Errors
    /// When this process lacks the permission.
    pub fn join(&self) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), "0")
    }

    /// Makes the process that `command` starts, and its descendants, run in the group.
    ///
    /// # Errors
    /// When this process lacks the permission to add processes to the group.
    pub fn adopt(&self, command: &mut Command) -> io::Result<()> {
        let members = File::options().write(true).open(self.0.join("cgroup.procs"))?;
        let enter = move || rustix::io::write(&members, b"0").map(drop).map_err(io::Error::from);
        // SAFETY: between fork and exec only one write to an open descriptor happens; nothing
        // allocates and no lock is taken.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// Removes this group and the groups below it. Waits up to 2 s for their processes to end, then
    /// moves the remaining processes to the parent group. A group that does not exist is no error.
    ///
    /// # Errors
    /// When this process lacks the permission.
    pub fn remove(&self) -> io::Result<()> {
        let deadline = crate::clock::now_ns() + LEAVE_TIMEOUT.as_nanos() as u64;
        loop {
            match self.try_remove() {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    if crate::clock::now_ns() > deadline {
                        self.evict()?;
                        return self.try_remove();
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }

    fn try_remove(&self) -> io::Result<()> {
        let removed = self.below("").and_then(|groups| {
            groups.iter().try_for_each(Self::try_remove)?;
            fs::remove_dir(&self.0)
        });
        match removed {
            // This group, since those below it were removed: it may vanish at any moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn evict(&self) -> io::Result<()> {
        let Some(above) = self.0.parent().map(|above| above.join("cgroup.procs")) else {
            return Ok(());
        };
        self.below("")?.iter().try_for_each(Self::evict)?;
        for process in fs::read_to_string(self.0.join("cgroup.procs"))?.lines() {
            // The process may have ended in the meantime.
            let _ = fs::write(&above, process);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_groups_limit_is_read_as_either_version_writes_it() {
        let folder = std::env::temp_dir().join(format!("garland-cgroup-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let limit = |files: [(&str, &str); 2]| {
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            limit_at(&folder)
        };
        let v1 = |quota| [("cpu.cfs_quota_us", quota), ("cpu.cfs_period_us", "20000\n")];
        assert_eq!(limit(v1("-1\n")), None);
        assert_eq!(limit(v1("4000\n")), Some(200));
        let v2 = |max| [("cpu.max", max), ("cgroup.procs", "")];
        assert_eq!(limit(v2("max 100000\n")), None);
        assert_eq!(limit(v2("150000 100000\n")), Some(1500));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_groups_memory_is_read_as_either_version_writes_it() {
        let folder = std::env::temp_dir().join(format!("garland-memory-{}", std::process::id()));
        let of = |files: &[(&str, &str)]| {
            fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            let found = memory_at(&folder);
            fs::remove_dir_all(&folder).unwrap();
            found
        };
        let none = "9223372036854771712\n";
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("memory.limit_in_bytes", none)]), None);
        assert_eq!(of(&[("memory.max", "max\n"), ("memory.current", "7\n")]), None);
        let v1 = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "700\n"),
            ("memory.stat", "inactive_file 50\ntotal_inactive_file 100\n"),
        ];
        assert_eq!(of(&v1), Some(Memory { most: 1000, left: 400 }));
        let v2 = [("memory.max", "1000\n"), ("memory.current", "1200\n")];
        assert_eq!(of(&v2), Some(Memory { most: 1000, left: 0 }));
    }

    #[test]
    fn both_versions_are_found() {
        let none = |_: &Path| String::new();
        let v1 = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                  33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n\
                  32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let found = find(v1, "2:cpuacct:/\n1:cpu:/job/7\n0::/", "cpu", none);
        let paths = ["/sys/fs/cgroup/cpu/job/7", "/sys/fs/cgroup/cpu/garland"];
        assert_eq!(found, paths.map(PathBuf::from));
        let v2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate";
        let found = find(v2, "0::/user.slice/run.scope", "cpu", |_| "cpu io memory\n".to_owned());
        let paths = ["user.slice/run.scope", "user.slice", "garland"];
        assert_eq!(found, paths.map(|path| Path::new("/sys/fs/cgroup").join(path)));
        assert!(find(v2, "0::/", "cpu", none).is_empty());
    }
}
