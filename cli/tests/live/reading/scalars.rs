//! Random scalars: numbers and near numbers in all spellings, words, times, tags, quotes.

use super::by_chance::Chance;

const DIGITS: &str = "0123456789";

/// Returns a text with a scalar in it.
pub fn text(chance: &mut Chance) -> String {
    let scalar = scalar(chance);
    match chance.below(8) {
        0 => format!("{scalar}: x\n"),
        1 => format!("a: [{scalar}]\n"),
        2 => format!("{{{scalar}: x}}\n"),
        3 => format!("- {scalar}\n- b\n"),
        4 => format!("a: {scalar} # comment"),
        _ => format!("a: {scalar}\n"),
    }
}

/// Returns a scalar that is tagged or in quotes now and then.
pub fn scalar(chance: &mut Chance) -> String {
    let bare = bare(chance);
    match chance.below(16) {
        0 => format!("{} {bare}", tag(chance)),
        1 => format!("{} '{}'", tag(chance), bare.replace('\'', "''")),
        2 => format!("'{}'", bare.replace('\'', "''")),
        3 => quoted(chance),
        _ => bare,
    }
}

fn tag(chance: &mut Chance) -> String {
    match chance.below(12) {
        0 => "!".to_owned(),
        1 => "!<tag:yaml.org,2002:int>".to_owned(),
        2 => chance
            .one_of(&[
                "!!merge", "!!seq", "!!map", "!other", "!o!ther", "!%41", "!a%",
            ])
            .to_owned(),
        _ => format!(
            "!!{}",
            chance.one_of(&["str", "int", "float", "bool", "null", "timestamp", "binary"])
        ),
    }
}

fn bare(chance: &mut Chance) -> String {
    match chance.below(12) {
        0..=3 => number(chance),
        4 => word(chance),
        5 => time(chance),
        6 => chance.some("0123456789abcdef", 7, 7),
        7 => format!(
            "{}e{}",
            chance.some(DIGITS, 1, 4),
            chance.some(DIGITS, 1, 4)
        ),
        8 => edge(chance),
        9 => base_64(chance),
        10 => chance.some("0123456789+-_.eExXbBoO", 1, 8),
        _ => chance.some("01a:yY~ '\"#&*!|>%@`,[]{}?\\\t-_.é\u{85}\u{2028}", 1, 6),
    }
}

fn number(chance: &mut Chance) -> String {
    let mut number = chance
        .one_of(&["", "", "", "-", "+", "--", "+-"])
        .to_owned();
    let prefix = chance.one_of(&[
        "", "", "", "", "0", "0x", "0X", "0b", "0B", "0o", "0O", "0b-", "_",
    ]);
    number.push_str(prefix);
    let digits = match chance.below(6) {
        0 => "01",
        1 => "01234567_",
        2 => "0123456789abcdefABCDEF",
        3 => "0123456789_",
        _ => DIGITS,
    };
    let most = chance.one_of(&["3", "3", "8", "22", "70"]).parse().unwrap();
    number.push_str(&chance.some(digits, 0, most));
    if chance.once_in(3) {
        number.push('.');
        number.push_str(&chance.some("0123456789_", 0, 6));
    }
    if chance.once_in(4) {
        number.push(chance.character("eEpP"));
        number.push_str(chance.one_of(&["", "", "-", "+", "_"]));
        number.push_str(&chance.some("0123456789_", 0, 4));
    }
    number
}

/// Returns a word with a meaning, in any case.
fn word(chance: &mut Chance) -> String {
    let word = chance.one_of(&[
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ".inf", "-.inf", "+.inf",
        ".nan", "inf", "nan", "infinity", "<<", "=", "-.nan", "none", "",
    ]);
    match chance.below(5) {
        0 => word.to_uppercase(),
        1 => {
            let mut letters = word.chars();
            let first = letters.next().map(|it| it.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
        2 => {
            let mut letter = |it: char| {
                if chance.once_in(2) {
                    it.to_ascii_uppercase()
                } else {
                    it
                }
            };
            word.chars().map(&mut letter).collect()
        }
        _ => word.to_owned(),
    }
}

fn time(chance: &mut Chance) -> String {
    let mut time = format!(
        "{}-{}-{}",
        chance.one_of(&["2024", "2023", "0000", "202", "20240"]),
        chance.some("012", 1, 2),
        chance.some("0123", 1, 2)
    );
    if chance.once_in(2) {
        time.push_str(chance.one_of(&["T", "t", " ", "  ", "-", "\t"]));
        let sixty = "012345";
        time.push_str(&chance.some("012", 1, 2));
        time.push(':');
        time.push_str(&chance.some(sixty, 1, 2));
        time.push(':');
        time.push_str(&chance.some("0123456", 1, 2));
        time.push_str(chance.one_of(&["", "", ".5", ".123456789123", ",5", "."]));
        time.push_str(chance.one_of(&["", "Z", "Z", "+02:00", "-24:60", "+2:00", " Z", "+0200"]));
    }
    time
}

/// Returns a number at the edge of a range.
fn edge(chance: &mut Chance) -> String {
    let edge = chance.one_of(&[
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "0x7FFFFFFFFFFFFFFF",
        "0xFFFFFFFFFFFFFFFF",
        "0x10000000000000000",
        "01777777777777777777777",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "5e-324",
        "1e-400",
        "1e21",
        "1e20",
        "999999999999999999999",
        "1e-6",
        "1e-7",
        "0.000001",
        "123456.0",
        "1234567.0",
        "16777217.0",
        "3.4028236e38",
        "1e38",
        "0.0",
        "9007199254740993",
        "9007199254740993.0",
        "0.1",
        "2.675",
        "0.30000000000000004",
    ]);
    format!("{}{edge}", chance.one_of(&["", "", "-", "+"]))
}

fn base_64(chance: &mut Chance) -> String {
    let padding = chance.one_of(&["", "=", "==", "==="]);
    format!("{}{padding}", chance.some("aAzZ09+/", 1, 9))
}

/// Returns double quotes with escapes, some of which are invalid.
fn quoted(chance: &mut Chance) -> String {
    let mut text = String::from("\"");
    for _ in 0..chance.below(5) {
        match chance.below(4) {
            0 => text.push_str(&chance.some("ab \t", 1, 3)),
            1 => {
                text.push('\\');
                text.push(chance.character("0abtnvfre \"/\\N_LPxuU'z\t"));
            }
            2 => {
                let (letter, digits) = [("x", 2), ("u", 4), ("U", 8)][chance.below(3)];
                text.push('\\');
                text.push_str(letter);
                text.push_str(&chance.some("0012dDfFe", digits, digits));
            }
            _ => text.push_str(&chance.some(DIGITS, 1, 3)),
        }
    }
    text.push('"');
    text
}
