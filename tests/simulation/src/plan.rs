//! The events of a simulation, all of which follow from the seed.

mod chain;
mod deed;
mod sinks;

use std::time::Duration;

use serde_json::Value;

pub use deed::Deed;

use crate::{
    approval::Asked, chain::Chain, debounce::Debounce, original::Original, overlap::Overlap,
    retries::Retries, sinks::Sink, stops::Stops, strangers::Sort,
};

/// One simulation.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed that it follows from.
    pub seed: u64,
    /// Number of Runnables.
    pub runnables: usize,
    /// Number of controllers.
    pub controllers: usize,
    /// True if the last controller is of the next release, which has other hashes, in every ninth seed with
    /// two of them.
    pub next_release: bool,
    /// Probability that a request meets a fault until the calm.
    pub chance: f64,
    /// Probability that a run fails.
    pub failing: f64,
    /// Maximum duration, in seconds, of runs that end.
    pub longest_run: f64,
    /// Number of Runnables that a controller works on at the same time; `None` for no limit.
    pub concurrency: Option<u16>,
    /// Objects that the original controller left of each Runnable; `None` for a new one.
    pub originals: Vec<Option<Original>>,
    /// True if the API server rewords a part of every run.
    pub reworded: bool,
    /// Retries of failed runs, in every seventh seed.
    pub retries: Option<Retries>,
    /// Stops of runs that work for too long, in every sixth seed.
    pub stops: Option<Stops>,
    /// Concurrency of runs, in every eighth seed.
    pub overlap: Option<Overlap>,
    /// Approval of each run, in every tenth seed.
    pub asked: Option<Asked>,
    /// Debounce of changes, in every eleventh seed.
    pub debounce: Option<Debounce>,
    /// Runnables that read each other, in every fourth seed.
    pub chain: Option<Chain>,
    /// Objects that outputs are written to, in every eighth seed.
    pub sinks: Vec<Sink>,
    /// True with other tenants, in every thirty-first seed.
    pub tenants: bool,
    /// Deeds in order.
    pub deeds: Vec<(Duration, Deed)>,
}

/// Maximum time that nothing is delivered without being lost. A create must not arrive later than the
/// protocol allows: it is given up within ten seconds.
const LONGEST_HOLD: f64 = 5.0;

impl Plan {
    /// Writes the policies of the plan into the spec of a template or of a Runnable.
    pub fn ask(&self, object: &mut Value, is_template: bool) {
        if let Some(retries) = &self.retries {
            retries.ask(object, is_template);
        }
        if let Some(stops) = &self.stops {
            stops.ask(object, is_template);
        }
        if let Some(overlap) = self.overlap {
            overlap.ask(object, is_template);
        }
        if let Some(asked) = self.asked {
            asked.ask(object, is_template);
        }
        if let Some(debounce) = self.debounce {
            debounce.ask(object, is_template);
        }
    }

