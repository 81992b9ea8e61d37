//! The objects below a prefix, as the store lists them, and their contents.

use std::sync::{Arc, OnceLock};

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use crate::address::Address;
use crate::ahead::Ahead;
use crate::answer;
use crate::names::Names;
use crate::origin::{Origin, runtime};
use crate::store;
use crate::trouble::Trouble;
use crate::waiting::Waiting;

/// The objects below a prefix, pinned to their versions. They are numbered in the order of the listing.
pub struct Listing {
    address: Arc<Address>,
    objects: Vec<Arc<Origin>>,
    /// The length of the prefix in the objects' keys, with its slash.
    prefix: usize,
    reading: OnceLock<(Vec<u32>, Result<Ahead, Trouble>)>,
    stop: Box<dyn Fn() -> bool + Send + Sync>,
}

/// An object as the store lists it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The key below the prefix, with slashes.
    pub path: &'a str,
    /// The size in bytes.
    pub length: u64,
    /// The time of modification: seconds and nanoseconds since the start of 1970.
    pub modified: (i64, u32),
}

impl Listing {
    /// Lists the objects below the prefix `address`. `names` resolves host names; once `stop` returns true,
    /// waits end and reads fail.
    ///
    /// # Errors
    /// When the store cannot be asked; the error says what to do.
    pub fn open(
        address: &Address,
        names: Names,
        stop: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Self, Trouble> {
        let (store, path) = store::of(address, names)?;
        let address = Arc::new(address.clone());
        let (asked, about) = ((Arc::clone(&store), path.clone()), Arc::clone(&address));
        let waiting = Waiting { address: &address, stale: &stop };
        let mut listed = waiting.for_thread("list", move || list(asked, &about))?;
        let prefix = path.as_ref().len();
        let prefix = if prefix == 0 { 0 } else { prefix + 1 };
        // An object may have the name of the prefix itself.
        listed.retain(|object| object.location.as_ref().len() > prefix);
        let objects = listed.into_iter();
        let objects = objects.map(|object| Arc::new(Origin::listed(&address, &store, object)));
        let objects = objects.collect();
        Ok(Self { address, objects, prefix, reading: OnceLock::new(), stop: Box::new(stop) })
    }

    /// Returns the address of the prefix.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = Listed<'_>> + Clone {
        self.objects.iter().map(|object| {
            let ObjectMeta { location, last_modified, size, .. } = &object.pinned;
            let modified = (last_modified.timestamp(), last_modified.timestamp_subsec_nanos());
            Listed { path: &location.as_ref()[self.prefix..], length: *size, modified }
        })
    }

    /// Starts to read the objects with these numbers, which ascend. Later calls have no effect.
    pub fn start(&self, numbers: impl FnOnce() -> Vec<u32>) {
        self.reading.get_or_init(|| {
            let numbers = numbers();
            let origin = |number: &u32| Arc::clone(&self.objects[*number as usize]);
            let ahead = Ahead::of(numbers.iter().map(origin).collect(), None);
            (numbers, ahead)
        });
    }

    /// Fills `bytes` with the contents of the object `number` from `offset` on, of the version that was
    /// listed.
    ///
    /// # Errors
    /// When they cannot be read, or the object has changed.
    pub fn fill(&self, number: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        let waiting = Waiting { address: &self.address, stale: &self.stop };
        let Some((numbers, ahead)) = self.reading.get() else {
            return Err(Trouble::new("the objects are not being read"));
        };
        let ahead = ahead.as_ref().map_err(Clone::clone)?;
        match numbers.binary_search(&number) {
            Ok(at) => ahead.read(at, offset, bytes, &waiting),
            Err(_) => Err(Trouble::new("the object is not being read")),
        }
    }
}

/// Asks a store for all objects below a prefix. Returns them in the order of their keys.
fn list(
    (store, prefix): (Arc<dyn ObjectStore>, Path),
    address: &Address,
) -> Result<Vec<ObjectMeta>, Trouble> {
    runtime()?.block_on(async {
        let mut listed = Vec::new();
        let mut objects = store.list(Some(&prefix));
        while let Some(object) = objects.next().await {
            listed.push(object.map_err(|error| answer::trouble(&error, "list", address))?);
        }
        Ok(listed)
    })
}
