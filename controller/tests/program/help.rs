//! Comparison of the help text in the documentation with the program's own.

use clap::CommandFactory;
use std::path::Path;

const BEGIN: &str = "<!-- begin: cartouche-controller --help -->\n";
const END: &str = "<!-- end: cartouche-controller --help -->";

/// Compares the help text, or with `UPDATE_DOCS=1` (`just generate`) writes it.
#[test]
fn the_documentation_holds_the_help_text_of_this_program() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/flags.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let help = cartouche_controller::flags::Flags::command()
        .mut_args(|flag| flag.hide_env_values(true))
        .term_width(100)
        .render_long_help()
        .to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let expected = format!(
        "{head}{BEGIN}```text\n{}\n```\n{END}{tail}",
        lines.join("\n")
    );
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap();
    assert!(
        found == expected,
        "docs/reference/flags.md is not up to date: run `just generate`"
    );
}
