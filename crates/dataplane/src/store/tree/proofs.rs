//! The digests of all files of a tree. They are stored in a file without a name until the files are
//! read back: in memory they would take space in proportion to the tree.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use garland_protocol::copy::{Checksum, Summing};
use garland_sys::error::reason;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, unlinkat};

use super::directory;
use super::trouble::Troubles;
use crate::store::forget::forget;
use crate::store::left::partial_name;
use crate::tree::open_file;

/// The number of bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// After this number of wrong files, no further files are read.
const WRONG_MAX: usize = 5;

/// The records of all digests, in a file without a name.
pub struct Proofs {
    top: OwnedFd,
    tag: String,
    /// The file, from the first digest on.
    notes: Option<BufWriter<File>>,
}

/// A record: the digest of one file.
struct Proof {
    /// The path of the file relative to the top directory.
    path: Vec<u8>,
    length: u64,
    digest: [u8; 32],
}

impl Proofs {
    /// Returns no records. The file for them is created in the directory `top` with the first one:
    /// by then the tree has made it writable if it is its own. The name of the file contains `tag`.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new(top: &OwnedFd, tag: &str) -> io::Result<Self> {
        Ok(Self { top: top.try_clone()?, tag: tag.to_owned(), notes: None })
    }

    /// Records path, length and digest of a complete file.
    ///
    /// # Errors
    /// When the record cannot be stored.
    pub fn note(&mut self, path: &[u8], length: u64, digest: [u8; 32]) -> io::Result<()> {
        let words = u32::try_from(path.len()).map_err(io::Error::other)?;
        let notes =
            match &mut self.notes {
                Some(notes) => notes,
                none => none.insert(BufWriter::new(nameless(&self.top, &self.tag).map_err(
                    |error| io::Error::other(format!("cannot store digests: {}", reason(&error))),
                )?)),
            };
        notes.write_all(&words.to_le_bytes())?;
        notes.write_all(path)?;
        notes.write_all(&length.to_le_bytes())?;
        notes.write_all(&digest)
    }

    /// Reads every recorded file below `top` from the medium and compares its digest. Adds an error
    /// to `troubles` for each file that differs. Fails if `over` returns true, since the copy has
    /// ended.
    pub fn check(
        &mut self,
        top: &OwnedFd,
        over: &dyn Fn() -> bool,
        troubles: &mut Troubles,
    ) -> io::Result<()> {
        let Some(notes) = &mut self.notes else { return Ok(()) };
        notes.flush()?;
        let file = notes.get_ref();
        let mut reader = BufReader::new(Notes { file, at: 0 });
        let mut at = 0;
        let mut wrong = 0;
        while let Some(proof) = Proof::read(&mut reader)? {
            if over() {
                return Err(io::Error::other(
                    "the copy ended while its files were being read back",
                ));
            }
            at += proof.size();
            let found = digest_of(top, &proof);
            // Of several records with one path only the last one describes the current file.
            if found.as_ref().is_ok_and(|found| *found == proof.digest)
                || is_noted_again(file, at, &proof.path)?
            {
                continue;
            }
            let error = found.err().unwrap_or_else(|| {
                let differs = "its content on the disk differs from what was written";
                io::Error::other(format!("{differs}; check the disk"))
            });
            troubles.note(&proof.path, &error)?;
            wrong += 1;
            if wrong == WRONG_MAX {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A reader of the records from the offset `at` on. It does not use the position of `file`.
struct Notes<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Notes<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(bytes, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Proof {
    /// Reads the next record; none at the end.
    fn read(notes: &mut BufReader<Notes<'_>>) -> io::Result<Option<Self>> {
        let mut words = [0; 4];
        match notes.read_exact(&mut words) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut path = vec![0; u32::from_le_bytes(words) as usize];
        let mut length = [0; 8];
        let mut digest = [0; 32];
        notes.read_exact(&mut path)?;
        notes.read_exact(&mut length)?;
        notes.read_exact(&mut digest)?;
        Ok(Some(Self { path, length: u64::from_le_bytes(length), digest }))
    }

    /// Returns the length of the record in bytes.
    fn size(&self) -> u64 {
        4 + self.path.len() as u64 + 8 + 32
    }
}

/// Creates a file in the directory `top`, and removes its name, which contains `tag`.
fn nameless(top: &OwnedFd, tag: &str) -> io::Result<File> {
    let name = partial_name("proofs".as_ref(), tag);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let own = Mode::from_raw_mode(0o600);
    let fd = openat(top, &name, flags | OFlags::CLOEXEC, own)?;
    unlinkat(top, &name, AtFlags::empty())?;
    Ok(File::from(fd))
}

fn is_noted_again(file: &File, at: u64, path: &[u8]) -> io::Result<bool> {
    let mut reader = BufReader::new(Notes { file, at });
    while let Some(proof) = Proof::read(&mut reader)? {
        if proof.path == path {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the digest of the file's bytes on the medium. Fails if the type or length of the file
/// has changed.
fn digest_of(top: &OwnedFd, proof: &Proof) -> io::Result<[u8; 32]> {
    let mut names: Vec<&[u8]> = proof.path.split(|&byte| byte == b'/').collect();
    let name = names.pop().unwrap_or_default();
    let folder = directory::descend(top, names)?;
    let file = open_file(&folder, name)?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
        || u64::try_from(stat.st_size) != Ok(proof.length)
    {
        return Err(io::Error::other("its type or length differs from what was written"));
    }
    forget(&file)?;
    let mut summing = Summing::new(Checksum::B3);
    let mut piece = vec![0; PIECE.min(usize::try_from(proof.length).unwrap_or(PIECE)).max(1)];
    let mut at = 0;
    while at < proof.length {
        match file.read_at(&mut piece, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => {
                summing.update(&piece[..got]);
                at += got as u64;
            }
        }
    }
    Ok(summing.finish())
}
