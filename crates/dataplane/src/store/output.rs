//! The agent's standard output as a destination. It is a stream: blocks are written in order and
//! cannot be withdrawn.

use std::io::{self, Write};

use super::{Store, StoreError};
use crate::recorder::Collector;

/// Writes blocks to standard output.
pub struct OutputStore;

impl Store for OutputStore {
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        io::stdout().lock().write_all(bytes)
    }

    fn commit(&self, _: &Collector) -> Result<(), StoreError> {
        let flushed = io::stdout().flush();
        flushed.map_err(|error| StoreError::path("write to", self.name(), &error))
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "standard output".to_owned()
    }
}
