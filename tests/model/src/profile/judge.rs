//! Forbidden events, judged by the whole history of the world.

use cartouche_crds::RunPhase;

use super::{
    cast::{self, Cast, LedgerId, ObjectId},
    world::{Approved, Change, Given, Known, Pin, Profiles, Rule, World},
};

/// A number was given though the inputs are those of the previous run.
pub(super) const P1: u8 = 1;
/// The pin has changed without a request.
pub(super) const P2: u8 = 2;
/// A run is made with another profile than its entry has, or a number has two runs.
pub(super) const P3: u8 = 4;
/// A number is given, or a request followed, with another profile than the one that matches best.
pub(super) const PINNED: u8 = 8;
/// A profile was used that does not exist, or that only a run names and no rule gives.
pub(super) const PROOF: u8 = 16;

/// A run is made without approval of its content for its number.
pub(super) const APPROVED: u8 = 32;

/// Returns the one profile of the highest rank; `None` if there is none, or several.
fn best(profiles: Profiles) -> Option<u8> {
    let rule = |profile: usize| profiles[profile].map_or(Rule::Nobody, |it| it.rule);
    let highest = (0..profiles.len()).map(rule).max()?;
    let mut highest = (0..profiles.len()).filter(|it| rule(*it) == highest);
    let (first, second) = (highest.next()?, highest.next());
    let is_one = second.is_none() && rule(first) != Rule::Nobody;
    u8::try_from(first).ok().filter(|_| is_one)
}

fn has_none(profiles: Profiles) -> bool {
    let mut all = profiles.iter().flatten();
    all.all(|profile| profile.rule == Rule::Nobody)
}

impl World {
    fn breaks(&mut self, property: u8) {
        self.broken |= property;
    }

    /// Judges a write of this ledger by a worker with this knowledge. No other worker has written since it
    /// read the previous ledger.
    pub(super) fn judge_write(
        &mut self,
        cast: &Cast,
        known: &Known,
        next: LedgerId,
        change: Change,
    ) {
        let (before, after) = (cast.ledger(self.stored.ledger), cast.ledger(next));
        let pins = (cast::pin_of(&before), cast::pin_of(&after));
        let Some(current) = &after.current else {
            return;
        };
        let is_rebuilt = before.current.is_none() && current.phase == RunPhase::Created;
        if is_rebuilt {
            if pins.1 != self.newest(cast).and_then(|(_, pin)| pin) {
                self.breaks(P2);
            }
            self.is_unproven = pins.1.is_some();
            return;
        }
        if pins.0 != pins.1 {
            self.judge_pin(known, pins, change);
        }
        if change == Change::Intent {
            let number = current.sequence;
            let earlier = before.current.map(|it| it.sequence);
            let earlier = earlier.or(self.newest(cast).map(|(number, _)| number));
            self.judge_intent(known, pins, earlier, number);
        }
        if matches!(change, Change::Intent | Change::Refresh) {
            self.is_unproven = false;
        }
    }

    /// Returns number and pin of the newest run.
    fn newest(&self, cast: &Cast) -> Option<(i64, Option<Pin>)> {
        let runs = self.runs.iter().map(|run| cast.identity(run.object));
        let newest = runs.max_by_key(|run| run.sequence)?;
        let profile = newest.profile.as_deref();
        let pin = profile.and_then(|it| cast::pin(&it.version.name, it.refresh_token.as_deref()));
        Some((newest.sequence?, pin))
    }

    fn judge_pin(
        &mut self,
        known: &Known,
        (before, after): (Option<Pin>, Option<Pin>),
        change: Change,
    ) {
        let is_first = before.is_none() && change == Change::Intent;
        let request = known.own.request;
        let is_asked = request > 0 && before.is_some_and(|pin| pin.request != request);
        let is_answered = after.is_some_and(|pin| pin.request == request);
        let may_answer = matches!(change, Change::Intent | Change::Refresh);
        let is_refresh = may_answer && is_asked && is_answered;
        if !(is_first || is_refresh) {
            self.breaks(P2);
        } else if after.map(|pin| pin.profile) != best(known.profiles) {
            self.breaks(PINNED);
        }
    }

    fn judge_intent(
        &mut self,
        known: &Known,
        (before, after): (Option<Pin>, Option<Pin>),
        earlier: Option<i64>,
        number: i64,
    ) {
        let input = self.stored.input;
        let given = |number: i64| usize::try_from(number - 1).ok();
        let earlier = earlier
            .and_then(given)
            .and_then(|number| self.given.get(number));
        if earlier.is_some_and(|earlier| earlier.input == input) {
            self.breaks(P1);
        }
        let profile = after.and_then(|pin| known.profiles[usize::from(pin.profile)]);
        let is_matched = profile.is_some_and(|profile| profile.rule != Rule::Nobody);
        let is_unproven = self.is_unproven && before == after;
        if after.is_some() && (profile.is_none() || is_unproven && !is_matched) {
            self.breaks(PROOF);
        }
        if after.is_none() && !has_none(known.profiles) {
            self.breaks(PINNED);
        }
        let number = given(number).unwrap_or_default();
        self.given.truncate(number);
        self.given.push(Given { input, pin: after });
    }

    /// Judges a run that a create has made.
    pub(super) fn judge_made(&mut self, cast: &Cast, object: ObjectId) {
        let run = cast.identity(object);
        let number = run.sequence.and_then(|it| usize::try_from(it - 1).ok());
        let profile = run.profile.as_deref();
        let pin = profile.and_then(|it| cast::pin(&it.version.name, it.refresh_token.as_deref()));
        let given = number.and_then(|number| self.given.get(number)).copied();
        let is_as_given = given.is_some_and(|given| given.pin == pin);
        let says = profile.map(|it| it.version.to_string());
        let same = |it: &&super::world::Run| cast.identity(it.object).sequence == run.sequence;
        let is_one = self.runs.iter().filter(same).count() == 1;
        let was_seen = |seen: &Approved| {
            let place = seen.profile.map(|(profile, generation)| {
                format!("{}@{generation}", cast::profile_name(profile.into()))
            });
            run.sequence == Some(seen.number.into())
                && cast.input(object) == Some(seen.input)
                && cast.place(object) == place
        };
        if cast.is_guarded && !self.approved.iter().any(was_seen) {
            self.breaks(APPROVED);
        }
        if !is_as_given || says != cast.place(object) || !is_one {
            self.breaks(P3);
        }
    }
}
