//! Properties of open tags for any input.

use proptest::prelude::*;

use super::*;

/// Texts with many parts that look like a tag.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("$("),
        Just(")$"),
        Just("$('"),
        Just("')$"),
        Just("run.name"),
        Just("$(run.name)$"),
        Just("$(profile.values.x)$"),
        Just("é"),
        Just("$"),
        Just("("),
        Just(" "),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_inputs_and_values_say_only_the_tags_of_the_template_are_filled_in(
        before in text(), after in text(), value in text(), key in text(),
    ) {
        let data = json!({
            "a": "$(runnable.spec.inputs.before)$$(profile.values.x)$-$(run.name)$$(runnable.spec.inputs.after)$",
            "b": "$(runnable.spec.inputs)$", "c": "$(profile.values)$",
        });
        let mut inputs = json!({ "before": before, "after": after });
        inputs[format!("k{key}")] = key.clone().into();
        let values = json!({ "x": value });
        let rendered = render(data, inputs.clone());
        let filled = rendered.fill(&FACTS, Some(&values)).unwrap();
        prop_assert_eq!(
            &filled.document()["data"],
            &json!({ "a": format!("{before}{value}-x-7{after}"), "b": inputs, "c": values })
        );
    }
}
