//! Sentences about a Runnable that are for people: a problem, its cure, and their form.

pub mod diagnosis;
pub mod format;
pub mod reconcile_error;
