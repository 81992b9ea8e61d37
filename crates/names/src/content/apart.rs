//! Files on FUSE file systems of this machine, which are read by processes of their own. The kernel
//! does not let a process end that has a thread waiting for such a file system; one that hangs
//! would keep a `garland get` that has copied all from elsewhere. Its reader is left behind
//! instead.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use garland_sys::confine::{Root, find_itself, open_found};
use garland_sys::sync::Mutex;
use garland_sys::{error, inherited, signal};

/// The running program; a reader is one of its hidden commands.
const PROGRAM: &str = "/proc/self/exe";

/// The word of the hidden command.
const WORD: &str = "names-reader";

/// The longest path and the longest text of an error, in bytes.
const TEXT_MAX: usize = 1 << 16;

/// The files of one holder. Each thread that reads has a reader of its own.
#[derive(Default)]
pub struct Apart {
    idle: Mutex<Vec<Reader>>,
}

/// A process that reads files. It ends when this is dropped, and what it waits for has come.
struct Reader {
    requests: ChildStdin,
    answers: ChildStdout,
}

impl Apart {
    /// Returns the length of the regular file at `path`, a path below `/`.
    ///
    /// # Errors
    /// When it is something else or cannot be opened.
    pub fn length(&self, path: &[u8]) -> io::Result<u64> {
        let mut length = [0; 8];
        self.ask(path, None, &mut length)?;
        Ok(u64::from_le_bytes(length))
    }

    /// Fills `bytes` with those of the file at `path` from `offset` on.
    ///
    /// # Errors
    /// When the file cannot be read, or is too short.
    pub fn read(&self, path: &[u8], offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.ask(path, Some(offset), bytes)
    }

    fn ask(&self, path: &[u8], offset: Option<u64>, bytes: &mut [u8]) -> io::Result<()> {
        let idle = self.idle.lock().pop();
        let mut reader = idle.map_or_else(Reader::start, Ok)?;
        let answered = reader.ask(path, offset, bytes)?;
        self.idle.lock().push(reader);
        answered.map_err(io::Error::other)
    }
}

impl Reader {
    fn start() -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.arg(WORD).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // A terminal's Ctrl-C is for the command, with whose pipes its readers end.
        command.process_group(0);
        signal::release_in(&mut command);
        let mut child = command.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => Ok(Self { requests, answers }),
            _ => Err(io::Error::other("it has no pipes")),
        }
    }

    /// Sends a request, and fills `bytes` from the answer. Without an offset that is the length.
    ///
    /// # Errors
    /// When the process is gone. The inner error is why it could not read.
    fn ask(
        &mut self,
        path: &[u8],
        offset: Option<u64>,
        bytes: &mut [u8],
    ) -> io::Result<Result<(), String>> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let request = Request { path: path.to_vec(), offset, length };
        self.requests.write_all(&request.to_bytes()?)?;
        let [failed, rest @ ..] = read_array::<5>(&mut self.answers)?;
        if failed == 0 {
            return self.answers.read_exact(bytes).map(Ok);
        }
        let length = u32::from_le_bytes(rest) as usize;
        let mut why = vec![0; length.min(TEXT_MAX)];
        self.answers.read_exact(&mut why)?;
        Ok(Err(String::from_utf8_lossy(&why).into_owned()))
    }
}

/// What a reader is asked for: bytes of a file, or its length.
struct Request {
    path: Vec<u8>,
    /// `None` for the length.
    offset: Option<u64>,
    length: u32,
}

impl Request {
    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let path_length = u32::try_from(self.path.len()).map_err(io::Error::other)?;
        let mut bytes = path_length.to_le_bytes().to_vec();
        bytes.extend(&self.path);
        bytes.push(u8::from(self.offset.is_some()));
        bytes.extend(self.offset.unwrap_or(0).to_le_bytes());
        bytes.extend(self.length.to_le_bytes());
        Ok(bytes)
    }

    /// Reads the next request; `None` at the end of the input.
    fn read_from(input: &mut impl Read) -> io::Result<Option<Self>> {
        let path_length = match read_array(input) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            length => u32::from_le_bytes(length?) as usize,
        };
        if path_length > TEXT_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut path = vec![0; path_length];
        input.read_exact(&mut path)?;
        let [has_offset] = read_array(input)?;
        let offset = u64::from_le_bytes(read_array(input)?);
        let length = u32::from_le_bytes(read_array(input)?);
        Ok(Some(Self { path, offset: (has_offset != 0).then_some(offset), length }))
    }
}

