//! A command that nodes run (`garland exec`), and its standard input, which the head sends as fast
//! as the slowest of the commands reads.

use serde::{Deserialize, Serialize};

/// The maximum number of bytes of input that are on their way to a command, or wait for it on its
/// node.
pub const INPUT_WINDOW: u64 = 256 << 10;

/// The maximum number of bytes of input in one message.
pub const INPUT_PIECE: usize = 32 << 10;

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOrder {
    /// The program and its arguments (raw bytes).
    pub words: Vec<Vec<u8>>,
    /// Whether `Input` follows. Otherwise the command's standard input is empty.
    pub has_input: bool,
}

/// What a node tells of the input of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputNews {
    /// So many bytes in all have been passed on to the command, or were dropped since it reads no
    /// more.
    Taken(u64),
    /// The command has ended, and has read so many bytes in all.
    Read(u64),
}
