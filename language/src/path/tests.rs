//! Properties beyond the table in `tests/rules/expressions.yaml`: cost, limits, and the agreement of the dialect
//! with RFC 9535 wherever both mean the same.

use jsonpath_rust::JsonPath as _;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bounds::Exhausted;
use crate::bounds::{MAX_PATH_VISITS, MAX_RENDER_VISITS};

fn evaluate(path: &str, document: &Value) -> Result<Value, PathError> {
    let path = Path::parse(path)?;
    path.evaluate(document, &mut Work::new()).cloned()
}

#[test]
fn a_path_that_visits_too_much_ends_with_an_error() {
    let document = json!({ "list": vec![1; MAX_PATH_VISITS] });
    assert_eq!(
        evaluate("list[*]", &document),
        Err(PathError::Exhausted(Exhausted::Path))
    );
    assert_eq!(
        evaluate("list[?(@==2)]", &document),
        Err(PathError::Exhausted(Exhausted::Path))
    );
    assert_eq!(evaluate("list[7]", &document), Ok(json!(1)));
}

#[test]
fn a_quoted_key_may_begin_and_end_with_a_dot() {
    let document = json!({ "a": { "x": 1 } });
    assert_eq!(evaluate("a['.x']", &document), Ok(json!(1)));
    for path in ["a['.x']", "a['..x']", "a['x.']", "['.x']"] {
        assert!(Path::parse(path).is_ok(), "{path}");
        let inside = |(_, span): &(_, Range<usize>)| path.get(span.clone()).is_some();
        assert!(spans(path).iter().all(inside), "{path}");
    }
}

#[test]
fn results_that_multiply_at_every_step_end_with_an_error() {
    let list = (0..10).fold(json!(1), |inner, _| json!([inner, inner]));
    let path = format!("list{}", "[0,1,0,1]".repeat(10));
    assert_eq!(
        evaluate(&path, &json!({ "list": list })),
        Err(PathError::Exhausted(Exhausted::Path))
    );
}

#[test]
fn long_texts_are_not_compared_for_nothing() {
    let text = "x".repeat(500_000);
    let document = json!({ "list": vec![json!({ "a": text, "b": text }); 20] });
    assert_eq!(
        evaluate("list[?(@.a==@.b)]", &document),
        Err(PathError::Exhausted(Exhausted::Path))
    );
}

#[test]
fn many_paths_share_one_budget() {
    let document = json!({ "list": vec![1; MAX_PATH_VISITS / 2] });
    let path = Path::parse("list[*]").unwrap();
    let mut work = Work::new();
    let outcomes: Vec<_> = (0..=MAX_RENDER_VISITS / (MAX_PATH_VISITS / 2))
        .map(|_| path.evaluate(&document, &mut work).unwrap_err())
        .collect();
    assert_eq!(outcomes[0], PathError::TooMany("list[*]".to_owned()));
    assert_eq!(
        outcomes.last(),
        Some(&PathError::Exhausted(Exhausted::Render))
    );
}

#[test]
fn nested_parentheses_and_brackets_are_errors_and_not_crashes() {
    for bomb in ["[", "[?(", "[?(@.a==(", "{", "['a',", "['a'[?("] {
        for count in [2, 10, 1_000 / bomb.len(), 2_000] {
            let open = bomb.repeat(count);
            assert!(Path::parse(&format!("a{open}")).is_err(), "{open}");
            assert!(
                Path::parse(&format!("a{open}{}", "]".repeat(count))).is_err(),
                "{open}"
            );
        }
    }
    assert_eq!(
        Path::parse(&"(".repeat(2_000)).unwrap_err(),
        PathError::TooLong(2_000)
    );
}

#[test]
fn filters_inside_of_filters_end_at_the_third_level() {
    // Quotes that belong to no text let a filter hold another.
    assert!(Path::parse("a[?(@.a'[?(@.b[0])].c')]").is_ok());
    let error = Path::parse("a[?(@.a'[?(@.b\"[?(@.c[0,1])].d\")].e')]")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("filters and unions are nested too deeply"),
        "{error}"
    );
}

