//! Programs that have to succeed.

use std::process::Command;

/// Runs a command to its end; else says why that was none.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed: {status}")),
        Err(error) => Err(format!("{program} could not be started: {error}")),
    }
}
