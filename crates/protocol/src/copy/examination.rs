//! The examination of a node: what a copy would find on it.

use serde::{Deserialize, Serialize};

use crate::bounds;

/// What a copy would find on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examination {
    /// The release of the kernel.
    #[serde(deserialize_with = "bounds::fact")]
    pub kernel: String,
    /// The number of processors that processes may use.
    pub cores: u32,
    /// The free memory in bytes.
    pub memory_free: u64,
    /// The number of files that a process may open.
    pub open_files: u64,
    /// Conditions that affect rates, as names and values.
    #[serde(deserialize_with = "bounds::facts")]
    pub conditions: Vec<(String, String)>,
    /// The directory in which a copy would create the destination, or why nothing can be written
    /// there.
    #[serde(deserialize_with = "bounds::answer")]
    pub place: Result<PlaceFacts, String>,
}

/// A directory in which files were created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceFacts {
    /// Its path (raw bytes).
    pub path: Vec<u8>,
    /// The free space in bytes.
    pub free: u64,
    /// The name of the file system, such as `ext4`; its number in hexadecimal if it has no known
    /// name.
    #[serde(deserialize_with = "bounds::fact")]
    pub file_system: String,
}