#[test]
fn integers_compare_exactly() {
    let document = json!({ "list": [9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64] });
    assert_eq!(
        evaluate("list[?(@==9007199254740993)]", &document),
        Ok(json!(9_007_199_254_740_993_u64))
    );
    assert_eq!(
        evaluate("list[?(@>9007199254740992)]", &document),
        Ok(json!(9_007_199_254_740_993_u64))
    );
}

#[test]
fn plain_keys_are_known_without_evaluating() {
    let keys = |path: &str| {
        let path = Path::parse(path).unwrap();
        path.leading_keys()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("a.b['c'][0].d"), ["a", "b", "c"]);
    assert_eq!(keys("..a"), Vec::<String>::new());
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let nested = scalar().prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-c]", nested, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// Steps that both dialects have, with the same meaning where ours yields a result.
fn common_path() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        "[a-c]".prop_map(|key| format!(".{key}")),
        (-3..3i64).prop_map(|index| format!("[{index}]")),
        Just("[*]".to_owned()),
        "[a-c]".prop_map(|key| format!("..{key}")),
        "[a-c]".prop_map(|key| format!("[?(@.{key})]")),
        ("[a-c]", -3..4i64, "==|<|<=|>|>=")
            .prop_map(|(key, number, sign)| format!("[?(@.{key}{sign}{number})]")),
        ("[a-c]", "[a-c]{0,2}").prop_map(|(key, text)| format!("[?(@.{key}==\"{text}\")]")),
    ];
    ("[a-c]", prop::collection::vec(step, 0..4))
        .prop_map(|(first, rest)| format!(".{first}{}", rest.concat()))
}

/// Returns true if an index or a slice meets, beside other values, a list without such an element: it ends the
/// search in all later ones (docs/reference/templates.md).
fn ends_early(path: &str, document: &Value) -> bool {
    path.match_indices('[').any(|(at, _)| {
        let (before, rest) = path.split_at(at);
        let step = rest.split_inclusive(']').next().unwrap();
        let values = document.query(&format!("${before}")).unwrap();
        let has_none = |value: &&Value| {
            value.is_array() && value.query(&format!("${step}")).unwrap().is_empty()
        };
        !step.starts_with("[?") && values.len() > 1 && values.iter().any(has_none)
    })
}

#[test]
fn a_list_without_such_an_element_ends_the_search_in_those_after_it() {
    let document = json!({ "first": [[1], []], "last": [[], [1]] });
    assert_eq!(evaluate(".first[*][*]", &document).unwrap(), json!(1));
    let missing = evaluate(".last[*][*]", &document);
    assert!(matches!(missing, Err(PathError::Missing(_))), "{missing:?}");
    let beyond = evaluate(".first[*][0]", &document);
    assert!(matches!(beyond, Err(PathError::Find(_))), "{beyond:?}");
    assert!(ends_early(".last[*][*]", &document) && !ends_early(".last[*]", &document));
}

proptest! {
    #[test]
    fn any_text_is_a_path_or_an_error(text in any::<String>(), document in document()) {
        let _ = evaluate(&text, &document);
    }

    #[test]
    fn any_text_of_signs_is_a_path_or_an_error(
        text in "[a-c.\\[\\]{}()@$*?'\"\\\\ ,:=!<>0-9-]{0,40}",
        document in document(),
    ) {
        let _ = evaluate(&text, &document);
    }

    #[test]
    fn where_this_dialect_gives_a_value_the_standard_gives_the_same(
        path in common_path(),
        document in document(),
    ) {
        let standard = document.query(&format!("${path}")).unwrap();
        match evaluate(&path, &document) {
            Ok(value) if ends_early(&path, &document) => prop_assert_eq!(standard.first(), Some(&&value)),
            Ok(value) => prop_assert_eq!(standard, vec![&value]),
            Err(PathError::TooMany(_)) => prop_assert!(standard.len() > 1),
            // The standard silently leaves this out; here it is an error.
            Err(PathError::Missing(_)) => {
                prop_assert!(standard.is_empty() || ends_early(&path, &document));
            }
            Err(PathError::Find(_)) => {}
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
