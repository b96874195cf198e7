//! The resource of a kind, as RBAC names it.

use std::{fmt, str::FromStr};

use anyhow::bail;
use cartouche_engines::kinds::{self, Watch};

use crate::schema::{catalog::Catalog, own};

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The API group; empty for that of Pods.
    pub group: String,
    /// Plural name in lower case.
    pub plural: String,
    /// True if its objects are in a namespace.
    pub namespaced: bool,
}

impl fmt::Display for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => formatter.write_str(&self.plural),
            group => write!(formatter, "{}.{group}", self.plural),
        }
    }
}

/// As it is given on the command line: `jobs.batch`, `pods`.
impl FromStr for Resource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_letter);
        if !text.split('.').all(is_part) {
            let wanted = "it is PLURAL.GROUP, such as jobs.batch, or PLURAL alone, such as pods";
            return Err(wanted.to_owned());
        }
        let (plural, group) = text.split_once('.').unwrap_or((text, ""));
        Ok(Self {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespaced: true,
        })
    }
}

/// Returns the group of an `apiVersion`.
#[must_use]
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the resource of a kind without a cluster: from definitions among files, from the kinds of Kubernetes, and
/// from those whose runs the controller watches.
#[must_use]
pub fn without_cluster(catalog: &Catalog, api_version: &str, kind: &str) -> Option<Resource> {
    let group = group_of(api_version);
    let resource = |plural: &str, namespaced: Option<bool>| Resource {
        group: group.to_owned(),
        plural: plural.to_owned(),
        namespaced: namespaced.unwrap_or(true),
    };
    let schema = if group == cartouche_crds::GROUP && kind == crate::objects::RUNNABLE {
        Some(own::runnable())
    } else {
        catalog.get(api_version, kind)
    };
    if let Some(schema) = schema
        && let Some(plural) = &schema.plural
    {
        return Some(resource(plural, schema.namespaced));
    }
    let known = kinds::find_kind(api_version, kind)?;
    match known.watch {
        Watch::ClusterRole {
            resource: plural, ..
        } => Some(resource(plural, None)),
        Watch::Nothing => None,
    }
}

/// Returns the resource of a kind that `find` knows, or else the given one of its group with a name like it.
pub(crate) fn known_or_given(
    api_version: &str,
    kind: &str,
    given: &[Resource],
    find: impl Fn(&str, &str) -> Option<Resource>,
) -> anyhow::Result<Resource> {
    if api_version.is_empty() || kind.is_empty() {
        bail!("a selector names no apiVersion and kind\nhint: cartouche validate says where");
    }
    if let Some(found) = find(api_version, kind) {
        // A definition among the files may hold anything, such as a star.
        if let Err(wanted) = found.to_string().parse::<Resource>() {
            bail!("the resource {found} of {kind} can be in no role: {wanted}");
        }
        return Ok(found);
    }
    let group = group_of(api_version);
    // A plural begins as its kind does: Policy, policies. Another one of the group is of another kind.
    let beginning = kind.to_lowercase();
    let beginning = beginning.strip_suffix('y').unwrap_or(&beginning);
    let mut named = given
        .iter()
        .filter(|it| it.group == group && it.plural.starts_with(beginning));
    match (named.next(), named.next()) {
        (Some(named), None) => Ok(named.clone()),
        _ => bail!(
            "the plural name of {kind} of {api_version} is not known here\n\
             hint: ask a cluster that serves it (without -f), have its CustomResourceDefinition among the files, \
             or name it, as it begins like the kind: --resource {}s.{group}",
            kind.to_lowercase()
        ),
    }
}
