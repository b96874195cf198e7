//! The engine behind Trials and Recluses.

pub use cartouche_tests::lab::{Kind, end, ended, fails, hangs, start, succeeds, template};
