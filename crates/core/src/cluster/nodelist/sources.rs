/// The texts that a node list can refer to: files, groups and the Slurm allocation.
///
/// The caller provides them, since this crate does no I/O. By default there are none.
pub trait Sources {
    /// Returns the text of the file for `^path`.
    ///
    /// # Errors
    /// The reason why it cannot be read, as a lower-case fragment such as `no such file`.
    fn file(&self, _path: &str) -> Result<String, String> {
        Err("files are not allowed here".into())
    }

    /// Returns the node list of the group for `@name`, or `None` if no group has this name.
    ///
    /// # Errors
    /// The reason why groups cannot be looked up, as a lower-case fragment.
    fn group(&self, _name: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Returns the node list of the current Slurm allocation (`SLURM_JOB_NODELIST`), or `None`
    /// outside of one.
    ///
    /// # Errors
    /// The reason why it is unknown, as a lower-case fragment.
    fn slurm(&self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// Sources without any text, for lists that must not refer to anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {}
