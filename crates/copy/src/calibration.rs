//! The CPU costs of a copy on this machine: measured in about a tenth of a second at the first use,
//! and kept in the state directory.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use garland_core::plan::NodeId;
use garland_predict::{CpuCosts, Processors};
use garland_protocol::copy::{CopyId, Frame, Keys, Kind, content_digest};
use garland_protocol::wire::Secret;
use garland_state::places::Places;
use garland_sys::{clock, private_file, socket};
use serde::{Deserialize, Serialize};

/// The bytes of each measurement.
const BYTES: usize = 4 << 20;

/// The bytes of a block, and of a write to a socket.
const BLOCK: usize = 128 << 10;

/// The number of measurements of a step, of which the fastest counts: others are disturbed.
const ROUNDS: usize = 3;

/// The costs that were measured, and by what.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    processors: usize,
    costs: CpuCosts,
}

/// Returns the processors of this machine for copies whose nodes are all on it, or each on a
/// machine like it; `None` if they cannot be measured.
pub fn measured_processors(places: &Places, is_shared: bool) -> Option<Processors> {
    let count = garland_dataplane::processors();
    let folder = places.folder("processors").ok()?;
    let file = folder.join("costs.json");
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let kept =
        std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Kept>(&text).ok());
    let kept = kept.filter(|kept| kept.version == version && kept.processors == count);
    let costs = match kept {
        Some(kept) => kept.costs,
        None => {
            let costs = measured(&folder)?;
            let kept = Kept { version, processors: count, costs };
            // If it cannot be kept, it is measured again the next time.
            let text = serde_json::to_vec_pretty(&kept).ok()?;
            let _ = private_file::replace_unsynced(&file, &text);
            costs
        }
    };
    Some(Processors { costs, count: count as f64, is_shared })
}

/// Measures the costs, with a temporary file in `folder`.
fn measured(folder: &Path) -> Option<CpuCosts> {
    let mut bytes = vec![0x5a; BYTES];
    let hash = cost(|| {
        bytes.chunks(BLOCK).for_each(|block| _ = black_box(content_digest(block)));
        Some(())
    })?;
    let copy = CopyId([0; 16]);
    let keys = Keys::new(&Secret([0; 32]), copy);
    let frame = Frame { sealed: true, ..Frame::bare(Kind::Block, copy, 0, 0) };
    let header = frame.to_bytes(&keys);
    let sealer = keys.sealer(NodeId(0), 0, 0);
    let seal = cost(|| {
        // The bytes leave this process nowhere, so a nonce may be used again.
        let seal = |block: &mut [u8]| _ = black_box(sealer.seal(&frame, &header, block));
        bytes.chunks_mut(BLOCK).for_each(seal);
        Some(())
    })?;
    let path = folder.join(format!("tmp{}", std::process::id()));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).ok()?;
    // Without a name the file ends with this process, however it ends.
    std::fs::remove_file(&path).ok()?;
    let copied = cost(|| {
        file.set_len(0).ok()?;
        file.seek(SeekFrom::Start(0)).ok()?;
        file.write_all(&bytes).ok()?;
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_exact(&mut bytes).ok()
    })?;
    let (near, far) = socket::pair().ok()?;
    let stream = cost(|| {
        // What is not yet received must fit into the buffers of the socket.
        bytes.chunks_mut(BLOCK).try_for_each(|block| {
            (&*near).write_all(block).ok()?;
            (&*far).read_exact(block).ok()
        })
    })?;
    Some(CpuCosts { copy: copied / 2.0, hash, seal, stream })
}

/// Returns the CPU time of this thread per byte if `work` handles [`BYTES`] bytes, in seconds.
fn cost(mut work: impl FnMut() -> Option<()>) -> Option<f64> {
    let mut once = || {
        let before = clock::thread_cpu_ns();
        work()?;
        Some(clock::thread_cpu_ns() - before)
    };
    let all: Option<Vec<u64>> = (0..ROUNDS).map(|_| once()).collect();
    Some(all?.into_iter().min()? as f64 / 1e9 / BYTES as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_measured_in_a_moment() {
        let before = clock::thread_cpu_ns();
        let costs = measured(&std::env::temp_dir()).expect("a machine with loopback");
        assert!(clock::thread_cpu_ns() - before < 2_000_000_000);
        let CpuCosts { copy, hash, seal, stream } = costs;
        for cost in [copy, hash, seal, stream] {
            assert!((1e-12..1e-6).contains(&cost), "{costs:?}");
        }
    }
}
