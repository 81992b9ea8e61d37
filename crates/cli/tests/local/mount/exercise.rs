//! A file written, read, truncated and reopened at random, against a copy in memory; also while
//! agents are killed: no byte is ever read that wasn't written there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use garland_sys::{clock, closing, random};
use garland_testkit::{Scratch, env_number, random_bytes, until};

use crate::mount::stage::Stage;

/// How long a file may become: more than what is read ahead at a time.
const LONGEST: u64 = 3 << 20;

/// Numbers of chance, the same for the same seed (xorshift64*, Vigna 2016).
struct Chance(u64);

impl Chance {
    fn new(test: &str) -> Self {
        let given = env_number("GARLAND_TEST_SEED");
        let seed = given.unwrap_or_else(|| u64::from_le_bytes(random::bytes()) >> 32);
        eprintln!("{test}: GARLAND_TEST_SEED={seed}");
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % end.max(1)
    }
}

/// What is done to the file.
enum Act {
    Write(u64, Vec<u8>),
    Read(u64, usize),
    Cut(u64),
    Sync,
    Reopen,
    Length,
}

fn act(chance: &mut Chance) -> Act {
    let sizes = [10, 4096, 70_000, 400_000];
    let size = 1 + chance.below(sizes[chance.0 as usize % 4]);
    let at = chance.below(LONGEST - size);
    match chance.below(20) {
        0..8 => Act::Write(at, random_bytes(size as usize, chance.below(1 << 40))),
        8..15 => Act::Read(at, size as usize),
        15 => Act::Cut(chance.below(LONGEST)),
        16 => Act::Sync,
        17..19 => Act::Reopen,
        _ => Act::Length,
    }
}

fn put(model: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if model.len() < at + bytes.len() {
        model.resize(at + bytes.len(), 0);
    }
    model[at..at + bytes.len()].copy_from_slice(bytes);
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Does one thing to the file and to its model; what is read must be the model's.
fn step(file: &mut File, path: &Path, model: &mut Vec<u8>, act: &Act) -> io::Result<()> {
    match act {
        Act::Write(at, bytes) => {
            put(model, *at as usize, bytes);
            file.write_all_at(bytes, *at)?;
        }
        Act::Read(at, size) => {
            let mut buffer = vec![0xee; *size];
            let mut have = 0;
            while have < *size {
                match file.read_at(&mut buffer[have..], at + have as u64)? {
                    0 => break,
                    read => have += read,
                }
            }
            let rest = model.get(*at as usize..).unwrap_or_default();
            let expected = &rest[..rest.len().min(*size)];
            if let Some(wrong) =
                buffer[..have].iter().zip(expected).position(|(one, two)| one != two)
            {
                panic!("byte {} is wrong, of {size} read at {at}", at + wrong as u64);
            }
            if have != expected.len() {
                let length = model.len();
                return Err(shorter(format!("{have} of {size} bytes at {at} of {length}")));
            }
        }
        Act::Cut(length) => {
            model.resize(*length as usize, 0);
            file.set_len(*length)?;
        }
        Act::Sync => file.sync_data()?,
        // What was written by the old one and got lost is told by its closing.
        Act::Reopen => closing::close(std::mem::replace(file, open(path)?))?,
        Act::Length => {
            let length = file.metadata()?.len();
            if length != model.len() as u64 {
                return Err(shorter(format!("{length} bytes instead of {}", model.len())));
            }
        }
    }
    Ok(())
}

/// The file is what the node has, and that is less than was written.
fn shorter(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}

fn seconds(usual: u64) -> u64 {
    let soaks = std::env::var_os("GARLAND_SOAK").is_some();
    clock::now_ns() + if soaks { 600 } else { usual } * 1_000_000_000
}

#[test]
fn whatever_is_done_to_a_file_it_holds_what_it_should() {
    let scratch = Scratch::new("mount-exercise");
    let stage = Stage::new(&scratch, 1);
    let mut chance = Chance::new("whatever_is_done_to_a_file");
    let path = stage.path("local1/x");
    let mut file = open(&path).unwrap();
    let mut model = Vec::new();
    let end = seconds(8);
    let mut done = 0;
    while clock::now_ns() < end {
        step(&mut file, &path, &mut model, &act(&mut chance)).unwrap();
        done += 1;
        if done % 100 == 0 {
            drop(std::mem::replace(&mut file, open(&path).unwrap()));
            file.sync_all().unwrap();
            assert!(fs::read(stage.at_node("local1/x")).unwrap() == model, "step {done}");
        }
    }
    eprintln!("{done} steps");
    drop(file);
    stage.end();
}

/// What a file may hold: what it held for certain, and what was done to it since.
struct History {
    certain: Vec<u8>,
    since: Vec<Act>,
}

impl History {
    /// Whether the file may hold these bytes, after some of what was done since was lost.
    fn explains(&self, bytes: &[u8]) -> Result<(), String> {
        for (at, &byte) in bytes.iter().enumerate() {
            let old = self.certain.get(at).copied().unwrap_or(0);
            let written = self.since.iter().any(|act| match act {
                Act::Write(from, new) => {
                    at.checked_sub(*from as usize).and_then(|at| new.get(at)) == Some(&byte)
                }
                // What was cut off may be filled with zeros again.
                Act::Cut(length) => byte == 0 && at as u64 >= *length,
                _ => false,
            });
            if byte != old && !written {
                return Err(format!("byte {at} is {byte}, which nobody wrote there"));
            }
        }
        Ok(())
    }
}

fn read_back(path: &PathBuf) -> Vec<u8> {
    let mut read = Vec::new();
    until("the file", || match fs::read(path) {
        Ok(bytes) => {
            read = bytes;
            true
        }
        Err(_) => false,
    });
    read
}

#[test]
fn no_wrong_byte_is_read_though_agents_are_killed() {
    let scratch = Scratch::new("mount-deaths");
    let stage = Stage::new(&scratch, 1);
    let mut chance = Chance::new("no_wrong_byte_is_read");
    let path = stage.path("local1/x");
    let mut file = open(&path).unwrap();
    let mut model = Vec::new();
    let mut history = History { certain: Vec::new(), since: Vec::new() };
    let end = seconds(8);
    let mut deaths = 0;
    while clock::now_ns() < end || deaths == 0 {
        if chance.below(60) == 0 {
            stage.agent("local1").kill();
            stage.up();
            deaths += 1;
        }
        let next = act(&mut chance);
        let outcome = step(&mut file, &path, &mut model, &next);
        let is_sync = matches!(next, Act::Sync);
        history.since.push(next);
        match outcome {
            Ok(()) if is_sync => {
                history = History { certain: model.clone(), since: Vec::new() };
            }
            Ok(()) => {}
            Err(error) => {
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    assert!(file.sync_data().is_err(), "{error}, and nobody is told");
                }
                until("the file", || open(&path).map(|open| file = open).is_ok());
                model = read_back(&path);
                history.explains(&model).unwrap();
                assert!(fs::read(stage.at_node("local1/x")).unwrap() == model);
                history = History { certain: model.clone(), since: Vec::new() };
            }
        }
    }
    eprintln!("{deaths} deaths");
    drop(file);
    stage.end();
}
