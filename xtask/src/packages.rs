//! Installs the Debian packages that tests and benchmarks need, if they are missing.
//!
//! No test is skipped because a program is missing, so the programs must be installed. This module
//! looks for a program of each package instead of asking dpkg. That works on other distributions
//! too, where it can only name what is missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A Debian package, and a program (or the absolute path of a file) whose presence shows that it is
/// installed.
pub type Need = (&'static str, &'static str);

/// What the soak with hostile peers needs besides: it names every file that a process opens.
pub const HOSTILE: &[Need] = &[("fatrace", "fatrace")];

/// What the comparison with rsync needs besides: it makes file systems.
pub const RSYNC: &[Need] = &[
    ("xfsprogs", "/usr/sbin/mkfs.xfs"),
    ("btrfs-progs", "/usr/sbin/mkfs.btrfs"),
    ("exfatprogs", "/usr/sbin/mkfs.exfat"),
    ("exfat-fuse", "/usr/sbin/mount.exfat-fuse"),
];

/// The packages that the tests need: tools of labs, and launchers and tools that Garland works
/// with.
pub const TESTS: &[Need] = &[
    ("iproute2", "ip"),
    ("nftables", "nft"),
    ("openssh-client", "ssh"),
    ("openssh-server", "sshd"),
    ("slurm-wlm", "slurmctld"),
    ("munge", "munged"),
    ("procps", "sysctl"),
    ("rsync", "rsync"),
    ("attr", "getfattr"),
    ("git", "git"),
    ("e2fsprogs", "/usr/sbin/mkfs.ext4"),
    ("fuse3", "fusermount3"),
    // Programs that tests run on mounts: they verify, edit and encode files.
    ("fio", "fio"),
    ("ed", "ed"),
    ("vim", "vim"),
    ("lame", "lame"),
    // A program that saves its work and goes on from it.
    ("john", "/usr/sbin/john"),
    // A library that a test suite for file systems is linked with.
    ("libacl1-dev", "/usr/include/sys/acl.h"),
    // A terminal, for tests of full-screen output.
    ("tmux", "tmux"),
    ("iperf3", "iperf3"),
    // The scenarios' copies by a script of pipes.
    ("netcat-openbsd", "nc"),
    ("ifupdown", "ifup"),
    ("patch", "patch"),
    ("network-manager", "nmcli"),
    ("systemd", "networkctl"),
    ("dbus-daemon", "dbus-daemon"),
    // This package depends on libfabric1, the library.
    ("libfabric-bin", "fi_info"),
    // The browser in which tests open reports.
    ("chromium", "chromium"),
    // A file system that ignores the case of letters, and an authority for certificates.
    ("ntfs-3g", "lowntfs-3g"),
    ("openssl", "openssl"),
    ("python3", "python3"),
    ("python3-pip", "pip3"),
    // A reader of container images that is not ours.
    ("skopeo", "skopeo"),
];

const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs those packages of `needs` that are missing.
///
/// # Errors
/// If packages are missing and cannot be installed: there is no `apt-get`, this user is not root
/// and there is no `sudo`, or `apt-get` failed.
pub fn install(needs: &[Need]) -> Result<()> {
    let lacking = missing(needs);
    if lacking.is_empty() {
        return Ok(());
    }
    let list = lacking.join(" ");
    if find("apt-get").is_none() {
        bail!("these Debian packages are missing: {list}; install them and try again");
    }
    let root = rustix::process::geteuid().is_root();
    if !root && find("sudo").is_none() {
        bail!("these packages are missing: {list}; run as root: apt-get install {list}");
    }
    println!("installing Debian packages: {list}");
    let _policy = if root { Policy::set()? } else { None };
    if !lists_present() {
        apt(root, &["update"])?;
    }
    let mut args = vec!["install", "--yes", "--no-install-recommends"];
    args.extend(&lacking);
    if apt(root, &args).is_err() {
        // The package lists may be older than the files on the mirror: update them and try again.
        apt(root, &["update"])?;
        apt(root, &args)?;
    }
    let still = missing(needs);
    if !still.is_empty() {
        bail!("these packages are installed but lack the expected programs: {}", still.join(" "));
    }
    Ok(())
}

fn missing(needs: &[Need]) -> Vec<&'static str> {
    needs
        .iter()
        .filter(|(_, program)| find(program).is_none())
        .map(|(package, _)| *package)
        .collect()
}

/// Returns the path of `program`. Also searches the system directories, which a user's PATH often
/// lacks.
fn find(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(Into::into))
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

fn lists_present() -> bool {
    let lists = fs::read_dir("/var/lib/apt/lists").into_iter().flatten();
    lists.flatten().any(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().contains("_Packages")
    })
}

fn apt(root: bool, args: &[&str]) -> Result<()> {
    let mut words = vec![];
    if !root {
        words.push("sudo");
    }
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet=2"]);
    words.extend(args);
    let line = words.join(" ");
    println!("+ {line}");
    let status = Command::new(words[0])
        .args(&words[1..])
        .stdin(std::process::Stdio::null())
        .status()
        .with_context(|| format!("failed to start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// A policy-rc.d that keeps packages from starting their services on installation, since tests
/// start their own.
struct Policy;

impl Policy {
    /// Writes the policy; `None` if the machine has its own policy.
    fn set() -> Result<Option<Self>> {
        use std::os::unix::fs::PermissionsExt;

        if Path::new(POLICY).exists() {
            return Ok(None);
        }
        fs::write(POLICY, "#!/bin/sh\nexit 101\n")
            .with_context(|| format!("failed to write {POLICY}"))?;
        let policy = Self;
        fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("failed to create {POLICY} executable"))?;
        Ok(Some(policy))
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(POLICY) {
            eprintln!("failed to remove {POLICY}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_named() {
        let needs = [("base", "sh"), ("no-such-package", "no-such-program")];
        assert_eq!(missing(&needs), ["no-such-package"]);
    }

    #[test]
    fn nothing_is_done_when_nothing_is_missing() {
        install(&[("base", "sh")]).unwrap();
    }
}
