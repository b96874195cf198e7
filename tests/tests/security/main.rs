//! The security checklist, item by item, where no other test shows it: who can reach what, who can delay
//! whom, and what is ever written down. docs/internals/security-checklist.md names the test of each item.

mod approval;
mod fairness;
mod ground;
mod one_namespace;
mod overlays;
mod planted;
mod pods;
mod policies;
mod roles;
mod secrets;
mod strangers;
mod tenant;
mod watches;
