//! The command line: global options and commands.

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::{
    commands::{self, LiveCommand},
    outcome::Outcome,
};

/// Render, check and test Cartouche templates, and inspect Runnables
#[derive(Debug, Parser)]
#[command(
    name = "cartouche",
    version,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 success; 1 problems found (errors, failed tests, differences); 2 the command could not do its
work, or not all of it. `cartouche help COMMAND` shows examples. Installed as kubectl-cartouche, it is called
as `kubectl cartouche`."
)]
pub(crate) struct CommandLine {
    /// Use of colours; the variable `NO_COLOR` is honoured
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Use of colours in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Only on a terminal
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn choose(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(commands::init::InitArgs),
    Render(commands::render::RenderArgs),
    Validate(commands::validate::ValidateArgs),
    Test(commands::test::TestArgs),
    #[command(flatten)]
    Live(LiveCommand),
    #[command(visible_alias = "completion")]
    Completions(commands::manual::CompletionsArgs),
    Man(commands::manual::ManArgs),
}

impl Command {
    /// Moves files into the argument that the command reads, whether they are positional or given by `--file`.
    pub(crate) fn take_files(&mut self) {
        match self {
            Self::Render(args) => args.files.move_to(&mut args.paths),
            Self::Validate(args) => args.files.move_to(&mut args.paths),
            Self::Live(command) => command.take_files(),
            Self::Init(_) | Self::Test(_) | Self::Completions(_) | Self::Man(_) => {}
        }
    }
}

/// Returns the command line for clap, under the name by which it was called.
pub(crate) fn build(name: &'static str) -> clap::Command {
    CommandLine::command().name(name).bin_name(name)
}

pub(crate) fn execute(command: &Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Init(args) => commands::init::execute(args),
        Command::Render(args) => commands::render::execute(args),
        Command::Validate(args) => commands::validate::execute(args),
        Command::Test(args) => commands::test::execute(args),
        Command::Live(command) => commands::execute(command),
        Command::Completions(args) => commands::manual::completions(args),
        Command::Man(args) => commands::manual::pages(args),
    }
}