fn read_array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Runs the hidden command if `words`, the program's name first, are those of it: reads files for
/// another process of this program until standard input ends. Returns `None` for all other words.
pub fn main(words: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    if !words.into_iter().skip(1).eq([WORD]) {
        return None;
    }
    let served =
        inherited::input().and_then(|input| serve(&mut input.lock(), &mut io::stdout().lock()));
    Some(match served {
        Ok(()) => ExitCode::SUCCESS,
        // The command that asks has ended.
        Err(_) => ExitCode::FAILURE,
    })
}

fn serve(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    // Requests for blocks of one file follow each other.
    let mut open: Option<(Vec<u8>, File)> = None;
    while let Some(request) = Request::read_from(input)? {
        match answer(&request, &mut open) {
            Ok(bytes) => {
                output.write_all(&[0; 5])?;
                output.write_all(&bytes)?;
            }
            Err(error) => {
                let why = error::reason(&error);
                let length = u32::try_from(why.len()).map_err(io::Error::other)?;
                output.write_all(&[&[1], &length.to_le_bytes()[..], why.as_bytes()].concat())?;
            }
        }
        output.flush()?;
    }
    Ok(())
}

fn answer(request: &Request, open: &mut Option<(Vec<u8>, File)>) -> io::Result<Vec<u8>> {
    let known = open.take().filter(|(path, _)| *path == request.path);
    let (_, file) = match known {
        Some(known) => open.insert(known),
        None => open.insert((request.path.clone(), open_regular(&request.path)?)),
    };
    match request.offset {
        None => Ok(file.metadata()?.len().to_le_bytes().to_vec()),
        Some(offset) => {
            let mut bytes = vec![0; request.length as usize];
            file.read_exact_at(&mut bytes, offset)?;
            Ok(bytes)
        }
    }
}

/// Opens the regular file with this path below `/`; if it is something else, it is looked at only.
pub fn open_regular(path: &[u8]) -> io::Result<File> {
    let found = find_itself(Root::Free.top()?, Path::new(OsStr::from_bytes(path)))?;
    let file = File::from(open_found(&found)?);
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is no regular file"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn files_are_read_in_pieces_and_errors_are_told() {
        let path = std::env::temp_dir().join(format!("garland-apart-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").unwrap();
        let path = path.into_os_string().into_vec();
        let request = |path: &[u8], offset, length| {
            Request { path: path[1..].to_vec(), offset, length }.to_bytes().unwrap()
        };
        let requests = [
            request(&path, None, 8),
            request(&path, Some(3), 4),
            request(&path, Some(8), 4),
            request(b"/no/such", None, 8),
            request(&path, Some(0), 1),
        ];
        let mut said = Vec::new();
        serve(&mut &requests.concat()[..], &mut said).unwrap();
        std::fs::remove_file(OsStr::from_bytes(&path)).unwrap();
        let mut said = &said[..];
        let mut hear = |length: usize| {
            let [failed, rest @ ..] = read_array::<5>(&mut said).unwrap();
            let length = if failed == 0 { length } else { u32::from_le_bytes(rest) as usize };
            let mut bytes = vec![0; length];
            said.read_exact(&mut bytes).unwrap();
            (failed, bytes)
        };
        assert_eq!(hear(8), (0, 10_u64.to_le_bytes().to_vec()));
        assert_eq!(hear(4), (0, b"3456".to_vec()));
        assert_eq!(hear(4).0, 1, "it ends before");
        let (failed, why) = hear(8);
        assert!(failed == 1 && why.starts_with(b"no such file"), "{why:?}");
        assert_eq!(hear(1), (0, b"0".to_vec()));
        assert!(said.is_empty());
    }
}
