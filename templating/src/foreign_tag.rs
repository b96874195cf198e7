//! The tag that was meant by one of another tool.

use crate::explained::ROOTS;

/// The marks before and behind what tools fill in.
const MARKERS: [(&str, &str); 4] = [("${{", "}}"), ("{{", "}}"), ("${", "}"), ("$(", ")")];
/// The words before the name of a value, in one tool or another.
const BEFORE: [&str; 13] = [
    ".Values",
    "Values",
    "inputs",
    "input",
    "params",
    "parameters",
    "workload",
    "spec",
    "values",
    "workflow",
    "vars",
    "args",
    "arguments",
];

/// The tag of Cartouche for one of another tool in a text, if that reads something like an input.
#[must_use]
pub fn meant(text: &str) -> Option<String> {
    let (inside, _) = MARKERS.iter().find_map(|(opening, closing)| {
        let (_, rest) = text.split_once(opening)?;
        rest.split_once(closing)
    })?;
    let path = inside.trim();
    let names: Vec<&str> = path.trim_start_matches('.').split('.').collect();
    let is_name = |name: &&str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it))
    };
    if !names.iter().all(is_name) {
        return None;
    }
    if names.first().is_some_and(|first| ROOTS.contains(first)) && names.len() > 1 {
        return Some(format!("$({})$", names.join(".")));
    }
    let is_before = |name: &&&str| BEFORE.contains(*name);
    let before = names.iter().take_while(is_before).count();
    let rest = names
        .get(before..)
        .filter(|rest| before > 0 && !rest.is_empty())?;
    // An engine fills in what it knows of the run itself.
    if before == 1 && names.first() == Some(&"workflow") {
        return None;
    }
    Some(format!("$(runnable.spec.inputs.{})$", rest.join(".")))
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_value_of_another_tool_is_an_input_here() {
        let input = Some("$(runnable.spec.inputs.text)$");
        for (text, tag) in [
            ("{{inputs.parameters.text}}", input),
            ("a {{ .Values.text }}", input),
            ("${{ inputs.text }}", input),
            ("$(params.text)", input),
            ("$(params.text)$", input),
            ("$(workload.spec.params.text)$", input),
            ("{{workflow.parameters.text}}", input),
            (
                "${runnable.metadata.name}",
                Some("$(runnable.metadata.name)$"),
            ),
            (
                "{{ .runnable.metadata.name }}",
                Some("$(runnable.metadata.name)$"),
            ),
            ("{{workflow.name}}", None),
            ("$(context.taskRun.name)", None),
            ("{{ printf \"%s\" .Values.x }}", None),
            ("plain", None),
        ] {
            assert_eq!(meant(text).as_deref(), tag, "{text}");
        }
    }
}
