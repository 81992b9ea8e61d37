//! `garland net confirm`: keeps the installed configuration.

use super::installation::{Installation, Stage};
use garland_terminal::failure::{Exit, Failure};

/// Confirms the pending installation.
pub fn run() -> Result<Exit, Failure> {
    let Some(installation) = Installation::waiting()? else {
        return Err(Failure::nothing("no installation is waiting for a confirmation")
            .hint("it was confirmed or undone, or the machine was rebooted"));
    };
    if installation.go(Stage::Pending, Stage::Confirmed)? {
        garland_terminal::outln!("confirmed: the new configuration stays");
        return Ok(Exit::Done);
    }
    Err(match installation.stage() {
        Some(Stage::Applying) => Failure::nothing("the installation is not complete yet")
            .hint("confirm it when `garland net config --install` prints that it is installed"),
        _ => Failure::nothing("too late: the installation is being undone"),
    })
}
