//! Clocks of a cluster.

use k8s_openapi::jiff::SignedDuration;

/// Difference that the clocks of two parts of a control plane may have: of two API servers, or of one and the controller of Jobs.
pub const CLOCKS: SignedDuration = SignedDuration::from_secs(30);
