//! Configurations that reveal each deliberate mistake.

use super::{
    ab, approval, debounce, faults, lost_status::restored_kinds, memory, overlap, plain, releases,
    retention, retries, timeouts,
};
use crate::{
    configuration::{Configuration, Left},
    mutant::Mutant,
};

/// Returns one configuration for each mistake.
#[must_use]
pub fn mutants() -> Vec<Configuration> {
    let mut all = of_decisions();
    all.extend(of_memory());
    all.extend(of_retries());
    all.extend(of_stops());
    all.extend(of_overlap());
    all.extend(of_approval());
    all
}

#[allow(clippy::too_many_lines)] // a table
fn of_decisions() -> Vec<Configuration> {
    let deletes = || Configuration {
        inputs: ab(),
        workers: 1,
        patient_users: true,
        left: Left {
            unfinished: 1,
            finished: 1,
            ..faults(1, 0)
        },
        ..plain()
    };
    let wipe = || Configuration {
        left: Left {
            wipes: 1,
            ..faults(1, 1)
        },
        ..plain()
    };
    vec![
        Configuration {
            name: "no precondition on the status write",
            mutant: Mutant::NoPrecondition,
            ..plain()
        },
        Configuration {
            name: "no minimum age",
            mutant: Mutant::NoMinimumAge,
            ..retention()
        },
        Configuration {
            name: "name made of the hash",
            mutant: Mutant::NameOfHash,
            ..plain()
        },
        Configuration {
            name: "generateName only",
            mutant: Mutant::GenerateName,
            ..plain()
        },
        Configuration {
            name: "no intent write",
            mutant: Mutant::NoIntent,
            ..plain()
        },
        Configuration {
            name: "stale template at the intent",
            mutant: Mutant::StaleTemplate,
            by_template: true,
            ..plain()
        },
        Configuration {
            name: "adoption without owner, number or hash",
            mutant: Mutant::AdoptUnchecked,
            left: Left {
                strangers: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
        Configuration {
            name: "outputs of the run that finished last",
            mutant: Mutant::OutputsByTime,
            inputs: ab(),
            workers: 1,
            left: faults(0, 0),
            ..plain()
        },
        Configuration {
            name: "create sent again without a look",
            mutant: Mutant::CreateRetried,
            ..retention()
        },
        Configuration {
            name: "AlreadyExists is the end",
            mutant: Mutant::TakenIsTheEnd,
            ..plain()
        },
        Configuration {
            name: "confirm skipped",
            mutant: Mutant::ConfirmSkipped,
            ..plain()
        },
        Configuration {
            name: "finished and deleted: again",
            mutant: Mutant::FinishedRunAgain,
            ..deletes()
        },
        Configuration {
            name: "lost: again",
            mutant: Mutant::LostRunAgain,
            ..deletes()
        },
        Configuration {
            name: "unfinished runs retired",
            mutant: Mutant::UnfinishedRetired,
            ..retention()
        },
        Configuration {
            name: "unanswered entry dropped",
            mutant: Mutant::UnansweredDropped,
            ..plain()
        },
        Configuration {
            name: "no rebuild",
            mutant: Mutant::NoRebuild,
            ..wipe()
        },
        Configuration {
            name: "outputs of the oldest run that is found again",
            mutant: Mutant::OldestOutputs,
            inputs: ab(),
            workers: 1,
            left: Left {
                wipes: 1,
                ..faults(0, 0)
            },
            ..plain()
        },
        Configuration {
            name: "no quiet period",
            mutant: Mutant::NoQuietPeriod,
            ..wipe()
        },
        Configuration {
            name: "an overtaken ledger believed",
            mutant: Mutant::NoCatchUp,
            left: Left {
                restores: 1,
                ..faults(0, 0)
            },
            ..plain()
        },
        Configuration {
            name: "what is ahead of the ledger forgotten too soon",
            mutant: Mutant::AheadForgotten,
            workers: 1,
            inputs: ab(),
            left: Left {
                restores: 1,
                mistypes: 1,
                ..faults(0, 0)
            },
            ..plain()
        },
        Configuration {
            name: "what is ahead of the ledger believed",
            mutant: Mutant::AheadIsTrue,
            workers: 1,
            left: Left {
                forgeries: 1,
                ..faults(0, 0)
            },
            ..plain()
        },
        Configuration {
            name: "age of what has the name unchecked",
            mutant: Mutant::AgeUnchecked,
            workers: 1,
            left: Left {
                forgeries: 1,
                ..faults(0, 0)
            },
            ..plain()
        },
        Configuration {
            name: "creates taken for settled at once",
            mutant: Mutant::SettledAtOnce,
            ..wipe()
        },
        Configuration {
            name: "any status without a ledger taken for our own",
            mutant: Mutant::ReportTakenForOwn,
            ..wipe()
        },
        Configuration {
            name: "who has written the status not asked",
            mutant: Mutant::WritersIgnored,
            ..restored_kinds()
        },
        Configuration {
            name: "spec.suspend ignored",
            mutant: Mutant::SuspensionIgnored,
            left: Left {
                suspensions: 1,
                ..faults(1, 1)
            },
            ..plain()
        },
    ]
}

/// Mistakes in the memory of a process.
fn of_memory() -> Vec<Configuration> {
    let all = [
        (
            "a note of writers remembered too soon",
            Mutant::NotedAtOnce,
            memory::restored_beside(),
        ),
        (
            "the number given last forgotten",
            Mutant::NumberForgotten,
            memory::restored_unnoted(),
        ),
        (
            "what was ahead of the ledger forgotten",
            Mutant::UnknownForgotten,
            memory::forged_before(),
        ),
        (
            "an echo that is waited for unheard",
            Mutant::EchoUnheard,
            memory::events(),
        ),
        (
            "a missing run waited for without end",
            Mutant::GraceEndless,
            memory::lost(),
        ),
        (
            "a run that no watch shows never looked for",
            Mutant::UnobservedForever,
            memory::unobserved(),
        ),
        (
            "what is seen of a run made here ignored",
            Mutant::SightsIgnored,
            memory::events(),
        ),
    ];
    named(all)
}

/// Mistakes in retries.
fn of_retries() -> Vec<Configuration> {
    let all = [
        (
            "tried again under the same number",
            Mutant::RetrySameNumber,
            retries::retry(),
        ),
        (
            "tried again though no ledger says when",
            Mutant::RetryUnplanned,
            retries::lost_status(),
        ),
        (
            "attempts not counted",
            Mutant::AttemptsUncounted,
            retries::retry(),
        ),
        (
            "a cancelled run tried again",
            Mutant::CancelIgnored,
            retries::cancelled(),
        ),
        (
            "a change waits for the next attempt",
            Mutant::ChangeWaitsForRetry,
            retries::changed_at_once(),
        ),
    ];
    named(all)
}

/// Mistakes in stopping runs.
fn of_stops() -> Vec<Configuration> {
    let all = [
        (
            "told to stop before it is written",
            Mutant::StopUnwritten,
            timeouts::timeout(),
        ),
        (
            "a stopped run made again",
            Mutant::StoppedRunAgain,
            timeouts::deleted(),
        ),
        (
            "a stopped run counts as lost",
            Mutant::StoppedRunLost,
            timeouts::deleted(),
        ),
        (
            "that a run was told to stop forgotten",
            Mutant::StopForgotten,
            timeouts::timeout(),
        ),
        (
            "told to stop only by who has written it",
            Mutant::StopAskedOnce,
            timeouts::timeout(),
        ),
    ];
    named(all)
}

/// Mistakes in the concurrency of runs.
fn of_overlap() -> Vec<Configuration> {
    let all = [
        (
            "a change that waits forgotten",
            Mutant::WaitingChangeForgotten,
            overlap::latest(),
        ),
        (
            "what nobody has seen not at work",
            Mutant::UnseenNotAtWork,
            overlap::latest(),
        ),
        (
            "given up without a word in the ledger",
            Mutant::WithdrawnUnwritten,
            overlap::latest(),
        ),
        (
            "what somebody deleted at work for ever",
            Mutant::DeletedAtWork,
            overlap::deleted(),
        ),
        (
            "what is told to stop at work no more",
            Mutant::ReplacedAtOnce,
            overlap::replace(),
        ),
        (
            "what made way lost when it is wanted again",
            Mutant::ReplacedForGood,
            overlap::wanted_again(),
        ),
        (
            "a number of another release given up at once",
            Mutant::OtherReleaseSuperseded,
            releases::one_change(),
        ),
        (
            "a number of another release given up by its age",
            Mutant::OtherReleaseOld,
            releases::one_change(),
        ),
    ];
    named(all)
}

/// Mistakes in the debounce and in approvals.
fn of_approval() -> Vec<Configuration> {
    let all = [
        (
            "a change that has not settled",
            Mutant::DebounceIgnored,
            debounce::debounce(),
        ),
        (
            "an approval of a hash",
            Mutant::ApprovedByHash,
            approval::token(),
        ),
        (
            "an approval of a number",
            Mutant::ApprovedByNumber,
            approval::approval(),
        ),
        (
            "an approval of everything",
            Mutant::ApprovedOnce,
            approval::approval(),
        ),
    ];
    named(all)
}

fn named<const N: usize>(all: [(&'static str, Mutant, Configuration); N]) -> Vec<Configuration> {
    let named = |(name, mutant, setup)| Configuration {
        name,
        mutant,
        ..setup
    };
    all.map(named).into()
}
