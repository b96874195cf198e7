use std::fmt::Write as _;

use super::read;

/// Returns a document as JSON.
fn json(text: &str) -> String {
    let node = read(text, 0).unwrap().unwrap();
    node.to_value().to_string()
}

/// Returns the message of a refusal, and the rest of the line at its place.
fn refusal(text: &str) -> (String, &str) {
    let refusal = read(text, 0).unwrap_err();
    let at = text.get(refusal.span.start..).unwrap();
    (refusal.message, at.lines().next().unwrap_or_default())
}

#[test]
fn a_merge_key_gives_way_to_what_stands_behind_it_and_replaces_what_stands_before() {
    let base = "a: &a {x: 1, w: 2}\nb: ";
    for (merged, read) in [
        ("{<<: *a, x: 3}", r#"{"x":3,"w":2}"#),
        ("{x: 3, <<: *a}", r#"{"x":1,"w":2}"#),
        ("{<<: [*a, {x: 4, z: 5}]}", r#"{"x":1,"w":2,"z":5}"#),
        ("{\"<<\": *a}", r#"{"<<":{"x":1,"w":2}}"#),
    ] {
        let expected = format!(r#"{{"a":{{"x":1,"w":2}},"b":{read}}}"#);
        let read: serde_json::Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(json(&format!("{base}{merged}\n")), read.to_string());
    }
    let (message, at) = refusal("a: &a [x]\nb: {<<: *a}\n");
    assert!(message.contains("map merge requires"), "{message}");
    assert_eq!(at, "*a}");
}

#[test]
fn keys_become_texts_and_none_stands_twice() {
    let keys = "1: a\nyes: b\n1.10: c\n1e6: d\n0x1F: e\n!!str 2: f\n? g\n: h\n";
    let read = r#"{"1":"a","true":"b","1.1":"c","1e+06":"d","31":"e","2":"f","g":"h"}"#;
    let read: serde_json::Value = serde_json::from_str(read).unwrap();
    assert_eq!(json(keys), read.to_string());
    for twice in [
        "a: 1\na: 2\n",
        "1: a\n\"1\": b\n",
        "1.5: a\n1.50: b\n",
        "{a: 1, a: 1}\n",
    ] {
        let (message, _) = refusal(twice);
        assert!(message.contains("duplicate mapping key"), "{message}");
    }
    for none in [
        "~: a\n",
        "[a]: b\n",
        "18446744073709551615: a\n",
        "? {a: b}\n: c\n",
    ] {
        assert!(super::read(none, 0).is_err(), "{none}");
    }
}

#[test]
fn mistakes_have_the_place_where_they_are() {
    for (text, message, at) in [
        (
            "a:\n  b:\n \tc: 2\n",
            "found a tab where only blanks may indent",
            "\tc: 2",
        ),
        (
            "a:\n  b: 1\n \tc: 2\n",
            "found a tab character that violates indentation",
            "\tc: 2",
        ),
        (
            "a: b: c\n",
            "mapping values are not allowed in this context",
            ": c",
        ),
        ("a: \"b\nc: d\n", "found unexpected end of stream", "\"b"),
        ("a: \"\\y\"\n", "found unknown escape character", "\\y\""),
        ("a: *b\n", "unknown anchor 'b' referenced", "*b"),
        (
            "a: `b`\n",
            "found character that cannot start any token",
            "`b`",
        ),
        ("a: b\nc\n", "could not find expected ':'", "c"),
        (
            "a: \u{7f}\n",
            "control characters such as U+007F are not allowed",
            "\u{7f}",
        ),
    ] {
        assert_eq!(refusal(text), (message.to_owned(), at), "{text}");
    }
}

#[test]
fn aliases_multiply_within_bounds_only() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    let mut chain = "a0: &a0 {x: 1}\n".to_owned();
    for number in 1..300 {
        let before = vec![format!("*a{}", number - 1); 9].join(", ");
        writeln!(bomb, "a{number}: &a{number} [{before}]").unwrap();
        writeln!(chain, "a{number}: &a{number} {{<<: *a{}}}", number - 1).unwrap();
    }
    let text = "x".repeat(100_000);
    let texts = format!("a: &a {text}\nb: [{}]\n", ["*a"; 100].join(", "));
    let key = format!("a: &a {{? \"{text}\" : 1}}\nb: ");
    let keys = format!("{key}[{}]\n", ["*a"; 100].join(", "));
    let merged = format!("{key}[{}]\n", ["{<<: *a}"; 100].join(", "));
    for text in [&bomb, &texts, &keys, &merged] {
        assert!(refusal(text).0.contains("excessive aliasing"));
    }
    let shallow = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(read(&shallow, 0).is_ok());
    for deep in [&chain, &"[".repeat(100_000), &"- ".repeat(100_000)] {
        assert!(refusal(deep).0.contains("objects and lists are nested "));
    }
    let (message, _) = refusal("a: &a [*a]\n");
    assert_eq!(message, "the value of this anchor contains itself");
}

#[test]
fn a_second_byte_order_mark_is_refused_where_its_document_begins() {
    let text = "a: 1\n---\n\u{feff}\u{feff}b: 2\n";
    let refusal = read(text, 9).unwrap_err();
    assert!(refusal.message.contains("more than one byte order mark"));
    assert_eq!(refusal.span, 9..9);
}
