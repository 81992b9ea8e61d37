//! File systems for destinations.

use std::path::Path;
use std::process::Command;

use garland_testkit::Scratch;

/// The kind of file system that sources and destinations are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disk {
    /// Where the scratch directory is.
    Here,
    Memory,
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
    /// Whether a program makes and mounts it, which only root may.
    pub fn is_made(self) -> bool {
        !matches!(self, Self::Here | Self::Memory | Self::Odd)
    }

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
            Self::Here | Self::Memory | Self::Odd => return,
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

/// Calls `test` with a scratch directory whose folder `files` is on `disk`. Images of file systems
/// are in memory: what is compared does not depend on how long a disk of this machine takes to
/// sync.
pub fn on(disk: Disk, test: impl FnOnce(&Scratch)) {
    let scratch = match disk {
        Disk::Here => Scratch::new("rsync"),
        _ => Scratch::in_memory("rsync"),
    };
    let at = scratch.path("files");
    std::fs::create_dir(&at).expect("it can be made");
    disk.mount(&scratch, &at);
    test(&scratch);
    if disk.is_made() {
        let unmounted = Command::new("umount").arg(&at).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{disk:?} is busy");
    }
    scratch.assert_nobody_left();
}
