//! The kinds of errors that end a command.

use std::fmt::{Debug, Display};

use crate::cluster::nodelist::NodeListError;
use crate::cluster::target::TargetError;
use crate::form::FileError;
use crate::plan::{LayoutError, OrderError, PlanError, StripesError};
use crate::units::UnitError;

/// The kind of an error that ends a command; the kind determines the exit code (docs/scripts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Wrong usage or configuration: an argument or a file of the user is invalid.
    Usage,
    /// Nothing done: the request is valid, but cannot be carried out.
    Nothing,
}

/// An error that ends a command. Its text is the command's error message.
pub trait CommandError: Display {
    /// Returns the kind, which determines the exit code; [`ErrorKind::Usage`] by default.
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    /// Returns what the user can do; nothing by default.
    fn hint(&self) -> Option<String> {
        None
    }
}

impl CommandError for LayoutError {}
impl CommandError for NodeListError {}
impl CommandError for OrderError {}
impl CommandError for PlanError {}
impl CommandError for StripesError {}
impl CommandError for TargetError {}
impl CommandError for UnitError {}
impl<P: Debug + Display> CommandError for FileError<P> {}
