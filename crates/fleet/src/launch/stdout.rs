//! For a copy to standard output: forwards the bytes from the launcher's output.

use std::io::{self, ErrorKind, Read, Write};

/// The maximum length in bytes of the script's last line, such as `ENDED 255`.
const LAST_LINE: usize = 16;

/// Copies `output` to `to`. If `marked`, removes the script's last line, which follows the bytes.
/// srun forwards only complete lines reliably; this line shows that no bytes are lost.
///
/// # Errors
/// When reading or writing fails; `UnexpectedEof` when the last line is missing.
pub fn pass_on(output: &mut impl Read, to: &mut impl Write, marked: bool) -> io::Result<()> {
    if !marked {
        io::copy(output, to)?;
        return to.flush();
    }
    let mut buffer = vec![0; 64 << 10];
    let mut held = Vec::new();
    loop {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        held.extend(&buffer[..read]);
        let sure = held.len().saturating_sub(LAST_LINE);
        to.write_all(&held[..sure])?;
        held.drain(..sure);
    }
    let end = last_line(&held);
    to.write_all(&held[..end.unwrap_or(held.len())])?;
    to.flush()?;
    end.map(drop).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

/// Returns the offset of the script's last line at the end of `held`; none if it is incomplete.
fn last_line(held: &[u8]) -> Option<usize> {
    const WORD: &[u8] = b"ENDED ";
    let at = held.windows(WORD.len()).rposition(|part| part == WORD)?;
    let status = held[at + WORD.len()..].strip_suffix(b"\n")?;
    (!status.is_empty() && status.iter().all(u8::is_ascii_digit)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(output: &[u8], marked: bool) -> (Vec<u8>, bool) {
        let mut to = Vec::new();
        let whole = pass_on(&mut &*output, &mut to, marked).is_ok();
        (to, whole)
    }

    #[test]
    fn the_scripts_last_line_is_removed() {
        let long = vec![b'E'; 200_000];
        for bytes in [&b""[..], b"x", b"ENDED ", b"ENDED 0\n", &long] {
            let marked = [bytes, b"ENDED 0\n"].concat();
            assert_eq!(passed(&marked, true), (bytes.to_vec(), true));
            assert_eq!(passed(bytes, false), (bytes.to_vec(), true));
        }
        assert_eq!(passed(b"half a line", true), (b"half a line".to_vec(), false));
    }
}
