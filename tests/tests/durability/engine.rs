//! The engine behind Trials and Recluses.

pub use cartouche_tests::lab::{
    JOB, Kind, OMEN, RECLUSE, TRIAL, end, ended, fails, hangs, start, succeeds, template,
};