    /// Returns the plan of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let trouble = 15.0 + 45.0 * random.f64();
        let mut plan = Self {
            seed,
            runnables: 2 + random.usize(..3),
            controllers: 1 + usize::from(random.f64() < 0.6),
            next_release: false,
            chance: [0.0, 0.03, 0.06, 0.12][random.usize(..4)],
            failing: 0.25,
            longest_run: [4.0, 12.0, 50.0][random.usize(..3)],
            concurrency: None,
            originals: Vec::new(),
            reworded: false,
            retries: None,
            stops: None,
            overlap: None,
            asked: None,
            debounce: None,
            chain: None,
            sinks: Vec::new(),
            tenants: seed % EACH_WITH_TENANTS == WITH_TENANTS,
            deeds: Vec::new(),
        };
        let mut crowd = fastrand::Rng::with_seed(seed ^ CROWDS);
        if crowd.f64() < 0.25 {
            // Of four places a namespace has three, so that the others wait for each other.
            plan.concurrency = Some(4);
            plan.runnables += crowd.usize(4..=6);
        }
        let mut draw = Draw {
            random,
            trouble,
            deeds: Vec::new(),
        };
        draw.people(&plan);
        draw.nature(&plan);
        if plan.concurrency.is_some() {
            for _ in 0..crowd.usize(1..=4) {
                let at = 1.0 + crowd.f64() * (trouble - 1.0);
                draw.deeds.push((seconds(at), Deed::Everything));
            }
        }
        // Drawn apart, so that seeds without these features do not change.
        let before = std::mem::replace(&mut draw.random, fastrand::Rng::with_seed(seed ^ STATUSES));
        plan.take_over(&mut draw);
        if seed % 4 == WITH_CHAIN {
            let statuses =
                std::mem::replace(&mut draw.random, fastrand::Rng::with_seed(seed ^ CHAINS));
            draw.chain(&mut plan);
            draw.random = statuses;
        }
        draw.losses(&plan);
        if seed % 5 == WITH_STRANGERS {
            draw.random = fastrand::Rng::with_seed(seed ^ STRANGERS);
            draw.strangers(&plan);
        }
        if seed % 7 == WITH_RETRIES {
            draw.random = fastrand::Rng::with_seed(seed ^ RETRIES);
            plan.retries = Some(Retries::draw(&mut draw.random));
            plan.failing = [0.25, 0.5, 0.8][draw.random.usize(..3)];
            draw.cancels(&plan);
        }
        if seed % 6 == WITH_STOPS {
            draw.random = fastrand::Rng::with_seed(seed ^ STOPS);
            draw.stops(&mut plan);
        }
        if seed % 8 == WITHOUT_OVERLAP {
            draw.random = fastrand::Rng::with_seed(seed ^ OVERLAP);
            plan.overlap = Some(Overlap::draw(&mut draw.random));
            // A minute must be one by the server's clock: a controller that gives a create up reads its name
            // after that.
            let is_set = |deed: &Deed| matches!(deed, Deed::Clock(_));
            draw.deeds.retain(|(_, deed)| !is_set(deed));
        }
        if seed % 10 == WITH_APPROVAL {
            let by_template = seed % 20 == WITH_APPROVAL;
            plan.asked = Some(Asked { by_template });
        }
        if seed % 11 == WITH_DEBOUNCE {
            let mut random = fastrand::Rng::with_seed(seed ^ DEBOUNCE);
            plan.debounce = Some(Debounce::draw(&mut random));
        }
        // A run that waits for approval or a retry is identified by its hash, which differs for each release.
        let is_told_by_hash = plan.asked.is_some() || plan.retries.is_some();
        if WITH_NEXT_RELEASE.contains(&(seed % 18)) && !is_told_by_hash {
            (plan.next_release, plan.controllers) = (true, 2);
        }
        if seed % 8 == WITH_SINKS {
            draw.random = fastrand::Rng::with_seed(seed ^ SINKS);
            draw.sinks(&mut plan);
        }
        draw.random = before;
        plan.deeds = draw.deeds;
        plan.deeds.push((seconds(draw.trouble + 1.0), Deed::Calm));
        if draw.random.f64() < 0.1 {
            // Objects that are old enough by then may be deleted.
            let late = draw.trouble + 700.0;
            plan.deeds.extend([
                (seconds(late), Deed::Input(0)),
                (seconds(late + 40.0), Deed::Input(1)),
            ]);
        }
        plan.deeds.sort_by_key(|(at, _)| *at);
        plan
    }

    /// Returns the number of the template of a Runnable.
    #[must_use]
    pub fn template_of(&self, number: usize) -> usize {
        let role = self.chain.and_then(|chain| chain.role(number));
        role.map_or(number % TEMPLATES, Chain::template)
    }

    /// Returns the number of Runnables that the original controller served. Unchanged, they need no run of
    /// ours; a last one of the original's may arrive even where it had made none.
    #[must_use]
    pub fn taken_over(&self) -> usize {
        self.originals.iter().flatten().count()
    }

    /// Leaves some Runnables as the original controller left them, in every third seed.
    fn take_over(&mut self, draw: &mut Draw) {
        if draw.random.f64() >= 0.33 {
            return;
        }
        self.reworded = draw.random.bool();
        for runnable in 0..self.runnables {
            let left = draw.random.f64() < 0.7;
            let left = left.then(|| Original::draw(&mut draw.random));
            // With a clock that was set meanwhile, this run would not be the newest.
            let clock = draw
                .deeds
                .iter()
                .any(|(_, deed)| matches!(deed, Deed::Clock(_)));
            if left.is_some() && !clock && draw.random.f64() < 0.25 {
                let at = seconds(0.5 + draw.random.f64() * LAST_STRAGGLER);
                draw.deeds.push((at, Deed::Straggler(runnable)));
            }
            self.originals.push(left);
        }
    }
}

