//! Clocks of a cluster.

use k8s_openapi::jiff::SignedDuration;

/// Maximum difference between the clocks of two parts of a control plane: two API servers, or one and the Job
/// controller.
pub const CLOCKS: SignedDuration = SignedDuration::from_secs(30);
