//! The objects below a prefix, as the store lists them, and their contents.

use std::sync::{Arc, OnceLock};

use futures_util::StreamExt;
use object_store::ObjectMeta;

use crate::address::Address;
use crate::ahead::Ahead;
use crate::answer;
use crate::bounds::{IN_PARTS, ListingBounds};
use crate::keys::OddObject;
use crate::names::Names;
use crate::origin::{Origin, runtime};
use crate::store::StorePath;
use crate::transport::Transport;
use crate::trouble::Trouble;
use crate::waiting::Waiting;

/// The objects below a prefix, pinned to their versions. They are numbered in the order of the
/// listing.
pub struct Listing {
    address: Arc<Address>,
    /// In the order of their keys: what is in a directory follows each other.
    objects: Vec<Entry>,
    /// With its slash; empty for a whole bucket.
    prefix: String,
    reading: OnceLock<(Vec<u32>, Result<Ahead, Trouble>)>,
    stop: Box<dyn Fn() -> bool + Send + Sync>,
}

/// An object of a listing.
enum Entry {
    Readable(Arc<Origin>),
    /// Its key is no path, so that the library cannot ask for it.
    Odd(OddObject),
}

/// An object as the store lists it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// The key below the prefix, with slashes.
    pub path: &'a str,
    /// Whether the object can be read. One whose key is no path cannot be.
    pub is_readable: bool,
    /// The size in bytes.
    pub length: u64,
    /// The time of modification: seconds and nanoseconds since the start of 1970.
    pub modified: (i64, u32),
}

impl Listing {
    /// Lists the objects below the prefix `address`. `names` resolves host names; once `stop`
    /// returns true, waits end and reads fail.
    ///
    /// # Errors
    /// When the store cannot be asked; the error says what to do.
    pub fn open(
        address: &Address,
        names: Names,
        stop: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Self, Trouble> {
        let transport = Transport::new(names)?;
        let odd = transport.odd_objects();
        let bounds = transport.listing_bounds();
        let prefix = StorePath::open(address, transport)?;
        let address = Arc::new(address.clone());
        let asked = prefix.clone();
        let about = Arc::clone(&address);
        let waiting = Waiting { address: &address, stale: &stop };
        let listed = waiting.for_thread("list", move || list(&asked, &about, &bounds))?;
        let StorePath { store, path } = prefix;
        let prefix = match path.as_ref() {
            "" => String::new(),
            path => format!("{path}/"),
        };
        let readable = listed
            .into_iter()
            .map(|object| Entry::Readable(Arc::new(Origin::listed(&address, &store, object))));
        let odd = odd.all().into_iter().map(Entry::Odd);
        // An object may have the name of the prefix itself.
        let is_below = |entry: &Entry| !below(&prefix, entry.key()).is_empty();
        let mut objects: Vec<Entry> = readable.chain(odd).filter(is_below).collect();
        objects.sort_by(|one, other| one.key().cmp(other.key()));
        Ok(Self { address, objects, prefix, reading: OnceLock::new(), stop: Box::new(stop) })
    }

    /// Returns the address of the prefix.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = Listed<'_>> + Clone {
        self.objects.iter().map(|entry| {
            let ObjectMeta { last_modified, size, .. } = entry.meta();
            Listed {
                path: below(&self.prefix, entry.key()),
                is_readable: matches!(entry, Entry::Readable(_)),
                length: *size,
                modified: (last_modified.timestamp(), last_modified.timestamp_subsec_nanos()),
            }
        })
    }

    /// Starts to read the objects with these numbers, which ascend. Later calls have no effect. An
    /// object that cannot be read is left out.
    pub fn start(&self, numbers: impl FnOnce() -> Vec<u32>) {
        self.reading.get_or_init(|| {
            let origin = |number: &u32| match &self.objects[*number as usize] {
                Entry::Readable(origin) => Some(Arc::clone(origin)),
                Entry::Odd(_) => None,
            };
            let mut readable = numbers();
            readable.retain(|number| origin(number).is_some());
            let ahead = Ahead::open(readable.iter().filter_map(origin).collect(), None);
            (readable, ahead)
        });
    }

    /// Fills `bytes` with the contents of the object `number` from `offset` on, of the version that
    /// was listed.
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

impl Entry {
    fn key(&self) -> &str {
        match self {
            Self::Readable(origin) => origin.pinned.location.as_ref(),
            Self::Odd(odd) => &odd.key,
        }
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Readable(origin) => &origin.pinned,
            Self::Odd(odd) => &odd.meta,
        }
    }
}

/// Returns a key without the prefix with which it was asked for. The key of the prefix itself,
/// without its slash, gives an empty path.
fn below<'a>(prefix: &str, key: &'a str) -> &'a str {
    match key.strip_prefix(prefix) {
        Some(rest) => rest,
        None if prefix.strip_suffix('/') == Some(key) => "",
        // No store lists such a key.
        None => key,
    }
}

/// Asks a store for all objects below a prefix, which is that of `address`. Returns them in the
/// order of their keys.
fn list(
    prefix: &StorePath,
    address: &Address,
    bounds: &ListingBounds,
) -> Result<Vec<ObjectMeta>, Trouble> {
    runtime()?.block_on(async {
        let mut listed = Vec::new();
        let mut objects = prefix.store.list(Some(&prefix.path));
        while let Some(object) = objects.next().await {
            let object = object.map_err(|error| answer::trouble(&error, "list", address))?;
            let optional =
                [&object.e_tag, &object.version].map(|text| text.as_ref().map(String::len));
            let texts =
                optional.into_iter().flatten().sum::<usize>() + object.location.as_ref().len();
            bounds.keep(texts).map_err(|unbounded| {
                Trouble::new(format!("cannot list {address}: {unbounded}")).hint(IN_PARTS)
            })?;
            listed.push(object);
        }
        Ok(listed)
    })
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;
    use object_store::path::Path;

    use super::*;

    #[test]
    fn a_listing_that_takes_too_much_memory_is_refused() {
        let store = InMemory::new();
        let put = async || {
            for number in 0..10 {
                let path = Path::from(format!("k/{number}"));
                let _ = store.put(&path, "x".into()).await.expect("it has room");
            }
        };
        runtime().expect("a runtime").block_on(put());
        let prefix = StorePath { store: Arc::new(store), path: Path::from("k") };
        let address = Address::parse("s3://b/k/").expect("an address").expect("a sound one");
        let all = list(&prefix, &address, &ListingBounds::default()).expect("it is short");
        assert_eq!(all.len(), 10);
        let trouble = list(&prefix, &address, &ListingBounds::of_objects(5)).expect_err("too many");
        assert!(trouble.message().contains("cannot list s3://b/k/: the server's listing takes"));
        assert!(trouble.what_to_do().is_some_and(|hint| hint.contains("a longer prefix")));
    }
}
