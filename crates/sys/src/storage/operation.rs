//! Kinds of calls.

/// A kind of call, by which a simulated world makes calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// [`super::write_all_at`].
    Write,
    /// [`super::sync`] and [`super::sync_file_system`].
    Sync,
    /// [`super::rename`] and [`super::rename_new`].
    Rename,
    /// [`super::link`] and [`super::name`].
    Link,
    /// [`super::remove`].
    Remove,
}
