//! Objects whose keys are no paths for the library. Its parser of listings refuses a whole listing
//! for one such key (`a//b`, `..`), and changes others (`a/` and `/a` become `a`). They are taken
//! out of the listing before the library parses it, and kept beside it.

use std::sync::Arc;

use garland_sys::sync::Mutex;
use object_store::ObjectMeta;
use object_store::path::Path;
use quick_xml::escape::unescape;

use crate::bounds::{ListingBounds, Unbounded};

/// The element of an object in a listing.
const OBJECT: &str = "Contents";

/// An object whose key is no path for the library.
#[derive(Clone, Debug)]
pub(crate) struct OddObject {
    pub(crate) key: String,
    /// Its size and time; the location is empty.
    pub(crate) meta: ObjectMeta,
}

/// The odd objects of the listings that a client has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct OddObjects(Arc<Mutex<Vec<OddObject>>>);

impl OddObjects {
    /// Returns the listing `text` without its odd objects, which are kept here within `bounds`.
    pub(crate) fn take_out(&self, text: &str, bounds: &ListingBounds) -> Result<String, Unbounded> {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(element) = Element::first(rest, OBJECT) {
            match OddObject::parse(element.inner) {
                Some(odd) => {
                    bounds.keep(odd.key.len())?;
                    kept.push_str(element.before);
                    self.0.lock().push(odd);
                }
                None => kept.push_str(&rest[..rest.len() - element.after.len()]),
            }
            rest = element.after;
        }
        kept.push_str(rest);
        Ok(kept)
    }

    /// Returns the odd objects that have come so far.
    pub(crate) fn all(&self) -> Vec<OddObject> {
        self.0.lock().clone()
    }
}

impl OddObject {
    /// Parses the inside of an object's element. Returns `None` if its key is a path for the
    /// library, or if the element is not as expected; the library reports what is wrong with it
    /// then.
    fn parse(inner: &str) -> Option<Self> {
        let key = text(inner, "Key")?;
        if Path::parse(&key).is_ok_and(|path| path.as_ref() == key) {
            return None;
        }
        let meta = ObjectMeta {
            location: Path::default(),
            last_modified: text(inner, "LastModified")?.parse().ok()?,
            size: text(inner, "Size")?.parse().ok()?,
            e_tag: None,
            version: None,
        };
        Some(Self { key, meta })
    }
}

/// Returns the text of the first element with this name.
fn text(xml: &str, name: &str) -> Option<String> {
    let inner = Element::first(xml, name)?.inner;
    // Stores write no sections of raw text, and elements have no place within these.
    let is_text = !inner.contains('<');
    is_text.then(|| unescape(inner).ok().map(|text| text.into_owned()))?
}

/// An element without attributes, and the text around it.
struct Element<'a> {
    before: &'a str,
    inner: &'a str,
    after: &'a str,
}

impl<'a> Element<'a> {
    fn first(xml: &'a str, name: &str) -> Option<Self> {
        let (before, rest) = xml.split_once(&format!("<{name}>"))?;
        let (inner, after) = rest.split_once(&format!("</{name}>"))?;
        Some(Self { before, inner, after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(key: &str, size: u64) -> String {
        let time = "2026-11-29T01:02:03.000Z";
        format!(
            "<Contents><Key>{key}</Key><LastModified>{time}</LastModified><Size>{size}</Size></Contents>"
        )
    }

    #[test]
    fn only_odd_keys_are_taken_out_of_a_listing() {
        let usual =
            ["k/a", "k/b&amp;c", "k/%2F", "k/d e", "k/ü"].map(|key| object(key, 7)).concat();
        let keys = ["k//x", "k/./x", "k/..", "/k", "k/dir/", "k/a&#xA;b", "k/&lt;&#1;"];
        let odd = keys.map(|key| object(key, 0)).concat();
        let page = |objects: &str| format!("<List><Name>b</Name>{objects}<IsTruncated/></List>");
        let objects = OddObjects::default();
        let bounds = ListingBounds::default();
        let taken = objects.take_out(&page(&(odd.clone() + &usual)), &bounds);
        assert_eq!(taken, Ok(page(&usual)));
        let all = objects.all();
        let found: Vec<&str> = all.iter().map(|odd| odd.key.as_str()).collect();
        assert_eq!(found, ["k//x", "k/./x", "k/..", "/k", "k/dir/", "k/a\nb", "k/<\u{1}"]);
        assert_eq!((all[0].meta.size, all[0].meta.last_modified.timestamp()), (0, 1_795_914_123));
        let few = ListingBounds::of_objects(5);
        assert!(OddObjects::default().take_out(&odd, &few).is_err(), "there are seven");
    }

    #[test]
    fn what_is_no_listing_stays_as_it_is() {
        let objects = OddObjects::default();
        for text in
            ["", "<Contents>", "<Contents><Key>a//b</Key></Contents>", "</Contents><Contents>"]
        {
            let bounds = ListingBounds::default();
            assert_eq!(objects.take_out(text, &bounds), Ok(text.to_owned()));
        }
        assert!(objects.all().is_empty());
    }
}
