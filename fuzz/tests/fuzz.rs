//! Feeds every target with randomly changed examples for some seconds. No coverage is measured, so
//! any compiler can be used. Input that could be parsed is changed further.
//!
//! `GARLAND_FUZZ_SECONDS` sets the duration for each target. Input that makes a target fail is
//! printed and kept in a file; `GARLAND_FUZZ_INPUT=FILE` feeds a target with that file alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use garland_fuzz::Target;
use garland_sys::{clock, random};

const SECONDS: u64 = 2;

/// The maximum length of an input in bytes.
const LONGEST: usize = 8 << 10;

/// The number of inputs that are kept in addition to the examples.
const ROOM: usize = 1000;

/// The number of inputs between two readings of the clock.
const BATCH: u32 = 64;

/// A generator of pseudo-random numbers (xorshift64*, Vigna 2016).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Bytes at which parsers have failed.
const EDGES: [&[u8]; 14] = [
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\n",
    b"0",
    b"18446744073709551615",
    b"-1",
    b"..",
    "\u{1f40f}".as_bytes(),
];

/// Changes bytes in one to eight ways; pieces of `others` are inserted.
fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], numbers: &mut Numbers) {
    for _ in 0..=numbers.below(8) {
        let at = numbers.below(bytes.len() + 1);
        let end = (at + 1 + numbers.below(16)).min(bytes.len());
        let inside = numbers.below(bytes.len());
        match numbers.below(9) {
            0 if !bytes.is_empty() => bytes[inside] ^= 1 << numbers.below(8),
            1 if !bytes.is_empty() => bytes[inside] = numbers.next() as u8,
            2 if !bytes.is_empty() => {
                bytes[inside] = bytes[inside].wrapping_add(1 + 2 * (numbers.next() & 1) as u8);
            }
            3 => drop(bytes.drain(at..end)),
            4 => bytes.truncate(at.max(1)),
            5 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            6 => drop(bytes.splice(at..end, numbers.one_of(&EDGES).iter().copied())),
            7 => drop(bytes.splice(at..at, numbers.one_of(&EDGES).iter().copied())),
            _ => {
                let other = numbers.one_of(others);
                let from = numbers.below(other.len());
                let to = (from + 1 + numbers.below(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
        }
    }
    bytes.truncate(LONGEST);
}

/// Feeds a target with these bytes. Returns whether it could parse something.
///
/// # Panics
/// Panics if the target fails, after the bytes were written to a file.
fn feed(target: Target, bytes: &[u8]) -> bool {
    let fed = catch_unwind(AssertUnwindSafe(|| target.run(bytes)));
    fed.unwrap_or_else(|_| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
        std::fs::write(&file, bytes).expect("there is room");
        let file = file.display();
        panic!("{} failed; GARLAND_FUZZ_INPUT={file} repeats it: {bytes:02x?}", target.name)
    })
}

fn fuzz(name: &str) {
    let parse = garland_fuzz::target(name);
    if let Some(file) = std::env::var_os("GARLAND_FUZZ_INPUT") {
        feed(parse, &std::fs::read(file).expect("it can be read"));
        return;
    }
    let seconds = std::env::var("GARLAND_FUZZ_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |text| text.parse().expect("a number of seconds"));
    let mut pool = parse.examples();
    let examples = pool.len();
    let readable = pool.iter().filter(|bytes| feed(parse, bytes)).count();
    assert!(readable > 0, "{name} can't read any of its examples");
    feed(parse, &[]);
    let mut numbers = Numbers(u64::from_le_bytes(random::bytes()) | 1);
    let end = clock::now_ns() + seconds * 1_000_000_000;
    let mut fed = 0_u64;
    let mut read = 0_u64;
    while clock::now_ns() < end {
        for _ in 0..BATCH {
            let mut bytes = numbers.one_of(&pool).clone();
            change(&mut bytes, &pool, &mut numbers);
            fed += 1;
            if feed(parse, &bytes) {
                read += 1;
                if pool.len() < examples + ROOM {
                    pool.push(bytes);
                } else {
                    let at = examples + numbers.below(ROOM);
                    pool[at] = bytes;
                }
            }
        }
    }
    println!("{name}: {readable} of {examples} examples and {read} of {fed} others could be read");
}

macro_rules! fuzzed {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            fuzz(stringify!($name));
        })*

        #[test]
        fn every_target_is_fed() {
            let mut fed = [$(stringify!($name)),*];
            let mut all: Vec<_> = garland_fuzz::TARGETS.iter().map(|target| target.name).collect();
            fed.sort_unstable();
            all.sort_unstable();
            assert_eq!(all, fed);
        }
    };
}

fuzzed! {
    channel cluster_file digests fabric_answer frame from_agent greeting known manifest name node_list plan preamble
    ready_line target to_agent topology_file trace tree
}
