//! A runner that runs a command. With an argument it is one of the small commands in [`work`], so that the image
//! needs no other program.

mod command;
mod work;

use std::{env, process::ExitCode};

use cartouche_runner::manage;
use command::CommandRunner;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.split_first() {
        None => manage::main(CommandRunner::default()),
        Some((name, arguments)) => manage::block_on(work::run(name, arguments)),
    }
}
