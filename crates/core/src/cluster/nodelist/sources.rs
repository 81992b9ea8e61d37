use super::error::{Origin, SourceError};

/// The texts that a node list can refer to: files, groups and the Slurm allocation.
///
/// The caller provides them, since this crate does no I/O.
pub trait Sources {
    /// Returns the text of a source; `None` if no group has this name, or outside of a Slurm
    /// allocation (`SLURM_JOB_NODELIST`).
    ///
    /// # Errors
    /// When the file cannot be read, or the list must not refer to this source.
    fn text(&self, of: &Origin) -> Result<Option<String>, SourceError>;
}

/// [`Sources`] without files, groups or allocation, for node lists that may contain only names.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, of: &Origin) -> Result<Option<String>, SourceError> {
        match of {
            Origin::File(_) => Err(SourceError::Forbidden("this list must not refer to files")),
            _ => Ok(None),
        }
    }
}
