use super::*;

fn paths(text: &str) -> Vec<String> {
    tags(text).into_iter().map(|tag| tag.path).collect()
}

#[test]
fn a_tag_that_is_the_whole_text_is_alone() {
    let tags = tags("$(run.b)$");
    assert_eq!(tags.len(), 1);
    assert!(tags[0].alone);
    assert_eq!(tags[0].path, "run.b");
}

#[test]
fn tags_inside_a_text_are_found_with_their_places() {
    let text = "x$(run.a)$-$('$(')$é$(run.b)$";
    let found = tags(text);
    let cut: Vec<_> = found.iter().map(|tag| &text[tag.span.clone()]).collect();
    assert_eq!(cut, ["$(run.a)$", "$(run.b)$"]);
    assert!(found.iter().all(|tag| !tag.alone));
}

#[test]
fn what_no_tag_closes_is_text() {
    assert_eq!(paths("$(params.a) and $(run.b)$"), ["run.b"]);
    assert_eq!(paths("$(date) $((1+2))"), Vec::<String>::new());
}

#[test]
fn quoted_text_is_no_tag() {
    assert_eq!(paths("$('$(')$ $(run.a)$"), ["run.a"]);
}

#[test]
fn a_single_tag_goes_on_to_the_last_marker() {
    assert_eq!(paths("$(run.a)$)$"), ["run.a)$"]);
}

#[test]
fn what_has_the_markers_of_a_tag_and_is_none_is_found_and_is_no_tag() {
    for (text, left, read) in [
        ("$(A)$", &["$(A)$"][..], &[][..]),
        ("$(A)$(B)$(run.a)$", &["$(A)$", "$(B)$"], &["run.a"]),
        ("é$(grep '(a|b)$' x) $(date)", &["$(grep '(a|b)$"], &[]),
        ("$(run.a)$ $(date)", &[], &["run.a"]),
        ("$('$')$(A)$(B)", &[], &[]),
        ("$('$(A)$')$", &[], &[]),
    ] {
        let found = left_alone(text);
        let found: Vec<_> = found.into_iter().map(|span| &text[span]).collect();
        assert_eq!(found, left, "{text}");
        assert_eq!(paths(text), read, "{text}");
    }
}

#[test]
fn a_tag_without_its_end_is_found_with_its_path_and_its_place() {
    for (text, found) in [
        ("$(runnable.a)", &[("runnable.a", "$(runnable.a)")][..]),
        ("x:$(selected.a", &[("selected.a", "$(selected.a")]),
        ("é$(runnable.a) b)", &[("runnable.a", "$(runnable.a)")]),
        ("$(runnable.a b", &[("runnable.a", "$(runnable.a")]),
        ("$(runnable.a$", &[("runnable.a", "$(runnable.a")]),
        (
            r"$(runnable.a\.b)",
            &[(r"runnable.a\.b", r"$(runnable.a\.b)")],
        ),
        (
            "$(runnable.a[?(@.b==\"x y\")].c) d)",
            &[(
                "runnable.a[?(@.b==\"x y\")].c",
                "$(runnable.a[?(@.b==\"x y\")].c)",
            )],
        ),
        ("$(runnable.a[0) b", &[("runnable.a[0", "$(runnable.a[0)")]),
        (
            "$(runnable.a) $(runnable.b)$ $(selected.c)",
            &[
                ("runnable.a", "$(runnable.a)"),
                ("selected.c", "$(selected.c)"),
            ],
        ),
        ("$(runnable.a)$ $(date) $(params.a) $(runnable)", &[]),
        ("$('$(runnable.a)')$", &[]),
        ("$(runnables.a) $(selected)", &[]),
    ] {
        let tags = unclosed_tags(text);
        let tags = tags.iter();
        let tags: Vec<_> = tags
            .map(|tag| (tag.path.as_str(), &text[tag.span.clone()]))
            .collect();
        assert_eq!(tags, found, "{text}");
    }
}

