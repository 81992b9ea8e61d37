//! `/dev/null`: bytes are checked and dropped, to measure the network alone.

use std::io;

use super::{Store, StoreError};
use crate::recorder::Collector;

/// Holds nothing.
pub struct NullStore;

impl Store for NullStore {
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn write_zeros(&self, _: u64, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn commit(&self, _: &Collector) -> Result<(), StoreError> {
        Ok(())
    }

    fn abandon(&self) {}

    fn is_holder(&self) -> bool {
        false
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn name(&self) -> String {
        "/dev/null".to_owned()
    }
}
