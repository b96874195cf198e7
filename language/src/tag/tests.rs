use super::*;
use split::{END, QUOTED_END, QUOTED_START};

fn compile(text: &str) -> (Leaf, Vec<BadTag>) {
    Leaf::compile(text, &|_| Ok(false))
}

#[test]
fn quoted_text_joins_the_text_around_it() {
    let (Leaf::Plain(text), _) = compile("a $('$(b)$')$ c") else {
        panic!("it holds no tag");
    };
    assert_eq!(text, "a $(b)$ c");
}

#[test]
fn a_path_over_a_kilobyte_is_refused() {
    let (_, errors) = compile(&format!("$(runnable.{})$", "x".repeat(1024)));
    assert!(
        errors[0]
            .kind
            .to_string()
            .ends_with("evaluate: the path is 1033 bytes long, more than 1024")
    );
    let (_, errors) = compile(&format!("$(runnable.{})$", "é".repeat(100_000)));
    assert!(errors[0].kind.to_string().len() < 1200 && errors[0].tag.len() < 1200);
}

#[test]
fn a_tag_that_is_not_closed_is_noticed() {
    for text in [
        "$(runnable.metadata.name)",
        "a $(selected.x) $(runnable.metadata.name)$",
    ] {
        assert!(!find_unclosed(text).is_empty(), "{text}");
    }
    for text in [
        "$(params.x)",
        "$(runnable.metadata.name)$",
        "$('$(runnable.metadata.name)')$",
        "$(runnable.metadata.name)$)$",
    ] {
        assert!(find_unclosed(text).is_empty(), "{text}");
    }
}

/// If each marker were searched anew from every other one, this would take an hour and more.
#[test]
fn many_markers_that_close_late_or_never_are_read_once() {
    const MANY: usize = 400_000;
    for (text, is_tag) in [
        (START.repeat(MANY), false),
        (START.repeat(MANY) + END, true),
        (QUOTED_START.repeat(MANY) + END, true),
        (QUOTED_START.repeat(MANY), false),
        (format!("{START} ").repeat(MANY) + QUOTED_END, false),
        (format!("{START}'{END}").repeat(MANY), true),
        (format!("{START}a{END}").repeat(MANY), false),
        (END.repeat(MANY), false),
    ] {
        assert_eq!(has_tag(&text), is_tag);
    }
}
