//! Cures for Warning events of a run or of one of its pods, by reason and words.

const SECRET: &str = "create that Secret, or correct its name in the template: the run continues by itself once it exists";
const CONFIG_MAP: &str = "create that ConfigMap, or correct its name in the template: the run continues by itself once it exists";
const KEY: &str = "add that key to the object, or correct it under items of the volume in the template: the run continues by itself once it exists";
const HOST_PATH: &str = "create that path on the node, correct it in the template, or give the hostPath type: DirectoryOrCreate";
const CLAIM: &str = "create that PersistentVolumeClaim, or correct its name in the template: the run continues by itself once it exists";
const VOLUME: &str = "check that the volume and its driver exist (`kubectl get pvc,pv,csidrivers`), or correct the volume in the template";
const QUOTA: &str = "raise that quota, free what it counts, or let the template ask for less";
const QUOTA_WANTS: &str =
    "give the containers in the template what the quota counts, under resources";
const POD_SECURITY: &str = "let the template set the securityContext that the answer names, or run it in a namespace whose label pod-security.kubernetes.io/enforce allows it";
const ACCOUNT: &str =
    "create that ServiceAccount, or correct serviceAccountName of the pod in the template";
const PULL: &str =
    "correct the image in the template, or let the nodes pull it (its registry, imagePullSecrets)";
const PROBE: &str = "correct that probe in the template (its port and path, initialDelaySeconds, failureThreshold), or remove it: a run that ends by itself needs none";
const SANDBOX: &str =
    "check the network and the container runtime of that node; Kubernetes retries";

/// Returns the cure for a Warning event, if it is known. Foreign text can only choose among these sentences.
#[must_use]
pub fn cure_of_event(reason: &str, message: &str) -> Option<&'static str> {
    let says = |part: &str| message.contains(part);
    match reason {
        "FailedMount" if says("references non-existent") => Some(KEY),
        "FailedMount" if says("secret \"") && says("not found") => Some(SECRET),
        "FailedMount" if says("configmap \"") && says("not found") => Some(CONFIG_MAP),
        "FailedMount" if says("hostPath type check failed") => Some(HOST_PATH),
        "FailedScheduling" | "FailedMount" if says("persistentvolumeclaim \"") => Some(CLAIM),
        "FailedMount" | "FailedAttachVolume" | "FailedMapVolume" | "ProvisioningFailed" => {
            Some(VOLUME)
        }
        "FailedCreate" if says("exceeded quota") => Some(QUOTA),
        "FailedCreate" if says("failed quota") => Some(QUOTA_WANTS),
        "FailedCreate" if says("violates PodSecurity") => Some(POD_SECURITY),
        "FailedCreate" if says("serviceaccount \"") && says("not found") => Some(ACCOUNT),
        "Failed" if says("Failed to pull") => Some(PULL),
        "Unhealthy" => Some(PROBE),
        "FailedCreatePodSandBox" => Some(SANDBOX),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_cure_and_other_words_have_none() {
        for (reason, message, cure) in [
            (
                "FailedMount",
                "MountVolume.SetUp failed for volume \"s\" : secret \"nope\" not found",
                SECRET,
            ),
            (
                "FailedMount",
                "MountVolume.SetUp failed for volume \"s\" : references non-existent secret key: cert",
                KEY,
            ),
            (
                "FailedMount",
                "MountVolume.SetUp failed for volume \"h\" : hostPath type check failed: /x is not a directory",
                HOST_PATH,
            ),
            ("FailedMount", "timed out", VOLUME),
            (
                "FailedCreate",
                "Error creating: pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": x",
                POD_SECURITY,
            ),
            (
                "FailedCreate",
                "Error creating: pods \"a\" is forbidden: exceeded quota: q",
                QUOTA,
            ),
            (
                "FailedCreate",
                "Error creating: pods \"a\" is forbidden: error looking up service account demo/x: serviceaccount \"x\" not found",
                ACCOUNT,
            ),
            ("Unhealthy", "Liveness probe failed: dial tcp", PROBE),
        ] {
            assert_eq!(cure_of_event(reason, message), Some(cure), "{message}");
        }
        assert_eq!(cure_of_event("BackOff", "secret \"a\" not found"), None);
    }
}
