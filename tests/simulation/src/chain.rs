//! A diamond of Runnables: B and C read A, and D reads both. The output of a run holds its content. So each
//! run reveals from which states of the others it derives, independent of any status.

mod cycle;

use std::collections::{BTreeMap, BTreeSet};

pub use cycle::is_tied;
use serde_json::{Value, json};

use crate::{
    discovery::{EXAMPLE, Resource},
    people::{NAMESPACE, runnable},
    plan::TEMPLATES,
    store::{Key, Store},
};

/// Number of Runnables in it.
pub const MEMBERS: usize = 4;
/// Separator of the values that a run is made of.
const BETWEEN: &str = " | ";

/// A member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The member that reads no other.
    A,
    /// The member that reads an output of A that often stays the same.
    B,
    /// The member that reads all of A.
    C,
    /// The member that reads B and C.
    D,
}

impl Role {
    /// All of them, in order.
    pub const ALL: [Self; MEMBERS] = [Self::A, Self::B, Self::C, Self::D];

    /// Returns the members that it reads, with their outputs.
    #[must_use]
    pub fn reads(self) -> &'static [(Self, &'static str)] {
        match self {
            Self::A => &[],
            Self::B => &[(Self::A, "answer")],
            Self::C => &[(Self::A, "side")],
            Self::D => &[(Self::B, "answer"), (Self::C, "answer")],
        }
    }
}

/// The diamond of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The number of A; the others follow it.
    pub first: usize,
    /// True for each of them that reads the `ConfigMap`.
    pub sized: [bool; MEMBERS],
    /// True if each run of A gives other outputs, whatever its content.
    pub by_uid: bool,
    /// True if D requires that its sources have succeeded.
    pub strict: bool,
    /// True if D does not require that its inputs are of one state.
    pub ignored: bool,
    /// The source that D reads without waiting for it.
    pub at_once: Option<Role>,
}

/// Returns the key of the `ConfigMap` that some of them read.
#[must_use]
pub fn sizes() -> Key {
    Key {
        resource: Resource::ConfigMaps,
        namespace: NAMESPACE.to_owned(),
        name: "sizes".to_owned(),
    }
}

/// Returns the first state of the `ConfigMap`.
#[must_use]
pub fn sizes_object() -> Value {
    json!({ "metadata": { "name": "sizes", "namespace": NAMESPACE }, "data": { "small": "s0", "other": "n0" } })
}

impl Chain {
    /// Draws a diamond whose A has this number.
    pub fn draw(random: &mut fastrand::Rng, first: usize) -> Self {
        Self {
            first,
            sized: std::array::from_fn(|_| random.f64() < 0.4),
            by_uid: random.f64() < 0.25,
            strict: random.f64() < 0.25,
            ignored: false,
            at_once: None,
        }
    }

