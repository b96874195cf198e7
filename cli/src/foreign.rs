//! Texts that others have written, such as messages of webhooks and outputs of runs: a terminal takes some of their
//! characters for commands, and a line break for the end of what they are.

/// A text in one line that is nothing but text to a terminal.
pub(crate) fn in_one_line(text: &str) -> String {
    text.replace(is_command, " ")
}

/// The same, with its lines as they are.
pub(crate) fn in_lines(text: &str) -> String {
    text.replace(|c| c != '\n' && is_command(c), " ")
}

/// Whether a terminal does something with it, shows what stands beside it in another order, or shows nothing of it.
fn is_command(character: char) -> bool {
    let is_break = matches!(character, '\u{2028}' | '\u{2029}');
    let is_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    // Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt), what annotates, and the blank of Braille.
    let is_unseen = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    character.is_control() || is_break || is_direction || is_unseen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_to_do_nothing() {
        for command in [
            "\u{1b}",
            "\u{9b}",
            "\r",
            "\u{8}",
            "\u{7}",
            "\u{2028}",
            "\u{202e}",
            "\u{200b}",
            "\u{e0041}",
            "\u{e01ef}",
            "\u{3164}",
            "\u{ad}",
            "\u{fe0f}",
        ] {
            let text = format!("a{command}2Jb");
            assert_eq!(in_one_line(&text), "a 2Jb", "{command:?}");
            assert_eq!(in_lines(&text), "a 2Jb", "{command:?}");
        }
        assert_eq!(in_one_line("é – 漢\n字"), "é – 漢 字");
        assert_eq!(in_lines("a\nb"), "a\nb");
    }
}
