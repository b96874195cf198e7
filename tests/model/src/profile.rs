//! Profiles, checked: every order in which a user changes them, requests another one and changes inputs, in
//! which caches catch up, creates go astray and statuses are lost, against the decisions of the controller
//! itself.
//!
//! # What a step is
//! A look of a worker begins with the Runnable, the profiles and the runs out of its caches, each of any age.
//! It reads everything else at once. Each write of the status, each create that is sent and each create that
//! arrives is a step of its own, and a crash may come between any two. A create whose sender has crashed
//! arrives later, or never.
//!
//! # What must hold
//! - "P1": a number is given for other inputs only: never because a profile, or a rule, is another one.
//! - "P2": the pin changes by a request only, by the first choice, or by a rebuilt ledger, which takes the
//!   pin of the newest run.
//! - "P3": one object for a number, made with the profile that its entry was written with, regardless of its
//!   sender and of the profiles that the sender knew.
//! - "pinned": the choice is written with the number: the one profile that matches with the highest rank.
//!   Where several do, no number is given.
//! - "proof": a run is made with an existing profile; and with one that only a run names, if a rule of it
//!   matches.
//! - "approved": where each run needs approval, one is made only of what the user saw and approved for its
//!   number: these inputs, and the profile as it was then, though it changes between the approval, the number
//!   and the create.
//! - "rests": when all is quiet, the ledger knows every run and has one for the inputs, or the status reports
//!   that no profile can be used.
//!
//! # What is abstract
//! Runs do not end, and are never deleted: that is for the rest of this crate, and so are all failures of
//! reads. After a status was lost, no worker continues while a create can be on its way.

mod cast;
pub mod catalogue;
mod decisions;
mod judge;
pub mod model;
pub mod mutant;
mod worker;
pub mod world;

pub use model::ProfileModel;