    /// Returns the members that it reads and waits for, with their outputs.
    pub fn awaits(&self, role: Role) -> impl Iterator<Item = &'static (Role, &'static str)> {
        let at_once = self.at_once.filter(|_| role == Role::D);
        let reads = role.reads().iter();
        reads.filter(move |(of, _)| Some(*of) != at_once)
    }

    /// Returns the ancestors that it waits for, in order.
    #[must_use]
    pub fn ancestors(&self, role: Role) -> BTreeSet<Role> {
        let awaited: BTreeSet<Role> = self.awaits(role).map(|(of, _)| *of).collect();
        let further = awaited.iter().flat_map(|of| self.ancestors(*of));
        further.chain(awaited.iter().copied()).collect()
    }

    /// Returns the part of a run's value that coherence covers: without the source that is not waited for.
    #[must_use]
    pub fn traced(&self, role: Role, value: &str) -> String {
        let mut parts = parts(value);
        let at_once = role
            .reads()
            .iter()
            .position(|(of, _)| Some(*of) == self.at_once);
        if let Some(at) = at_once.filter(|at| role == Role::D && *at < parts.len()) {
            parts.remove(at);
        }
        parts.join(BETWEEN)
    }

    /// Returns true if D may be made of several states, or may run beside its sources.
    #[must_use]
    pub fn is_loose(&self) -> bool {
        self.ignored || self.at_once.is_some()
    }

    /// Returns the role of the Runnable with this number, if any.
    #[must_use]
    pub fn role(&self, number: usize) -> Option<Role> {
        Role::ALL.get(number.checked_sub(self.first)?).copied()
    }

    /// Returns the role of the Runnable of this name, if any.
    #[must_use]
    pub fn role_of(&self, name: &str) -> Option<Role> {
        self.role(name.strip_prefix('r')?.parse().ok()?)
    }

    /// Returns the number of a member.
    #[must_use]
    pub fn number(&self, role: Role) -> usize {
        self.first + role as usize
    }

    /// Returns the key of a member.
    #[must_use]
    pub fn key(&self, role: Role) -> Key {
        runnable(self.number(role))
    }

    /// Returns the number of its template: each member has its own.
    #[must_use]
    pub fn template(role: Role) -> usize {
        TEMPLATES + role as usize
    }

    /// Returns true if it reads the `ConfigMap`.
    #[must_use]
    pub fn is_sized(&self, role: Role) -> bool {
        self.sized[role as usize]
    }

    /// Returns the template of a member.
    #[must_use]
    pub fn template_object(&self, role: Role) -> Value {
        let mut names: Vec<String> = (0..role.reads().len())
            .map(|at| format!("$(runnable.spec.inputs.from{at})$"))
            .collect();
        let own = if role == Role::A { "" } else { "own-" };
        names.push(format!("{own}$(runnable.spec.inputs.value)$"));
        if self.is_sized(role) {
            names.push("$(runnable.spec.inputs.size)$".to_owned());
        }
        let mut outputs = json!({ "answer": ".status.answer" });
        if role == Role::A {
            outputs["side"] = json!(".status.side");
        }
        json!({
            "metadata": { "name": format!("t{}", Self::template(role)) },
            "spec": {
                "template": {
                    "apiVersion": EXAMPLE,
                    "kind": "Task",
                    "metadata": { "generateName": "run-" },
                    "spec": { "value": names.join(BETWEEN), "flavour": "f0", "source": "none" },
                },
                "outputs": outputs,
            },
        })
    }

    /// Returns a member.
    #[must_use]
    pub fn runnable_object(&self, role: Role, input: &str) -> Value {
        let mut from: Vec<Value> = role
            .reads()
            .iter()
            .enumerate()
            .map(|(at, (of, output))| {
                let name = format!("r{}", self.number(*of));
                let mut reference = json!({ "name": name, "output": output });
                if role == Role::D && self.at_once == Some(*of) {
                    reference["waitFor"] = json!("Nothing");
                } else if role == Role::D && self.strict {
                    reference["waitFor"] = json!("Succeeded");
                }
                json!({ "name": format!("from{at}"), "runnableRef": reference })
            })
            .collect();
        if self.is_sized(role) {
            let reference = json!({ "name": "sizes", "key": "small" });
            from.push(json!({ "name": "size", "configMapKeyRef": reference }));
        }
        let mut object = json!({
            "metadata": { "name": format!("r{}", self.number(role)), "namespace": NAMESPACE, "annotations": {} },
            "spec": {
                "runTemplateRef": { "name": format!("t{}", Self::template(role)) },
                "suspend": false,
                "inputs": { "value": input },
                "inputsFrom": from,
                "retentionPolicy": { "maxFailedRuns": 1, "maxSuccessfulRuns": 1 },
            },
        });
        if role == Role::D && self.ignored {
            object["spec"]["coherence"] = json!("Ignored");
        }
        object
    }

    /// Returns the outputs of a member's run: its status without the end.
    #[must_use]
    pub fn gives(&self, role: Role, value: &str, uid: &str) -> Value {
        let mut parts: Vec<String> = value.split(BETWEEN).map(str::to_owned).collect();
        if role == Role::A && self.by_uid {
            parts.push(format!("u{}", &uid[..uid.len().min(8)]));
        }
        let answer = |parts: &[String]| format!("{role:?}<{}>", parts.join(" "));
        if role != Role::A {
            return json!({ "answer": answer(&parts) });
        }
        let side = answer(&parts);
        let class = class(&parts[0]).to_owned();
        parts[0] = class;
        json!({ "answer": answer(&parts), "side": side })
    }

    /// Returns the values that a member's run is made of with this `own` input, these outputs and this size;
    /// `None` if one is missing.
    #[must_use]
    pub fn slots(
        &self,
        role: Role,
        own: &str,
        given: impl Fn(Role, &str) -> Option<String>,
        size: impl Fn() -> Option<String>,
    ) -> Option<Vec<String>> {
        let from = role.reads().iter();
        let mut slots: Vec<String> = from
            .map(|(of, output)| given(*of, output))
            .collect::<Option<_>>()?;
        slots.push(self::own(role, own));
        if self.is_sized(role) {
            slots.push(size()?);
        }
        Some(slots)
    }

    /// Returns the value of the run that a member must have in the present state.
    #[must_use]
    pub fn wanted(&self, store: &Store, role: Role) -> Option<String> {
        let text = |key: &Key, pointer: &str| {
            let object = store.get(key)?;
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.map(str::to_owned)
        };
        let own = text(&self.key(role), "/spec/inputs/value").unwrap_or_default();
        let slots = self.slots(
            role,
            &own,
            |of, output| text(&self.key(of), &format!("/status/outputs/{output}")),
            || text(&sizes(), "/data/small"),
        )?;
        Some(slots.join(BETWEEN))
    }
}

