//! Completions for shells, and man pages.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{command_line::CommandLine, outcome::Outcome};

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche completions bash > ~/.local/share/bash-completion/completions/cartouche
  cartouche completions zsh > ~/.zfunc/_cartouche
  cartouche completions fish > ~/.config/fish/completions/cartouche.fish")]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

/// Write man pages, one a command
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder to write them to; it is made if it is not there
    folder: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut out = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut CommandLine::command(),
        "cartouche",
        &mut out,
    );
    Ok(Outcome::good(
        String::from_utf8(out).context("completions are text")?,
    ))
}

pub(crate) fn pages(args: &ManArgs) -> anyhow::Result<Outcome> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    clap_mangen::generate_to(CommandLine::command(), folder)
        .with_context(|| format!("man pages cannot be written to {}", folder.display()))?;
    Ok(Outcome::good(format!(
        "man pages are in {}\n",
        folder.display()
    )))
}
