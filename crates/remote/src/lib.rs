//! Files that are elsewhere: in object stores (S3) and behind URLs. One is pinned to what it was when
//! it was opened, and read ahead in ranges, several at a time, into bounded memory.
//!
//! `object_store` knows the stores: addresses, signatures, credentials, retries. It is asynchronous,
//! and stays in this room: each thread that reads has a runtime of its own and waits for it. What
//! crosses the network does so by `ureq`, which blocks as all else here does.

mod address;
mod ahead;
mod answer;
mod names;
mod object;
mod origin;
mod profile;
mod spool;
mod store;
mod transport;
mod trouble;
mod trust;
mod waiting;

pub use address::Address;
pub use names::Names;
pub use object::Object;
pub use trouble::Trouble;