/// Returns the own input of a member, as its runs have it.
#[must_use]
pub fn own(role: Role, input: &str) -> String {
    if role == Role::A {
        input.to_owned()
    } else {
        format!("own-{input}")
    }
}

/// Returns the values that a run is made of, one by one.
#[must_use]
pub fn parts(value: &str) -> Vec<&str> {
    value.split(BETWEEN).collect()
}

/// Returns the class of an input. Two inputs of A are the same to B.
fn class(input: &str) -> &'static str {
    if input == "i0" { "x" } else { "y" }
}

/// Returns the states of A and of the `ConfigMap` that a value derives from. There is more than one word for
/// an object if the value derives from more than one state of it.
#[must_use]
pub fn states(value: &str) -> BTreeMap<char, Vec<String>> {
    let mut states: BTreeMap<char, Vec<String>> = BTreeMap::new();
    for word in value.split(|letter: char| !letter.is_alphanumeric() && letter != '-') {
        let (of, word) = match word.chars().next() {
            Some('i' | 'n') => ('a', class(word)),
            Some('x' | 'y') => ('a', word),
            Some(of @ ('s' | 'u')) => (of, word),
            _ => continue,
        };
        let known = states.entry(of).or_default();
        if !known.iter().any(|it| it == word) {
            known.push(word.to_owned());
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIAMOND: Chain = Chain {
        first: 2,
        sized: [false, true, false, true],
        by_uid: false,
        strict: false,
        ignored: false,
        at_once: None,
    };

    /// Returns the content of D when B and C have seen these inputs of A.
    fn made(of_b: &str, of_c: &str) -> String {
        let given = |input: &str| DIAMOND.gives(Role::A, input, "uid");
        let text = |value: &Value, field: &str| value[field].as_str().unwrap().to_owned();
        let b = format!("{} | own-i2 | s1", text(&given(of_b), "answer"));
        let c = format!("{} | own-i0", text(&given(of_c), "side"));
        let [b, c] = [(Role::B, b), (Role::C, c)]
            .map(|(role, value)| text(&DIAMOND.gives(role, &value, ""), "answer"));
        format!("{b} | {c} | own-i0 | s1")
    }

    #[test]
    fn what_stems_from_one_state_says_one_word_of_it() {
        let one = |value: &str| states(value).values().all(|words| words.len() == 1);
        assert!(one(&made("i0", "i0")));
        assert!(one(&made("i1", "i2")), "B sees no difference");
        assert!(!one(&made("i0", "i1")));
        assert!(!one(&made("i1", "i1").replace("| s1", "| s0")));
    }

    #[test]
    fn what_is_taken_as_it_is_has_no_part_in_what_is_coherent() {
        let loose = Chain {
            at_once: Some(Role::B),
            ..DIAMOND
        };
        assert_eq!(loose.ancestors(Role::D), [Role::A, Role::C].into());
        assert_eq!(loose.ancestors(Role::B), [Role::A].into());
        assert_eq!(
            DIAMOND.ancestors(Role::D),
            [Role::A, Role::B, Role::C].into()
        );
        let value = made("i0", "i1");
        assert!(states(&value)[&'a'].len() > 1);
        assert_eq!(states(&loose.traced(Role::D, &value))[&'a'], ["y"]);
        assert_eq!(DIAMOND.traced(Role::D, &value), value);
    }
}
