//! The warden process: waits for the end of its command, and ends the lab.

use std::io::{self, BufRead};
use std::process::ExitCode;

use garland_sys::{inherited, process};

use crate::warden::{Charge, DISMISSED};
use crate::{Lab, StateDir, role, state};

/// Runs the warden; see [`crate::hidden::main`].
pub(crate) fn main() -> ExitCode {
    let Ok(mut stdin) = inherited::input().map(|input| input.lock()) else {
        return ExitCode::FAILURE;
    };
    let Ok(charge) = listen(&mut stdin) else { return ExitCode::FAILURE };
    let mut last = String::new();
    match stdin.read_line(&mut last) {
        Ok(_) if last == DISMISSED => ExitCode::SUCCESS,
        _ => take_down(charge),
    }
}

fn listen(input: &mut impl BufRead) -> io::Result<Charge> {
    process::leave_session()?;
    std::env::set_current_dir("/")?;
    role::read_line(input)
}

fn take_down(charge: Charge) -> ExitCode {
    let Charge { state, name, keeper, folders } = charge;
    let ended = Lab::end_kept_by(&StateDir(state), &name, &keeper);
    // Failures are not reported, since the command that would print them has ended.
    let removed = folders.iter().filter(|folder| state::remove(folder).is_ok()).count();
    if ended.is_ok() && removed == folders.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
