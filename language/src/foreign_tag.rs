//! The tag that was probably meant by one of another tool.

use crate::roots::ROOTS;

/// Markers of placeholders in other tools.
const MARKERS: [(&str, &str); 4] = [("${{", "}}"), ("{{", "}}"), ("${", "}"), ("$(", ")")];
/// Words before the name of a value in other tools.
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

/// Cures for placeholders that only Tekton fills in, by the first and the last name of the path, if the last one
/// matters.
const OF_TEKTON: [(&str, &str, &str); 5] = [
    (
        "results",
        "path",
        "only Tekton has results: write a JSON object to /dev/termination-log, and read it in outputs as .terminationMessage.NAME",
    ),
    (
        "workspaces",
        "path",
        "only Tekton has workspaces: write the path at which the container mounts the volume",
    ),
    (
        "workspaces",
        "",
        "only Tekton has workspaces: write what it stands for",
    ),
    ("step", "", OF_STEPS),
    ("steps", "", OF_STEPS),
];
const OF_STEPS: &str =
    "only Tekton has results of steps: let the containers share a file in an emptyDir volume";

/// Returns the cure for another tool's tag at the start of a text, if one is known.
#[must_use]
pub fn cure(text: &str) -> Option<String> {
    let of_tekton = text.strip_prefix("$(").and_then(|inside| {
        let names = names(inside.split(')').next()?)?;
        let (first, last) = (names.first()?, names.last().filter(|_| names.len() > 1)?);
        let is_it =
            |(of, end, _): &&(&str, &str, _)| of == first && (end.is_empty() || end == last);
        Some(OF_TEKTON.iter().find(is_it)?.2.to_owned())
    });
    of_tekton.or_else(|| {
        let tag = translate(text)?;
        Some(format!("write {tag}, or the path to what else is meant"))
    })
}

/// Returns the tag of Cartouche for another tool's tag at the start of a text, if that reads something like an
/// input.
#[must_use]
pub fn translate(text: &str) -> Option<String> {
    let (inside, _) = MARKERS.iter().find_map(|(opening, closing)| {
        let rest = text.strip_prefix(opening)?;
        rest.split_once(closing)
    })?;
    let names = names(inside.trim())?;
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
    // An engine fills in facts of the run itself.
    if before == 1 && names.first() == Some(&"workflow") {
        return None;
    }
    Some(format!("$(runnable.spec.inputs.{})$", rest.join(".")))
}

/// Splits a path into its names, after dots or in brackets and quotes; an index keeps its brackets. Returns `None`
/// if the text is no path.
#[must_use]
pub fn names(path: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let (name, behind) = if let Some(inside) = rest.strip_prefix('[') {
            let quoted = |quote: char| inside.strip_prefix(quote)?.split_once([quote, ']']);
            match quoted('\'').or_else(|| quoted('"')) {
                Some((name, behind)) => (name, behind.strip_prefix(']')?),
                None => rest.split_at(rest.find(']')? + 1),
            }
        } else {
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        names.push(Some(name).filter(|it| !it.is_empty())?);
        rest = behind;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::{cure, translate};

    #[test]
    fn a_value_of_another_tool_is_an_input_here() {
        let input = Some("$(runnable.spec.inputs.text)$");
        for (text, tag) in [
            ("{{inputs.parameters.text}}", input),
            ("{{ .Values.text }} b", input),
            ("${{ inputs.text }}", input),
            ("$(params.text)", input),
            ("$(params.text)$", input),
            ("$(params['text'])", input),
            ("$(params[\"text\"])", input),
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
            ("$(params.list[0])", None),
            ("$(params[\"a.b\"])", None),
            ("$(params['a)", None),
            ("{{workflow.name}}", None),
            ("$(context.taskRun.name)", None),
            ("{{ printf \"%s\" .Values.x }}", None),
            ("plain", None),
        ] {
            assert_eq!(translate(text).as_deref(), tag, "{text}");
        }
    }

    #[test]
    fn what_only_tekton_has_is_cured_otherwise() {
        for (text, begin) in [
            (
                "$(results.digest.path)",
                "only Tekton has results: write a JSON",
            ),
            (
                "$(workspaces.w.path)",
                "only Tekton has workspaces: write the path",
            ),
            (
                "$(workspaces.w.bound)",
                "only Tekton has workspaces: write what",
            ),
            ("$(steps.a.results.b)", "only Tekton has results of steps"),
            (
                "$(results['digest'].path)",
                "only Tekton has results: write a JSON",
            ),
            (
                "$(workspaces[\"w\"].path)",
                "only Tekton has workspaces: write the path",
            ),
            ("$(params.text)", "write $(runnable.spec.inputs.text)$, or"),
        ] {
            let cure = cure(text).unwrap();
            assert!(cure.starts_with(begin), "{text}: {cure}");
        }
        assert_eq!(cure("$(context.taskRun.name)"), None);
    }
}
