//! Sound files of generated sound: 16-bit stereo at 44 100 samples per second, as on a compact
//! disc, in a RIFF file (Microsoft and IBM, Multimedia programming interface and data
//! specifications 1.0, 1991).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use garland_core::printable;
use garland_terminal::failure::{Failure, OrFailure};

/// Samples per second.
const SAMPLES: u32 = 44_100;

/// Bytes of one sample of both channels.
const FRAME: u32 = 4;

/// Bytes of the header.
pub const HEADER: u64 = 44;

/// Checks that the encoder can be started.
pub fn find_encoder(program: &str) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(drop).map_err(|error| {
        Failure::nothing(format!("failed to start {program}: {error}"))
            .hint(format!("install it; on Debian, run apt-get install {program}"))
    })
}

/// Writes a sound file of about `length` bytes: two tones of varying pitch and noise, so that
/// encoding takes as long as for music. Files of equal length are equal.
pub fn write(path: &Path, length: u64) -> Result<(), Failure> {
    let making = || format!("failed to write {}", printable::path(path));
    let frames = length.saturating_sub(HEADER) / u64::from(FRAME);
    let bytes = u32::try_from(frames * u64::from(FRAME)).or_nothing(making())?;
    let mut file = BufWriter::with_capacity(1 << 18, File::create(path).or_nothing(making())?);
    file.write_all(&header(bytes)).or_nothing(making())?;
    let mut noise: u32 = 1;
    for at in 0..frames {
        let time = at as f64 / f64::from(SAMPLES);
        let turn = std::f64::consts::TAU * time;
        let low = 6000.0 * (440.0 * turn + 3.0 * (0.3 * turn).sin()).sin();
        let high = 3000.0 * (660.0 * turn + 20.0 * (0.2 * turn).sin()).sin();
        for share in [1.0, 0.7] {
            // The noise comes from a linear congruential generator (Numerical Recipes).
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let hiss = f64::from(noise >> 16) / 32.0 - 1024.0;
            let sample = ((low + high) * share + hiss) as i16;
            file.write_all(&sample.to_le_bytes()).or_nothing(making())?;
        }
    }
    file.flush().or_nothing(making())
}

/// Returns the header of a file with `bytes` bytes of sound.
fn header(bytes: u32) -> Vec<u8> {
    let riff_bytes = bytes.saturating_add(HEADER as u32 - 8);
    // PCM with two channels.
    let format = 1_u16;
    let channels = 2_u16;
    [
        &b"RIFF"[..],
        &riff_bytes.to_le_bytes(),
        b"WAVEfmt ",
        &16_u32.to_le_bytes(),
        &format.to_le_bytes(),
        &channels.to_le_bytes(),
        &SAMPLES.to_le_bytes(),
        &(SAMPLES * FRAME).to_le_bytes(),
        &(FRAME as u16).to_le_bytes(),
        &16_u16.to_le_bytes(),
        b"data",
        &bytes.to_le_bytes(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_matches_the_file() {
        let directory = std::env::temp_dir().join(format!("garland-wave-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("x.wav");
        write(&path, 100_001).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(4) as usize, bytes.len() - 8);
        assert_eq!(word(40) as usize, bytes.len() - HEADER as usize);
        assert_eq!(bytes.len(), 100_000);
        let loud = bytes[44..].chunks(2).map(|two| i16::from_le_bytes([two[0], two[1]]).abs());
        assert!((5000..12_000).contains(&loud.max().unwrap()));
    }
}
