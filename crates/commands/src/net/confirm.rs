//! `garland net confirm`: what was installed stays.

use super::installation::{Installation, Stage};
use garland_terminal::failure::{Exit, Failure};

/// Confirms the installation that waits for it.
pub fn run() -> Result<Exit, Failure> {
    let Some(installation) = Installation::waiting()? else {
        return Err(Failure::nothing("no installation waits for a confirmation")
            .hint("it was confirmed, or undone in time, or its machine was started anew"));
    };
    if installation.go(Stage::Pending, Stage::Confirmed)? {
        garland_terminal::outln!("confirmed: the new configuration stays");
        return Ok(Exit::Done);
    }
    Err(match installation.stage() {
        Some(Stage::Applying) => Failure::nothing("the installation is still at work")
            .hint("confirm it when it says that it is done"),
        _ => Failure::nothing("too late: the installation is being undone"),
    })
}
