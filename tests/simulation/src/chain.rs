//! A diamond of Runnables: B and C read A, and D reads both. What a run gives holds what it was made from, so that of
//! each run it can be told from which state of the others it stems, whatever any status says.

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

/// How many Runnables it has.
pub const MEMBERS: usize = 4;
/// Between the values that a run is made of.
const BETWEEN: &str = " | ";

/// A member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// It reads no other.
    A,
    /// It reads of A what often stays the same.
    B,
    /// It reads all of A.
    C,
    /// It reads B and C.
    D,
}

impl Role {
    /// All of them, in order.
    pub const ALL: [Self; MEMBERS] = [Self::A, Self::B, Self::C, Self::D];

    /// Whom it reads, and which outputs of them.
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
    /// Which of them read the `ConfigMap`.
    pub sized: [bool; MEMBERS],
    /// Each run of A gives something else, whatever it is made of.
    pub by_uid: bool,
    /// D wants that those which it reads have succeeded.
    pub strict: bool,
    /// D does not ask of how many states its inputs are.
    pub ignored: bool,
    /// What D reads of this one it takes as it is, and waits for nothing.
    pub at_once: Option<Role>,
}

/// The key of the `ConfigMap` that some of them read.
#[must_use]
pub fn sizes() -> Key {
    Key {
        resource: Resource::ConfigMaps,
        namespace: NAMESPACE.to_owned(),
        name: "sizes".to_owned(),
    }
}

/// The `ConfigMap` at first.
#[must_use]
pub fn sizes_object() -> Value {
    json!({ "metadata": { "name": "sizes", "namespace": NAMESPACE }, "data": { "small": "s0", "other": "n0" } })
}

impl Chain {
    /// Draws one, whose A has this number.
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

    /// Whom a member reads, and which outputs of them, but for what it takes as it is.
    pub fn awaits(&self, role: Role) -> impl Iterator<Item = &'static (Role, &'static str)> {
        let at_once = self.at_once.filter(|_| role == Role::D);
        let reads = role.reads().iter();
        reads.filter(move |(of, _)| Some(*of) != at_once)
    }

    /// Whom it stems from and waits for, in order.
    #[must_use]
    pub fn ancestors(&self, role: Role) -> BTreeSet<Role> {
        let awaited: BTreeSet<Role> = self.awaits(role).map(|(of, _)| *of).collect();
        let further = awaited.iter().flat_map(|of| self.ancestors(*of));
        further.chain(awaited.iter().copied()).collect()
    }

    /// Of the value of a member's run what takes part in what is coherent: not what was taken as it was.
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

    /// Whether D may be made of several states, or may run beside those that it reads.
    #[must_use]
    pub fn is_loose(&self) -> bool {
        self.ignored || self.at_once.is_some()
    }

    /// What the Runnable with this number is in it.
    #[must_use]
    pub fn role(&self, number: usize) -> Option<Role> {
        Role::ALL.get(number.checked_sub(self.first)?).copied()
    }

    /// What the Runnable of this name is in it.
    #[must_use]
    pub fn role_of(&self, name: &str) -> Option<Role> {
        self.role(name.strip_prefix('r')?.parse().ok()?)
    }

    /// The number of a member.
    #[must_use]
    pub fn number(&self, role: Role) -> usize {
        self.first + role as usize
    }

    /// The key of a member.
    #[must_use]
    pub fn key(&self, role: Role) -> Key {
        runnable(self.number(role))
    }

    /// The number of its template: each member has its own.
    #[must_use]
    pub fn template(role: Role) -> usize {
        TEMPLATES + role as usize
    }

    /// Whether it reads the `ConfigMap`.
    #[must_use]
    pub fn is_sized(&self, role: Role) -> bool {
        self.sized[role as usize]
    }

    /// The template of a member.
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

    /// A member.
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

    /// What a run of a member gives: its status, but for the end.
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

    /// The values that a run of a member is made of, if it sees this `own` input, this of others and this size. `None`: one
    /// is not there.
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

    /// The value of the run that a member has to have for what is there now.
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

/// The own input of a member, as it stands in its runs.
#[must_use]
pub fn own(role: Role, input: &str) -> String {
    if role == Role::A {
        input.to_owned()
    } else {
        format!("own-{input}")
    }
}

/// The values that a run is made of, one by one.
#[must_use]
pub fn parts(value: &str) -> Vec<&str> {
    value.split(BETWEEN).collect()
}

/// Two inputs of A are the same to B.
fn class(input: &str) -> &'static str {
    if input == "i0" { "x" } else { "y" }
}

/// What a value says of the state of A and of the `ConfigMap` that it stems from, and more than one word where it stems from more
/// than one state.
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

    /// What D is made of when B and C have seen these inputs of A.
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
