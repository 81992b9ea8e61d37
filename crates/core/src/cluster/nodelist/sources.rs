/// What a node list may refer to but can't hold itself.
///
/// This crate reads no files and no environment, so the caller provides them.
pub trait Sources {
    /// The text of the file behind `^path`.
    ///
    /// # Errors
    /// The reason why it can't be read, as a lower-case fragment such as `no such file`.
    fn file(&self, path: &str) -> Result<String, String>;

    /// The node list of the group behind `@name`, or `None` when there is no such group.
    ///
    /// # Errors
    /// The reason why groups can't be looked up, as a lower-case fragment.
    fn group(&self, name: &str) -> Result<Option<String>, String>;

    /// The node list of the Slurm allocation this runs in (`SLURM_JOB_NODELIST`), or `None` outside
    /// of one.
    ///
    /// # Errors
    /// The reason why it can't be told, as a lower-case fragment.
    fn slurm(&self) -> Result<Option<String>, String>;
}

/// Sources that have nothing: for lists that must stand by themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn file(&self, _path: &str) -> Result<String, String> {
        Err("files aren't read here".into())
    }

    fn group(&self, _name: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn slurm(&self) -> Result<Option<String>, String> {
        Ok(None)
    }
}
