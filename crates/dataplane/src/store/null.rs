//! `/dev/null` as a destination: blocks are verified and dropped, to measure the network alone.

use std::io;

use super::{Store, StoreError};
use crate::recorder::Collector;

/// A store that drops all bytes.
pub struct NullStore;

impl Store for NullStore {
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn write_zeros(&self, _: u64, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn commit(&self, _: &Collector) -> Result<(), StoreError> {
        Ok(())
    }

    fn name(&self) -> String {
        "/dev/null".to_owned()
    }
}
