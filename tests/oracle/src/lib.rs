//! The meaning of "exactly once", in one place: all test suites of Cartouche ask this judge.
//!
//! The rules are S1 to S8 and L2 of `docs/concepts/exactly-once.md`, and two of profiles: P2, a Runnable stays with
//! its profile until a user requests to choose anew, and P3, a run is made with the profile that its entry
//! was written with. Their exceptions are the [`Excuse`]s. A [`History`](Event) of who did what to which run
//! and which status is passed to a [`Past`], which judges each event by the earlier ones. Three worlds have
//! an adapter to it:
//! - the model (`tests/model/src/judge.rs`) shows the past of each of its states and asks about one step,
//! - the simulation (`tests/simulation/src/oracle/history.rs`) passes all that its store went through,
//! - the tests on a real API server (`tests/src/chronicle.rs`) pass its audit log, and the objects that they
//!   saw.
//!
//! Rules that only one world can check (of which inputs a run was made, that nothing is made while a Runnable
//! is suspended) are judged there, in addition.
//!
//! # A create that was given up
//! Its sender died, or had no answer in time: it may still take effect, then or later. There is one rule:
//! **it counts as the run that it made from the moment that this run is known**, by its object or by a ledger
//! that confirmed it, and as nothing before. That run must keep to all the rules: it must have been intended,
//! and if it is the second of its number, only an excuse helps. See [`Past::tell`].
//!
//! # Where the judges before this one differed
//! There were four, and this is the present form of each rule:
//! - **S1**. The fault plans allowed two runs of a number wherever a scenario declared so, and the model
//!   wherever the first was deleted too early (I1). The simulation knew no I1. Now the first must be gone,
//!   deleted by a user before a ledger knew it or while a create for it was on its way, and both must have
//!   the same content. The audit log's adapter counted runs by the name of their Runnable: now by its uid.
//! - **S2**. The simulation compared entries by uid, the model by number as well; the tests on the API server
//!   did not. Now by both, unless the status was lost since the run was made. A ledger may record another
//!   hash than the run's only for a run that another release made, and for one on which a user has written
//!   another hash.
//! - **S3**. Only answered creates needed an intent; now each create that made a run does. Only the
//!   simulation checked that a ledger does not vanish. The model let a number be passed over if its run was
//!   never made, the simulation if a stranger held its name; now both must be so, as promise 3 says, and the
//!   stranger's object must have been there when the number was given, or later. After a backup the model let
//!   only a document run that is not the newest run's; now all do.
//! - **S4**. Each checked another part of it; now all of it is checked, against the previous status, whoever
//!   wrote it. Controllers cannot keep what an emptied status lost, but they find it again: the next outputs
//!   are of no run that is older than an existing one that had succeeded before. For the audit log neither
//!   the outputs of a run nor its success is checked, only the source and its order.
//! - **S5**. The model forgave a delete of a run that no ledger knows wherever there was no ledger, the
//!   simulation never. Now a run must have been known before its ledger was lost. The fault plans only
//!   counted deletes. They still do not check the age of a run, because the adapter of the audit log has no
//!   seconds.
//! - **I3**. Any change of a status by others excused its consequences. Now one that removes nothing of the
//!   status's record of runs excuses nothing.

mod approval;
mod cleanup;
mod content;
mod history;
mod loss;
mod numbers;
mod outputs;
mod overlap;
mod past;
mod profiles;
mod retries;
mod runs;
mod stops;
mod verdict;

pub use history::{Actor, Event, Object, Run, Runnable, Time, Verb};
pub use loss::is_loss;
pub use past::{Known, Past, Served, Sight};
pub use verdict::{Excuse, Verdict, Violation};