fn shown(path: &str) -> Vec<String> {
    let text = |step: PathStep| match step.to {
        To::Key(key) => key,
        To::Index(index) => index.to_string(),
        To::Elements => "each".to_owned(),
    };
    steps(path).into_iter().map(text).collect()
}

#[test]
fn braces_and_the_first_dot_do_not_matter() {
    for path in ["a.b", ".a.b", "{.a.b}", "{.a.b"] {
        assert_eq!(shown(path), ["a", "b"], "{path}");
    }
}

#[test]
fn only_an_escaped_dot_is_part_of_a_name() {
    for path in [
        r"metadata.labels.example\.com/app",
        r"metadata.labels['example\.com/app']",
    ] {
        assert_eq!(shown(path), ["metadata", "labels", "example.com/app"]);
    }
    assert_eq!(shown("labels['example.com']"), ["labels", "example", "com"]);
}

#[test]
fn filters_slices_and_indexes_are_steps() {
    assert_eq!(shown(r#".a[?(@.name=="x")].value"#), ["a", "each", "value"]);
    assert_eq!(shown(".a[-1].b[0:2]"), ["a", "-1", "b", "each"]);
}

#[test]
fn nothing_is_said_beyond_a_descent_a_wildcard_or_a_mistake() {
    for path in [".a..b", ".a.*.b", ".a[x]", ".a[0,1].b", ".a['b"] {
        assert_eq!(shown(path), ["a"], "{path}");
    }
}

#[test]
fn only_steps_that_lead_all_the_way_are_whole() {
    for path in ["runnable.metadata.name", "{.runnable.spec['a.b'][0]}"] {
        assert_eq!(whole_steps(path), Some(steps(path)), "{path}");
    }
    for path in [
        "runnable.metadata.labels['team','squad']",
        "runnable.metadata.labels.*",
        "runnable.metadata.labels..team",
        "runnable.metadata.labels[",
        "{.runnable.metadata.labels}}",
        "runnable.status",
        "inputs.x",
    ] {
        assert_eq!(whole_steps(path), None, "{path}");
    }
}

#[test]
fn a_step_knows_its_place() {
    for (path, expected) in [
        (".status.reslts[0]", vec!["status", "reslts", "[0]"]),
        ("{.a['b.c'].d}", vec!["a", "b", "c", "d"]),
        (r"é.a\.b[?(@.x)]", vec!["é", r"a\.b", "[?(@.x)]"]),
    ] {
        let spans: Vec<_> = steps(path)
            .into_iter()
            .map(|step| &path[step.span])
            .collect();
        assert_eq!(spans, expected, "{path}");
    }
}

#[test]
fn it_is_known_from_where_on_a_path_was_not_meant() {
    for (path, before) in [
        ("a.metadata.labels.b.c", "a.metadata.labels."),
        (".data.app.properties", ".data."),
        ("{.selected.binaryData.app.jar}", "{.selected.binaryData."),
        ("a['b.c']", "a['"),
        ("['a.b'].metadata.labels.c.d", "['"),
        ("a.metadata.labels.b['c.d']", "a.metadata.labels."),
    ] {
        let meant = with_escaped_dots(path).unwrap();
        assert_eq!(path.get(..meant.from), Some(before), "{path}");
    }
}

#[test]
fn what_is_below_some_keys_begins_with_them() {
    let steps = steps("runnable.spec['inputs'].a[0]");
    let below = |keys: &[&str]| super::below(&steps, keys).map(<[_]>::len);
    assert_eq!(below(&[]), Some(5));
    assert_eq!(below(&["runnable", "spec", "inputs"]), Some(2));
    assert_eq!(below(&["runnable", "spec", "inputs", "a"]), Some(1));
    assert_eq!(below(&["runnable", "inputs"]), None);
    assert_eq!(below(&["runnable", "spec", "inputs", "a", "0"]), None);
    assert_eq!(below(&["runnable", "spec", "inputs", "a", "0", "b"]), None);
}
