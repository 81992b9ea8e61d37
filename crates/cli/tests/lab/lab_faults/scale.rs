//! How large a test is: small by default, as large as the promises under `make soak`.

use std::path::PathBuf;

use garland_testkit::{env_number, random_bytes};

/// The size of a lab and of what is copied in it.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Nodes beside the head.
    pub nodes: u32,
    /// Million bits per second of every wire.
    pub mbit: u64,
    /// Bytes of the source.
    pub length: u64,
}

const SMALL: Scale = Scale { nodes: 6, mbit: 500, length: 40 << 20 };
const LARGE: Scale = Scale { nodes: 20, mbit: 1000, length: 1 << 30 };

/// The share of the free memory that the nodes' files may take.
const SHARE: f64 = 0.6;

impl Scale {
    /// What this run of the tests wants of a test that leaves `copies` files on every node.
    pub fn wanted(copies: u64) -> Self {
        if round().is_none() {
            return SMALL;
        }
        let files = u64::from(LARGE.nodes) * copies + 1;
        let room = (available_memory() as f64 * SHARE) as u64 / files;
        // Many copies may take as long together as three.
        let time = LARGE.length * 3 / copies.max(3);
        Self { length: time.min(room), ..LARGE }
    }

    /// How long the wires need for the source, in milliseconds.
    pub fn stream_ms(self) -> u64 {
        self.length * 8 / (self.mbit * 1000)
    }

    /// Where the nodes' folders go: large ones in memory, since no disk takes twenty files at once.
    pub fn roots(self, scratch: &garland_testkit::Scratch) -> PathBuf {
        if round().is_none() {
            return scratch.path("nodes");
        }
        let name = scratch.folder().file_name().unwrap_or_default();
        PathBuf::from("/dev/shm").join(name)
    }
}

/// The number of the soak's round; none in a plain run of the tests.
pub fn round() -> Option<u64> {
    env_number("GARLAND_SOAK")
}

/// A number below `end` that depends on the test's name and the soak's round (on
/// `GARLAND_TEST_SEED`, if that is set), printed so that a failure can be had again.
pub fn chosen(test: &str, end: u64) -> u64 {
    let given = env_number("GARLAND_TEST_SEED");
    let name = test.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let seed: u64 = given.unwrap_or_else(|| round().unwrap_or(0).wrapping_mul(1_000_003) ^ name);
    let bytes: [u8; 8] = random_bytes(8, seed).try_into().expect("8 bytes were asked for");
    let number = u64::from_le_bytes(bytes) % end.max(1);
    eprintln!("{test}: {number} of {end} (GARLAND_TEST_SEED={seed})");
    number
}

fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("/proc is mounted");
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("the kernel says how much memory is available") * 1024
}
