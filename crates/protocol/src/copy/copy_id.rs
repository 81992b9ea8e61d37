//! The identity of a copy.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The identity of one copy: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CopyId(pub [u8; 16]);

impl fmt::Debug for CopyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
