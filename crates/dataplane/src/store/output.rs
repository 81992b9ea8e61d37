//! The agent's standard output: a stream, so blocks come in order and nothing can be taken back.

use std::io::{self, Write};

use super::{Store, StoreError};
use crate::recorder::Collector;

/// Passes bytes on as they come.
pub struct OutputStore;

impl Store for OutputStore {
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        io::stdout().lock().write_all(bytes)
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn commit(&self, _: &Collector) -> Result<(), StoreError> {
        io::stdout().flush().map_err(|error| StoreError::Path {
            operation: "writing to",
            path: self.name(),
            reason: garland_sys::error::reason(&error),
        })
    }

    fn abandon(&self) {}

    fn is_holder(&self) -> bool {
        false
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "standard output".to_owned()
    }
}
