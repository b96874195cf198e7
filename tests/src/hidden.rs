//! The hidden commands of each program of the harness. With them it starts the controller, and the
//! supervisors of the control plane's processes.

use std::{ffi::OsString, iter, path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Subcommand;

use crate::control_plane::{
    node::inside::{Node, Runc},
    supervisor,
};

/// Commands that no help shows.
#[derive(Clone, Debug, Subcommand)]
pub enum Hidden {
    /// Run the controller.
    #[command(hide = true, disable_help_flag = true)]
    Controller {
        /// Arguments of the controller.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a command until standard input is closed.
    #[command(hide = true)]
    Supervise {
        /// File for its output.
        #[arg(long)]
        log: PathBuf,
        /// Exit code after which it is run again.
        #[arg(long)]
        restart_on: Option<u8>,
        /// The command.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Remove a folder once standard input is closed.
    #[command(hide = true)]
    TidyUp {
        /// The folder.
        folder: PathBuf,
    },
    /// Run the programs of a real node, as the first process of its namespaces.
    #[command(hide = true)]
    Node(Node),
    /// Run runc.
    #[command(hide = true, disable_help_flag = true)]
    Runc(Runc),
}

impl Hidden {
    /// Executes the command.
    pub fn execute(self) -> Result<ExitCode> {
        match self {
            Self::Controller { arguments } => {
                let name = OsString::from("cartouche-controller");
                let line = iter::once(name).chain(arguments);
                Ok(cartouche_controller::main_from(line))
            }
            Self::Supervise {
                log,
                restart_on,
                command,
            } => Ok(supervisor::supervise(&log, restart_on, &command)?.into()),
            Self::TidyUp { folder } => {
                supervisor::tidy_up(&folder)?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Node(node) => {
                node.run()?;
                Ok(ExitCode::SUCCESS)
            }
            Self::Runc(runc) => {
                runc.run()?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}
