//! The program for nodes, `garland-node`, which `garland` carries at the end of its own file,
//! compressed by gzip, and in which form it travels.
//!
//! It follows the segments and sections of the file, so that it takes no memory of a running
//! program. The file ends with a trailer of 88 bytes: [`MAGIC`], the length of the compressed
//! program as a 64-bit little-endian number, the SHA-256 digest of the program as it runs, and that
//! of its compressed form.

use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aws_lc_rs::digest::{SHA256, digest};
use garland_sys::new_file::NewFile;
use garland_sys::regular_file;

use super::image::{Image, RUNNING};

const MAGIC: &[u8; 16] = b"garland-node 1\n\0";

/// The length of the trailer in bytes.
const TRAILER: usize = 88;

/// A compressed program at the end of a file.
#[derive(Debug)]
pub struct Carried {
    file: File,
    /// Where it begins in the file.
    offset: u64,
    length: u64,
    digest: [u8; 32],
    digest_compressed: [u8; 32],
}

impl Carried {
    /// Finds the program that the running program carries; none if it was built without one.
    ///
    /// # Errors
    /// When the running program's file cannot be read.
    pub fn running() -> io::Result<Option<Self>> {
        Self::find_in(File::open(RUNNING)?)
    }

    /// Finds the program that the program in `file` carries.
    fn find_in(file: File) -> io::Result<Option<Self>> {
        let Some(end) = file.metadata()?.len().checked_sub(TRAILER as u64) else { return Ok(None) };
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, end)?;
        let mut length = [0; 8];
        let mut digest = [0; 32];
        let mut digest_compressed = [0; 32];
        length.copy_from_slice(&trailer[16..24]);
        digest.copy_from_slice(&trailer[24..56]);
        digest_compressed.copy_from_slice(&trailer[56..]);
        let length = u64::from_le_bytes(length);
        let offset = end.checked_sub(length).filter(|_| trailer.starts_with(MAGIC));
        Ok(offset.map(|offset| Self { file, offset, length, digest, digest_compressed }))
    }

    /// Returns the length of the compressed program in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the SHA-256 digest of the program as it runs.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns the compressed program.
    ///
    /// # Errors
    /// When the file cannot be read; `InvalidData` if it has been damaged since it was written.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.offset))?;
        file.take(self.length).read_to_end(&mut bytes)?;
        if sha256(&bytes) != self.digest_compressed {
            let why = "its file is damaged, and the program for nodes in it has other bytes; install garland again";
            return Err(Error::new(ErrorKind::InvalidData, why));
        }
        Ok(bytes)
    }
}

/// Opens the program as it travels to nodes, from the running program: what it carries; what lies
/// beside it, as nodes keep it; or the running program itself.
///
/// # Errors
/// When the running program's file cannot be read or is damaged.
pub fn for_nodes() -> io::Result<Box<dyn Read>> {
    if let Some(carried) = Carried::running()? {
        return Ok(Box::new(io::Cursor::new(carried.bytes()?)));
    }
    match fs::read_link(RUNNING).and_then(|path| regular_file::open(&beside(&path))) {
        Ok(file) => Ok(Box::new(file)),
        Err(_) => Ok(Box::new(Image::running()?)),
    }
}

/// Returns the path at which nodes keep the compressed form of the program at `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Writes the running program to the file `output`, with the program for nodes in the file `node`.
/// `output` may be the running program's own file.
///
/// # Errors
/// When a file cannot be read or written, or gzip fails.
pub fn carry(node: &Path, output: &Path) -> io::Result<()> {
    let mut bytes = Vec::new();
    Image::read(File::open(node)?)?.read_to_end(&mut bytes)?;
    let gzipped = packed(&bytes, output)?;
    let own = File::open(RUNNING)?;
    let whole = own.metadata()?;
    // It may carry one already.
    let length = Carried::find_in(own.try_clone()?)?.map_or(whole.len(), |carried| carried.offset);
    // Others may write to the same name at the same time, or to its directory.
    let written = NewFile::create(output)?;
    let mut file = written.file();
    io::copy(&mut own.take(length), &mut file)?;
    file.write_all(&gzipped)?;
    file.write_all(MAGIC)?;
    file.write_all(&(gzipped.len() as u64).to_le_bytes())?;
    file.write_all(&sha256(&bytes))?;
    file.write_all(&sha256(&gzipped))?;
    file.set_permissions(whole.permissions())?;
    written.commit()
}

/// Returns `bytes` as gzip compresses them. They are in a file beside `output` meanwhile: gzip
/// could block while this process writes to it.
fn packed(bytes: &[u8], output: &Path) -> io::Result<Vec<u8>> {
    let plain = NewFile::create(output)?;
    plain.file().write_all(bytes)?;
    let input = File::open(format!("/proc/self/fd/{}", plain.file().as_raw_fd()))?;
    let mut gzip = Command::new("gzip");
    let packed = gzip.arg("-nc").stdin(input).stderr(Stdio::inherit()).output()?;
    match packed.status.success() {
        true => Ok(packed.stdout),
        false => Err(Error::other(format!("gzip failed: {}", packed.status))),
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    sum.copy_from_slice(digest(&SHA256, bytes).as_ref());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_written_beside_each_other_do_not_mix() {
        let folder = std::env::temp_dir().join(format!("garland-carriers-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        std::thread::scope(|scope| {
            // The first name would be the second's part if what follows its dot were replaced.
            for output in ["carrier.part", "carrier.1"] {
                let output = folder.join(output);
                scope.spawn(move || carry(Path::new("/bin/true"), &output).unwrap());
            }
        });
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["carrier.1", "carrier.part"]);
        for name in names {
            let carried = Carried::find_in(File::open(folder.join(name)).unwrap())
                .unwrap()
                .expect("it was written");
            carried.bytes().unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_carried_program_is_found_and_checked() {
        let path = std::env::temp_dir().join(format!("garland-carried-{}", std::process::id()));
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        assert!(Carried::running().unwrap().is_none(), "a test carries nothing");
        carry(Path::new("/bin/true"), &path).unwrap();
        let carried = Carried::find_in(open()).unwrap().expect("it was written");
        let mut program = Vec::new();
        Image::read(File::open("/bin/true").unwrap()).unwrap().read_to_end(&mut program).unwrap();
        assert_eq!(*carried.digest(), sha256(&program));
        assert_eq!(carried.bytes().unwrap().len() as u64, carried.length());
        open().write_all_at(b"another", carried.offset + 9).unwrap();
        assert!(carried.bytes().unwrap_err().to_string().starts_with("its file is damaged"));
        // A length that is longer than the file is none.
        open().write_all_at(&[0xff; 8], carried.offset + carried.length + 16).unwrap();
        assert!(Carried::find_in(open()).unwrap().is_none());
        fs::remove_file(path).unwrap();
    }
}
