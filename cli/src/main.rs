//! See `cartouche --help`.

fn main() -> std::process::ExitCode {
    cartouche_cli::main_from(std::env::args_os())
}
