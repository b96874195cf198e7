//! The shells that can ask for completion, and kubectl, which asks for its plugins.

use std::{ffi::OsString, io, path::Path};

use clap_complete::{
    CompletionCandidate, engine,
    env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh},
};

/// Variable by which a shell asks for completion; its value names the shell.
pub(super) const VARIABLE: &str = "CARTOUCHE_COMPLETE";

pub(crate) const SHELLS: Shells<'static> =
    Shells(&[&Bash, &Elvish, &Fish, &Kubectl, &Powershell, &Zsh]);

/// Returns the script that sets up completion in a shell, or `None` for an unknown shell.
pub(crate) fn script(shell: &str) -> Option<io::Result<Vec<u8>>> {
    const PROGRAM: &str = "cartouche";
    let completer = SHELLS.completer(shell)?;
    let mut script = Vec::new();
    let written = completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
    Some(written.map(|()| script))
}

/// Completion for kubectl. It calls `kubectl_complete-cartouche` with the words after `kubectl cartouche`, and takes
/// answers in the format of its library, cobra: a name a line, with a tab and a description, and a directive at the
/// end.
struct Kubectl;

/// Directive: complete no file names.
const NO_FILES: u32 = 4;
/// Directive: add no blank after the word.
const NO_SPACE: u32 = 2;

impl EnvCompleter for Kubectl {
    fn name(&self) -> &'static str {
        "kubectl"
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        variable: &str,
        _name: &str,
        program: &str,
        _completer: &str,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "#!/bin/sh\n\
             # Completion of `kubectl {program}`: an executable file kubectl_complete-{program} in PATH.\n\
             {variable}={} exec kubectl-{program} -- kubectl-{program} \"$@\"",
            self.name()
        )
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        mut words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        if words.len() == 1 {
            words.push(OsString::new());
        }
        let last = words.len().saturating_sub(1);
        let candidates = engine::complete(command, words, last, folder)?;
        let candidates: Vec<CompletionCandidate> = candidates
            .into_iter()
            .filter(|it| !it.is_hide_set())
            .collect();
        let mut directive = NO_FILES;
        for candidate in &candidates {
            let value = candidate.get_value().to_string_lossy();
            if value.ends_with(['/', '=']) {
                directive = NO_FILES | NO_SPACE;
            }
            let help = candidate.get_help().map(ToString::to_string);
            match help.as_deref().and_then(|help| help.lines().next()) {
                Some(help) => writeln!(out, "{value}\t{help}")?,
                None => writeln!(out, "{value}")?,
            }
        }
        writeln!(out, ":{directive}")
    }
}