/// Separates the chance of crowds from that of the rest.
const CROWDS: u64 = 0x63_726f_7764_7300;
/// Separates that of strangers.
const STRANGERS: u64 = 0x73_7472_616e_6765;
/// Every fifth seed has strangers.
const WITH_STRANGERS: u64 = 2;
/// Separates that of retries.
const RETRIES: u64 = 0x72_6574_7269_6573;
/// Every seventh seed retries failed runs, none of them one that once failed.
const WITH_RETRIES: u64 = 3;
/// Separates that of stops.
const STOPS: u64 = 0x73_746f_7073_0000;
/// Every sixth seed stops runs that work for too long, none of them one that once failed without that.
const WITH_STOPS: u64 = 5;
/// Separates that of overlap.
const OVERLAP: u64 = 0x6f_7665_726c_6170;
/// In every eighth seed no two runs of a Runnable may be at work at once; it is none that once failed without
/// that.
const WITHOUT_OVERLAP: u64 = 3;
/// In every tenth seed each run needs approval, by the template or by the Runnable in turn.
const WITH_APPROVAL: u64 = 7;
/// Separates that of pauses.
const DEBOUNCE: u64 = 0x64_6562_6f75_6e63;
/// In every eleventh seed renderings have to settle; it is none that once failed without that.
const WITH_DEBOUNCE: u64 = 7;
/// In every ninth seed the second of two controllers is of the next release.
const WITH_NEXT_RELEASE: [u64; 2] = [6, 11];
/// Separates that of chains.
const CHAINS: u64 = 0x63_6861_696e_7300;
/// In every fourth seed there is a chain; it is none that once failed without that.
const WITH_CHAIN: u64 = 1;
/// Separates that of sinks.
const SINKS: u64 = 0x73_696e_6b73_0000;
/// Every eighth seed has sinks, each of them a chain as well; it is none that once failed without that.
const WITH_SINKS: u64 = 5;
/// Every thirty-first seed has other tenants, none of them one that once failed. Nothing of theirs is drawn.
const EACH_WITH_TENANTS: u64 = 31;
const WITH_TENANTS: u64 = 13;
/// Separates that of statuses.
const STATUSES: u64 = 0x73_7461_7475_7300;
/// Seconds after the end of the original controller in which all its requests arrive; a controller that takes
/// over waits for thirty.
const LAST_STRAGGLER: f64 = 20.0;

struct Draw {
    random: fastrand::Rng,
    trouble: f64,
    deeds: Vec<(Duration, Deed)>,
}

impl Draw {
    fn at(&mut self) -> f64 {
        1.0 + self.random.f64() * (self.trouble - 1.0)
    }

    fn once(&mut self, deed: Deed) {
        let at = self.at();
        self.deeds.push((seconds(at), deed));
    }

    /// Adds deeds that begin a state, and end it before the calm.
    fn spell(&mut self, most: f64, begins: Deed, ends: Deed) {
        let at = self.at();
        let end = (at + 0.2 + self.random.f64() * most).min(self.trouble + 0.5);
        self.deeds.push((seconds(at), begins));
        self.deeds.push((seconds(end), ends));
    }

    fn times(&mut self, most: usize) -> usize {
        self.random.usize(..=most)
    }

    fn people(&mut self, plan: &Plan) {
        for runnable in 0..plan.runnables {
            for _ in 0..self.times(5) {
                self.once(Deed::Input(runnable));
            }
            for _ in 0..self.times(2) {
                self.once(Deed::Source(runnable));
            }
            for _ in 0..self.times(1) {
                self.once(Deed::Rerun(runnable));
                self.once(Deed::DeleteRun(runnable));
            }
        }
        for _ in 0..self.times(3) {
            let template = self.random.usize(..TEMPLATES);
            self.once(Deed::Template(template));
        }
        if self.random.f64() < 0.3 {
            let template = self.random.usize(..TEMPLATES);
            self.once(Deed::Kind(template));
        }
        if self.random.f64() < 0.2 {
            let runnable = self.random.usize(..plan.runnables);
            self.once(Deed::Recreate(runnable));
        }
    }

