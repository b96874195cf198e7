//! Runs that keep the next one from beginning.

/// Maximum number of runs that are named; the others are counted.
const NAMED: usize = 3;

/// A run that no other may begin beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTheWay {
    /// Its kind, namespace and name.
    pub run: String,
    /// The reason why it is in the way.
    pub why: Why,
    /// The reason why it can neither begin nor end, if one is known.
    pub hindered: Option<String>,
}

/// The reason why no other run may begin yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It has not ended.
    AtWork,
    /// It was requested to stop, and has not ended.
    Stopping,
    /// A create for it may be in flight: the controller reads it a little later.
    MayCome,
    /// Another release has intended it, with a hash that does not show its document.
    OtherRelease,
    /// The `ServiceAccount` may not read if it exists, or has ended.
    Unread,
}

pub(super) fn sentence(runs: &[InTheWay]) -> String {
    let named = runs.iter().take(NAMED).map(|one| {
        let run = &one.run;
        match one.why {
            Why::AtWork => match &one.hindered {
                Some(said) => format!("{run} makes no progress ({said})"),
                None => format!("{run} is still running"),
            },
            Why::Stopping => format!("{run} was asked to stop, and has not ended"),
            Why::MayCome => format!("{run} was given up, but may still be created within a minute"),
            Why::OtherRelease => format!(
                "{run}, which a controller of another release has intended, may still be created within a minute"
            ),
            Why::Unread => {
                format!("{run} may still be running, and the ServiceAccount may not read it")
            }
        }
    });
    let mut said: Vec<String> = named.collect();
    if runs.len() > NAMED {
        said.push(format!("and {} more", runs.len() - NAMED));
    }
    let by_policy = runs.iter().any(|one| one.why != Why::OtherRelease);
    let asked = if by_policy {
        " (concurrencyPolicy)"
    } else {
        ""
    };
    let said = said.join("; ");
    format!("the next run waits for the earlier one{asked}: {said}")
}

pub(super) fn cure(runs: &[InTheWay]) -> String {
    let is_unread = runs.iter().any(|one| one.why == Why::Unread);
    let is_hindered = runs.iter().any(|one| one.hindered.is_some());
    let cure = if is_unread {
        "let the ServiceAccount get it"
    } else if is_hindered {
        "fix what blocks that run, or stop it (`cartouche cancel`): the next run then begins"
    } else {
        "nothing: the next run begins when the current one has ended (`cartouche cancel` stops it)"
    };
    cure.to_owned()
}
