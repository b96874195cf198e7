//! The two files.

use std::{env, fs, time::Duration};

use anyhow::{Context as _, Result, ensure};
use jiff::SignedDuration;
use serde::{Deserialize, de::DeserializeOwned};

/// Names the file that says for whom a runner works.
pub const CONTEXT_PATH: &str = "RUNNER_CONTEXT_PATH";
/// Names the file that says what it is to do.
pub const ARGS_PATH: &str = "RUNNER_ARGS_PATH";

/// For whom a runner works, and within which bounds. Fields that are not here are left alone: other platforms say more.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The name of the run.
    pub name: String,
    /// Whether nothing may be changed.
    #[serde(default)]
    pub dry_run: bool,
    /// How long it may take, as Go writes durations; `0s` is as long as it takes.
    #[serde(default)]
    pub timeout: String,
    /// Where it works.
    pub platform: Platform,
}

/// Where a runner works: in Kubernetes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Platform {
    /// The namespace of the run.
    pub namespace: String,
    /// The account that its pod works as.
    pub service_account_name: String,
    /// What owns everything that it makes.
    pub owner_ref: OwnerReference,
}

/// An owner, as Kubernetes names it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Context {
    /// How long it may take; `None` without a bound.
    pub fn timeout(&self) -> Result<Option<Duration>> {
        if self.timeout.is_empty() {
            return Ok(None);
        }
        let wrong = || format!("timeout {:?} is no duration such as 10m0s", self.timeout);
        let timeout: SignedDuration = self.timeout.parse().with_context(wrong)?;
        let timeout = Duration::try_from(timeout).with_context(wrong)?;
        Ok((!timeout.is_zero()).then_some(timeout))
    }
}

/// What is in the file that a variable names. JSON is YAML, too.
pub fn read<T: DeserializeOwned>(variable: &str) -> Result<T> {
    let path = env::var(variable).with_context(|| format!("the variable {variable}"))?;
    ensure!(!path.is_empty(), "the variable {variable} is empty");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    serde_saphyr::from_str(&text).with_context(|| format!("reading {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Capact wrote.
    const YAML: &str = "
name: build-42
dryRun: false
timeout: 10m0s
platform:
  namespace: team
  serviceAccountName: builder
  ownerRef:
    apiVersion: argoproj.io/v1alpha1
    kind: Workflow
    name: build
    uid: 3e0a
    blockOwnerDeletion: true
";

    fn with_timeout(timeout: &str) -> Context {
        let mut context: Context = serde_saphyr::from_str(YAML).unwrap();
        timeout.clone_into(&mut context.timeout);
        context
    }

    #[test]
    fn a_context_is_the_same_as_yaml_and_as_json() {
        let context: Context = serde_saphyr::from_str(YAML).unwrap();
        assert_eq!(context.platform.owner_ref.uid, "3e0a");
        let json: serde_json::Value = serde_saphyr::from_str(YAML).unwrap();
        let again: Context = serde_saphyr::from_str(&json.to_string()).unwrap();
        assert_eq!(again, context);
    }

    #[test]
    fn durations_are_texts_of_go() {
        for (text, seconds) in [
            ("10m0s", 600),
            ("10m", 600),
            ("1h30m", 5400),
            ("1h0m0s", 3600),
            ("90s", 90),
            ("1.5h", 5400),
        ] {
            let timeout = with_timeout(text).timeout().unwrap();
            assert_eq!(timeout, Some(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn no_time_is_no_bound() {
        for text in ["", "0s"] {
            assert_eq!(with_timeout(text).timeout().unwrap(), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_duration_is_said() {
        for text in ["ten minutes", "-10m", "10"] {
            let error = with_timeout(text).timeout().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
