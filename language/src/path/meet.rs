//! Overlap of two paths, without a document. In doubt they overlap.

use serde_json::Value;

use super::{
    Path,
    step::{Filter, Operator, PathNode, Slice},
};

impl Path {
    /// Returns true if in some document this path may lead to the target of another path, into it, or to a value
    /// that contains it.
    #[must_use]
    pub fn may_meet(&self, other: &Self) -> bool {
        for (one, other) in self.nodes.iter().zip(&other.nodes) {
            if may_lead_anywhere(one) || may_lead_anywhere(other) {
                return true;
            }
            if !may_be_same(one, other) {
                return false;
            }
        }
        // One of them ends before the other one.
        true
    }
}

/// Returns true if a step may lead to any depth, or to a place that does not follow from the one before.
fn may_lead_anywhere(node: &PathNode) -> bool {
    match node {
        PathNode::Descend | PathNode::Literal(_) => true,
        PathNode::Union(members) => members
            .iter()
            .any(|member| !matches!(member.as_slice(), [node] if !may_lead_anywhere(node))),
        PathNode::Key(_) | PathNode::Slice(_) | PathNode::Wildcard | PathNode::Filter(_) => false,
    }
}

/// Returns true if two steps from one value may lead to the same member or element of it.
fn may_be_same(one: &PathNode, other: &PathNode) -> bool {
    match (one, other) {
        (PathNode::Union(members), node) | (node, PathNode::Union(members)) => members
            .iter()
            .flatten()
            .any(|member| may_be_same(member, node)),
        (PathNode::Key(one), PathNode::Key(other)) => one == other,
        // A value has either members or elements.
        (PathNode::Key(_), PathNode::Slice(_) | PathNode::Filter(_))
        | (PathNode::Slice(_) | PathNode::Filter(_), PathNode::Key(_)) => false,
        (PathNode::Slice(one), PathNode::Slice(other)) => may_share_element(one, other),
        (PathNode::Filter(one), PathNode::Filter(other)) => !exclude(one, other),
        _ => true,
    }
}

fn may_share_element(one: &Slice, other: &Slice) -> bool {
    let position = |slice: &Slice| slice.start.filter(|_| slice.single);
    match (position(one), position(other)) {
        // A position from the end may be any.
        (Some(one), Some(other)) if (one < 0) == (other < 0) => one == other,
        _ => true,
    }
}

/// Returns true if no element passes both filters: they require different texts in the same member.
fn exclude(one: &Filter, other: &Filter) -> bool {
    let text = |filter: &Filter| match &filter.comparison {
        Some((Operator::Equal, right)) => match right.as_slice() {
            [PathNode::Literal(Value::String(text))] => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    let is_plain = one.left.iter().all(|node| node.key().is_some());
    let texts = text(one).zip(text(other));
    is_plain && one.left == other.left && texts.is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_meet(one: &str, other: &str) -> bool {
        let (one, other) = (Path::parse(one).unwrap(), Path::parse(other).unwrap());
        let meet = one.may_meet(&other);
        assert_eq!(other.may_meet(&one), meet, "{one:?} {other:?}");
        meet
    }

    #[test]
    fn each_spelling_of_a_place_of_what_holds_it_and_of_what_is_in_it_meets_it() {
        for other in [
            ".status.db[0].pin",
            "{.status['db'][0].pin}",
            "status.db[0]['pin']",
            ".status",
            ".status.db",
            ".status.db[*]",
            ".status.db[:]",
            ".status.db[0:2].pin",
            ".status.db[-1].pin",
            ".status.db[?(@.pin)].pin",
            ".status.db[?(@.name==\"a\")].pin.digits",
            ".status.db[0,1].pin",
            ".status['other','db'][0].pin",
            ".status['other','d.b'].x",
            ".*",
            ".*.db[0].pin",
            ".status.*",
            ".status.db[0].*",
            "..pin",
            "..",
            ".status..x",
        ] {
            assert!(may_meet(".status.db[0].pin", other), "{other}");
        }
    }

    #[test]
    fn places_apart_do_not_meet() {
        for (one, other) in [
            (".status.pin", ".status.user"),
            (".status.pin", ".spec..pin"),
            (".status.list[0].pin", ".status.list[1].pin"),
            (".status.list[-1].pin", ".status.list[-2].pin"),
            (".status.list[0].pin", ".status.list.pin"),
            (".status.list[*].pin", ".status.list[*].user"),
            (".status['a','b'].pin", ".status['c','d'].pin"),
            (
                ".status.results[?(@.name==\"pin\")].value",
                ".status.results[?(@['name']=='user')].value",
            ),
        ] {
            assert!(!may_meet(one, other), "{one} {other}");
        }
    }

    #[test]
    fn filters_that_do_not_exclude_each_other_may_pass_one_element() {
        let pin = ".status.results[?(@.name==\"pin\")].value";
        for other in [
            ".status.results[?(@.name!=\"pin\")].value",
            ".status.results[?(@.kind==\"user\")].value",
            ".status.results[?(@..name==\"user\")].value",
            ".status.results[?(@.name)].value",
            ".status.results[1].value",
        ] {
            assert!(may_meet(pin, other), "{other}");
        }
    }

    #[test]
    fn many_unions_take_no_time() {
        let path = format!(".status{}", "['a','b','c','d']".repeat(50));
        assert!(may_meet(&path, &path));
        assert!(!may_meet(&format!("{path}.x"), &format!("{path}.y")));
    }
}
