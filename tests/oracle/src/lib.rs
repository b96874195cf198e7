//! What "exactly once" means, once: whoever plays Cartouche asks this judge.
//!
//! The rules are S1 to S8 and L2 of `docs/exactly-once.md`, and two of profiles: P2, a Runnable stays with its profile until
//! somebody asks to choose anew, and P3, a run is made with the profile that its entry was written with. Their exceptions are the [`Excuse`]s. A
//! [`History`](Event) of who did what to which run and which status is told to a [`Past`], which judges each
//! event by what came before. Three worlds have an adapter to it:
//! - the model (`tests/model/src/judge.rs`) shows the past of each of its states and asks about one step,
//! - the simulation (`tests/simulation/src/oracle/history.rs`) tells all that its store went through,
//! - the tests on a real API server (`tests/src/chronicle.rs`) tell its audit log, and the objects that they saw.
//!
//! What only one world can see (of which inputs a run was made, that nothing is made while a Runnable is
//! suspended) is judged there, in addition.
//!
//! # A create that was given up
//! Its sender died, or had no answer in time: it may be carried out all the same, then or later. There is one
//! rule: **it counts as the run that it made from the moment that this run is known**, by its object or by a
//! ledger that confirmed it, and as nothing before. That run must keep to all the rules: it must have been
//! intended, and if it is the second of its number, only an excuse helps. See [`Past::tell`].
//!
//! # Where the judges before this one differed
//! There were four, and this is what each rule has become:
//! - **S1**. The fault plans allowed two runs of a number wherever a scenario said so, and the model wherever
//!   the first was deleted too early (I1). The simulation knew no I1. Now: the first must be gone, deleted by
//!   somebody before a ledger knew it or while a create for it was on its way, and both must be made of the
//!   same. Runs were counted by the name of their Runnable where the audit log is read: now by its uid.
//! - **S2**. The simulation compared entries by uid, the model by number as well; the tests on the API server
//!   did not. Now by both, unless the status was lost since the run was made. Only of a run that another release
//!   made may a ledger say another hash than the run's, and of one on which somebody has written another hash.
//! - **S3**. That a create is intended was asked of answered creates only; now of each that made a run. That
//!   a ledger must not vanish was asked in the simulation only. The model let a number be passed over if its
//!   run was never made, the simulation if a stranger held its name; now both must be so, as promise 3 says, and
//!   the stranger's object must have been there when the number was given, or later.
//!   After a backup the model let only a document run that is not the newest run's; now everybody does.
//! - **S4**. Each asked for another part of it; now all of it is asked, by the status before, whoever wrote
//!   it. What a status lost that somebody emptied, its controllers cannot keep, but they find it again: the next
//!   outputs are of no run that is older than one that is there and had succeeded before. Where the audit log is
//!   read, neither what a run gave nor whether it succeeded is asked, only the source and its order.
//! - **S5**. The model forgave a delete of a run that no ledger knows wherever there was no ledger, the simulation
//!   never. Now a run must have been known before its ledger was lost. The fault plans counted deletes only;
//!   they still do not ask how old a run was, since the adapter of the audit log tells no seconds.
//! - **I3**. Any change of a status by somebody else excused what followed. Now one that takes away nothing of what
//!   the status says of runs excuses nothing.

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
