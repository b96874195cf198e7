//! The two input files of a runner.

use std::{env, fs, time::Duration};

use anyhow::{Context as _, Result, ensure};
use jiff::SignedDuration;
use serde::{Deserialize, de::DeserializeOwned};

/// Environment variable with the path of the context.
pub const CONTEXT_PATH: &str = "RUNNER_CONTEXT_PATH";
/// Environment variable with the path of the arguments.
pub const ARGS_PATH: &str = "RUNNER_ARGS_PATH";

/// The run that a runner works for, and its limits. Other fields are ignored, because other platforms add some.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The name of the run.
    pub name: String,
    /// True for a dry run, which must change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Maximum duration in the notation of Go; `0s` means no limit.
    #[serde(default)]
    pub timeout: String,
    /// The environment of the runner.
    pub platform: Platform,
}

/// The environment of a runner in Kubernetes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Platform {
    /// The namespace of the run.
    pub namespace: String,
    /// The account of its pod.
    pub service_account_name: String,
    /// The owner of every object that the runner creates.
    pub owner_ref: OwnerReference,
}

/// An owner reference of Kubernetes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// The API version of the owner.
    pub api_version: String,
    /// The kind of the owner.
    pub kind: String,
    /// The name of the owner.
    pub name: String,
    /// The uid of the owner.
    pub uid: String,
}

impl Context {
    /// Returns the maximum duration, or `None` without a limit.
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

/// Parses the file whose path is in an environment variable. JSON is YAML, too.
pub fn read<T: DeserializeOwned>(variable: &str) -> Result<T> {
    let path = env::var(variable).with_context(|| format!("the variable {variable}"))?;
    ensure!(!path.is_empty(), "the variable {variable} is empty");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    serde_saphyr::from_str(&text).with_context(|| format!("reading {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A context as written by Capact.
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