    /// Adds losses of statuses, or restores of their copies, in every third seed.
    fn losses(&mut self, plan: &Plan) {
        if self.random.f64() >= 0.33 {
            return;
        }
        for runnable in 0..plan.runnables {
            match self.random.u8(..6) {
                0 | 1 => self.once(Deed::Wipe(runnable)),
                2 => self.once(Deed::ForgetRuns(runnable)),
                3 | 4 => {
                    let (one, other) = (self.at(), self.at());
                    let (first, last) = (one.min(other), one.max(other));
                    self.deeds.push((seconds(first), Deed::BackUp(runnable)));
                    self.deeds.push((seconds(last), Deed::Restore(runnable)));
                }
                _ => {}
            }
        }
    }

    /// Adds objects of strangers: at first, all along, and after the calm.
    fn strangers(&mut self, plan: &Plan) {
        for _ in 0..2 + self.times(8) {
            let at = self.random.f64() * (self.trouble + 5.0);
            let (number, sort) = (
                self.random.usize(..plan.runnables),
                Sort::draw(&mut self.random),
            );
            self.deeds.push((seconds(at), Deed::Stranger(number, sort)));
        }
    }

    /// Adds runs that users cancel.
    fn cancels(&mut self, plan: &Plan) {
        for runnable in 0..plan.runnables {
            for _ in 0..self.times(2) {
                self.once(Deed::Cancel(runnable));
            }
        }
    }

    /// Adds runs that work for too long, half of the time retried.
    fn stops(&mut self, plan: &mut Plan) {
        let stops = Stops::draw(&mut self.random);
        if stops.by_deletion {
            // Runs are deleted a minute later, which must not be in the calm.
            self.trouble += 75.0;
            let mut earlier = std::mem::take(&mut self.deeds);
            self.nature(plan);
            // The clock is set once at most: twice may exceed the protocol's assumptions.
            self.deeds
                .retain(|(_, deed)| !matches!(deed, Deed::Clock(_)));
            self.deeds.append(&mut earlier);
        }
        plan.stops = Some(stops);
        if plan.retries.is_none() && self.random.bool() {
            plan.retries = Some(Retries::draw(&mut self.random));
            self.cancels(plan);
        }
        if let Some(retries) = &mut plan.retries {
            retries.after_stops(self.random.bool());
        }
        for number in 0..plan.runnables {
            for _ in 0..self.times(1) {
                self.once(Deed::Timeout(number));
            }
        }
        for _ in 0..self.times(1) {
            let template = self.random.usize(..TEMPLATES);
            self.once(Deed::WayToStop(template));
        }
    }

    fn nature(&mut self, plan: &Plan) {
        for controller in 0..plan.controllers {
            for _ in 0..self.times(3) {
                self.spell(15.0, Deed::Kill(controller), Deed::Start(controller));
            }
            for _ in 0..self.times(1) {
                self.spell(40.0, Deed::Partition(controller), Deed::Repair(controller));
            }
            for _ in 0..self.times(1) {
                self.spell(
                    LONGEST_HOLD,
                    Deed::Hold(controller),
                    Deed::Release(controller),
                );
            }
        }
        if self.random.f64() < 0.4 {
            self.spell(8.0, Deed::StopServer, Deed::StartServer);
        }
        if self.random.f64() < 0.4 {
            self.spell(25.0, Deed::Forbid, Deed::Allow);
        }
        for _ in 0..self.times(2) {
            self.once(Deed::Compact);
        }
        if self.random.f64() < 0.3 {
            // The protocol assumes at most half a minute.
            let jump = self.random.i64(-60..=60).max(-25);
            self.once(Deed::Clock(jump));
        }
    }
}

/// Number of templates of every simulation.
pub const TEMPLATES: usize = 2;

fn seconds(seconds: f64) -> Duration {
    // Whole milliseconds read better in a trace.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few minutes
    Duration::from_millis((seconds * 1000.0) as u64)
}
