//! File systems for destinations.

use std::path::Path;
use std::process::Command;

use garland_testkit::Scratch;

/// The kind of file system that sources and destinations are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// Where the scratch directory is.
    Here,
    Ext4,
    Xfs,
    Btrfs,
    Overlay,
    Exfat,
    Ntfs,
    /// One that refuses or lies, another one in each round ([`crate::odd`]). Sources are elsewhere.
    Odd,
}

/// What entries may have on a file system.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// Modes, owners, attributes and all times.
    pub modes: bool,
    /// Names of which only `/` and NUL are special.
    pub any_name: bool,
    pub links: bool,
    /// Times that can be set.
    pub times: bool,
}

impl Disk {
    pub const MADE: [Self; 6] =
        [Self::Ext4, Self::Xfs, Self::Btrfs, Self::Overlay, Self::Exfat, Self::Ntfs];

    /// Returns what sources may have.
    pub fn of_sources(self) -> Abilities {
        let is_poor = matches!(self, Self::Exfat | Self::Ntfs);
        let any_name = !is_poor && self != Self::Odd;
        Abilities { modes: !is_poor, any_name, links: !is_poor, times: true }
    }

    /// Returns what destinations keep.
    pub fn of_destinations(self) -> Abilities {
        if self == Self::Odd {
            return Abilities { modes: false, any_name: false, links: false, times: false };
        }
        self.of_sources()
    }

    /// Makes the file system and mounts it on the folder `at`. `scratch` has room for its image.
    fn mount(self, scratch: &Scratch, at: &Path) {
        let script = match self {
            Self::Here | Self::Odd => return,
            Self::Ext4 => "mkfs.ext4 -q -I 256 i && mount -o loop i \"$0\"",
            Self::Xfs => "mkfs.xfs -q i && mount -o loop i \"$0\"",
            Self::Btrfs => "mkfs.btrfs -q i && mount -o loop i \"$0\"",
            Self::Overlay => {
                "mkdir o && mount -t tmpfs o o && mkdir o/l o/u o/w && \
                 mount -t overlay -o lowerdir=o/l,upperdir=o/u,workdir=o/w o \"$0\""
            }
            Self::Exfat => {
                "mkfs.exfat i && loop=$(losetup --find --show i) && \
                 mount.exfat-fuse \"$loop\" \"$0\"; losetup --detach \"$loop\""
            }
            Self::Ntfs => "mkntfs -F -Q -q i && ntfs-3g i \"$0\"",
        };
        let script = format!("truncate -s 1G i && {script}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(at).current_dir(scratch.folder());
        let output = command.output().expect("there is a shell");
        assert!(output.status.success(), "{self:?}: {output:?}");
    }
}

/// Mounts `disk` on the folder `files` of a scratch directory and calls `test`, in a process with mounts of its
/// own, which end with it. `name` is the test that calls this.
pub fn in_own_mounts(name: &str, disk: Disk, test: impl FnOnce(&Scratch)) {
    const INNER: &str = "GARLAND_RSYNC_DISK";
    let word = format!("{disk:?}");
    match std::env::var(INNER) {
        Ok(inner) if inner == word => {
            let scratch = Scratch::new("rsync-made");
            let at = scratch.path("files");
            std::fs::create_dir(&at).expect("it can be made");
            disk.mount(&scratch, &at);
            test(&scratch);
            let unmounted = Command::new("umount").arg(&at).status();
            assert!(unmounted.is_ok_and(|status| status.success()), "{disk:?} is busy");
            scratch.assert_nobody_left();
        }
        Ok(_) => {}
        Err(_) => {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private"]);
            command.arg(std::env::current_exe().expect("a program"));
            command.args(["--exact", name, "--nocapture"]).env(INNER, &word);
            let status = command.status().expect("unshare can be started");
            assert!(status.success(), "{disk:?}");
        }
    }
}
