//! An open object and its version. All reads return bytes of that version.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use tokio::runtime::Runtime;

use crate::address::Address;
use crate::answer;
use crate::store::StorePath;
use crate::trouble::Trouble;

/// The number of times that an interrupted read is resumed.
const RESUMES: u32 = 4;

/// The pause before the first resumption; it doubles each time.
const PAUSE: Duration = Duration::from_millis(100);

/// The stream of the bytes of a range.
pub(crate) type Stream = BoxStream<'static, object_store::Result<Bytes>>;

/// An object, pinned to the version that was opened.
pub(crate) struct Origin {
    /// Its address, or that of the prefix with which it was listed.
    pub(crate) address: Arc<Address>,
    store: Arc<dyn ObjectStore>,
    pub(crate) pinned: ObjectMeta,
}

/// An object that was just opened, with the stream of its first bytes.
pub(crate) struct Opened {
    pub(crate) origin: Origin,
    pub(crate) stream: Stream,
    /// Whether the server supports ranges. If true, `stream` is the first part of the object,
    /// otherwise the whole object.
    pub(crate) in_ranges: bool,
}

/// Creates a runtime for the calling thread, which runs one operation at a time.
pub(crate) fn runtime() -> Result<Runtime, Trouble> {
    let built = tokio::runtime::Builder::new_current_thread().enable_time().build();
    built.map_err(|error| Trouble::new(format!("cannot start to read: {error}")))
}

impl Origin {
    /// Creates the object `listed` below the prefix `address`.
    pub(crate) fn listed(
        address: &Arc<Address>,
        store: &Arc<dyn ObjectStore>,
        mut listed: ObjectMeta,
    ) -> Self {
        // Some stores list tags without the quotes that belong to them in headers.
        let is_bare = |tag: &String| !tag.starts_with('"') && !tag.starts_with("W/");
        listed.e_tag =
            listed.e_tag.map(|tag| if is_bare(&tag) { format!("\"{tag}\"") } else { tag });
        Self { address: Arc::clone(address), store: Arc::clone(store), pinned: listed }
    }

    /// Opens the object `at` a place, which `address` names, and requests its first `part` bytes.
    pub(crate) async fn open(
        address: &Address,
        at: StorePath,
        part: u64,
    ) -> Result<Opened, Trouble> {
        let StorePath { store, path } = at;
        let trouble = |error: &Error| answer::trouble(error, "open", address);
        let options = GetOptions { range: Some(GetRange::Bounded(0..part)), ..Default::default() };
        let (result, in_ranges) = match store.get_opts(&path, options).await {
            Ok(result) => (result, true),
            Err(error) if wants_no_range(&error) => {
                let all = store.get_opts(&path, GetOptions::default()).await;
                (all.map_err(|error| trouble(&error))?, false)
            }
            Err(error) => return Err(trouble(&error)),
        };
        let pinned = result.meta.clone();
        let stream = result.into_stream();
        let origin = Self { address: Arc::new(address.clone()), store, pinned };
        Ok(Opened { origin, stream, in_ranges })
    }

    /// Passes the bytes of `range` to `take`, in order. `begun` is used as the first stream, if
    /// given. An interrupted read is resumed where it stopped.
    pub(crate) async fn pour(
        &self,
        mut range: Range<u64>,
        begun: Option<Stream>,
        in_ranges: bool,
        take: &mut (dyn FnMut(&[u8]) -> Result<(), Trouble> + Send),
    ) -> Result<(), Trouble> {
        let mut begun = begun;
        for resumes in 0.. {
            let from = if in_ranges { range.start } else { 0 };
            let stream = match begun.take() {
                Some(stream) => stream,
                None => self.ask(in_ranges.then_some(range.clone())).await?,
            };
            let Err(trouble) = flow(&self.address, stream, from, &mut range, take).await else {
                return Ok(());
            };
            if trouble.is_change() || resumes == RESUMES {
                return Err(trouble);
            }
            tokio::time::sleep(PAUSE * 2u32.pow(resumes)).await;
        }
        Ok(())
    }

    /// Requests a range (`None`: all bytes) of the version that was opened.
    async fn ask(&self, range: Option<Range<u64>>) -> Result<Stream, Trouble> {
        let strong = self.pinned.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
        let options = GetOptions {
            if_match: strong,
            range: range.map(GetRange::Bounded),
            ..Default::default()
        };
        let result = self.store.get_opts(&self.pinned.location, options).await.map_err(
            |error| match error {
                // The object existed when it was opened, so it has been removed since.
                Error::NotFound { .. } => Trouble::changed(&self.address),
                error if wants_no_range(&error) => Trouble::changed(&self.address),
                error => answer::trouble(&error, "read", &self.address),
            },
        )?;
        if !self.is_same(&result) {
            return Err(Trouble::changed(&self.address));
        }
        Ok(result.into_stream())
    }

    /// Returns whether a response is of the version that was opened: compares the tag (the date if
    /// there is none) and the length. This is necessary because servers may ignore the conditions
    /// of a request.
    fn is_same(&self, result: &GetResult) -> bool {
        let was = &self.pinned;
        let is = &result.meta;
        let is_same = match &was.e_tag {
            Some(tag) => is.e_tag.as_ref() == Some(tag),
            // Listings have fractions of a second, and replies have not.
            None => was.last_modified.timestamp() == is.last_modified.timestamp(),
        };
        is_same && was.size == is.size
    }
}

/// Passes the bytes in `range` of a stream to `take`. `at` is the offset of the stream's first
/// byte. Advances the start of `range` by the bytes passed.
async fn flow(
    address: &Address,
    mut stream: Stream,
    mut at: u64,
    range: &mut Range<u64>,
    take: &mut (dyn FnMut(&[u8]) -> Result<(), Trouble> + Send),
) -> Result<(), Trouble> {
    while !range.is_empty() {
        let bytes = match stream.next().await {
            Some(Ok(bytes)) => bytes,
            Some(Err(error)) => return Err(answer::trouble(&error, "read", address)),
            None => {
                let lacking = range.end - range.start;
                let what =
                    format!("cannot read {address}: the data ended {lacking} bytes too early");
                return Err(Trouble::new(what));
            }
        };
        let old = usize::try_from(range.start - at).unwrap_or(usize::MAX).min(bytes.len());
        let left = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let new = &bytes[old..];
        let new = &new[..new.len().min(left)];
        take(new)?;
        at += bytes.len() as u64;
        range.start += new.len() as u64;
    }
    Ok(())
}

/// Returns whether an error is one that servers return if they do not support ranges, or if the
/// object is empty.
fn wants_no_range(error: &Error) -> bool {
    let text = error.to_string();
    let told = ["non-partial response", "416 Range Not Satisfiable", "Content-Range header not"];
    matches!(error, Error::NotSupported { .. }) || told.iter().any(|words| text.contains(words))
}
