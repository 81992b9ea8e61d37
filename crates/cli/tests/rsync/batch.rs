//! Batches: some rounds on a file system that is made for them, in a process of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use garland_testkit::env_number;

use crate::disks::{self, Disk};
use crate::round::Field;
use crate::tally::Tally;

/// The rounds of a whole batch.
const BATCH_ROUNDS: u64 = 25;

/// The faults after which a batch ends: its agent may be dead, so that all later rounds would fail.
const FAULTS_MAX: u64 = 3;

/// The file systems of successive batches. Those that are everywhere, and the one that is another
/// one in each round, have three of twenty.
const TURNS: [Disk; 20] = [
    Disk::Here,
    Disk::Memory,
    Disk::Overlay,
    Disk::Odd,
    Disk::Ext4,
    Disk::Xfs,
    Disk::Btrfs,
    Disk::Exfat,
    Disk::Ntfs,
    Disk::Memory,
    Disk::Odd,
    Disk::Ext4,
    Disk::Xfs,
    Disk::Btrfs,
    Disk::Overlay,
    Disk::Exfat,
    Disk::Ntfs,
    Disk::Memory,
    Disk::Odd,
    Disk::Here,
];

/// The variables that tell a process its batch; its seed is in `GARLAND_SOAK`.
const FIRST: &str = "GARLAND_RSYNC_BATCH_FIRST";
const END: &str = "GARLAND_RSYNC_BATCH_END";

/// Rounds `first..end` of a seed, all on the same file system.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub disk: Disk,
    pub seed: u64,
    pub first: u64,
    pub end: u64,
}

impl Batch {
    /// Returns the batches that rounds `first..end` of a seed belong to. A round is always played
    /// on the same file system.
    pub fn deal(seed: u64, first: u64, end: u64) -> Vec<Self> {
        let mut batches = Vec::new();
        let mut next = first;
        while next < end {
            let turn = next / BATCH_ROUNDS;
            let disk = TURNS[(turn % TURNS.len() as u64) as usize];
            let batch_end = end.min((turn + 1) * BATCH_ROUNDS);
            batches.push(Self { disk, seed, first: next, end: batch_end });
            next = batch_end;
        }
        batches
    }

    /// Returns the first whole batch on `disk`.
    pub fn first_on(disk: Disk, seed: u64) -> Self {
        let turn = TURNS.iter().position(|it| *it == disk).expect("each has its turn") as u64;
        Self { disk, seed, first: turn * BATCH_ROUNDS, end: (turn + 1) * BATCH_ROUNDS }
    }

    /// Returns the batch that the process which called [`Self::command`] wants of this one.
    pub fn from_environment() -> Option<Self> {
        let seed = env_number("GARLAND_SOAK")?;
        Self::deal(seed, env_number(FIRST)?, env_number(END)?).pop()
    }

    /// Returns the command that plays this batch: the test `name` of this program. Where a file
    /// system is mounted, it has mounts of its own, which end with it.
    pub fn command(&self, name: &str) -> Command {
        let program = std::env::current_exe().expect("a program");
        let mut command = if self.disk.is_made() {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(["--exact", name, "--nocapture"]);
        command.env("GARLAND_SOAK", self.seed.to_string());
        command.env(FIRST, self.first.to_string()).env(END, self.end.to_string());
        command
    }

    /// Plays the rounds and prints how many there were, faults with what differs.
    pub fn play(&self) {
        let mut tally = Tally::default();
        disks::on(self.disk, |scratch| {
            let field = Field::up(scratch, self.disk);
            for round in self.first..self.end {
                let played = catch_unwind(AssertUnwindSafe(|| field.round(self.seed, round)));
                tally.rounds += 1;
                match played {
                    Ok(copies) => tally.copies += copies,
                    Err(_) => tally.faults += 1,
                }
                if tally.faults == FAULTS_MAX {
                    break;
                }
            }
            field.down();
        });
        println!("{tally}");
        assert_eq!(tally.faults, 0, "{self:?}");
    }
}
