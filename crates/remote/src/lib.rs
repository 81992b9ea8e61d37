//! Remote files: objects in object stores (S3), and files behind URLs. A file is pinned to its
//! version when it is opened. Several ranges at a time are read ahead into bounded memory.
//!
//! The crate `object_store` implements addresses, signatures, credentials and retries. It is
//! asynchronous, and this crate hides that: each reading thread has its own runtime, and blocks on
//! it. Network I/O is done with `ureq`, which blocks like the rest of the program.
//!
//! Commands open what users name by [`elsewhere`].
//!
//! # Where to change what
//!
//! - Addresses and options from the environment: `address`, `store`, `profile`, `trust`.
//! - What a server may do: `redirect` (where it may lead), `transport` and `waiting` (for how
//!   long), `origin` (another version), `listing` and `keys` (which objects).
//! - How an object is read: `content`, `ahead`; without ranges, `spool`.
//! - Messages: `answer`, `trouble`.

mod address;
mod agents;
mod ahead;
mod answer;
mod bounds;
mod content;
pub mod elsewhere;
mod keys;
mod listing;
mod names;
mod object;
mod origin;
mod profile;
mod redirect;
mod spool;
mod store;
mod transport;
mod trouble;
mod trust;
mod waiting;

pub use address::Address;
pub use listing::{Listed, Listing};
pub use object::Object;
pub use trouble::Trouble;
