//! What happens in a simulation: all of it follows from the seed.

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
    /// What it follows from.
    pub seed: u64,
    /// How many Runnables there are.
    pub runnables: usize,
    /// How many controllers.
    pub controllers: usize,
    /// Whether the last controller is of the next release, which hashes otherwise, in every ninth seed with two of them.
    pub next_release: bool,
    /// How likely a request meets a fault until the calm.
    pub chance: f64,
    /// How likely a run fails.
    pub failing: f64,
    /// Runs that end take at most so many seconds.
    pub longest_run: f64,
    /// How many Runnables a controller works on at the same time; nothing for as many as it likes.
    pub concurrency: Option<u16>,
    /// What the original controller left of each Runnable; nothing for one that is new.
    pub originals: Vec<Option<Original>>,
    /// Whether the API server writes a part of every run in other words than it was sent.
    pub reworded: bool,
    /// How what failed is tried again, in every seventh seed.
    pub retries: Option<Retries>,
    /// How what works for too long is stopped, in every sixth seed.
    pub stops: Option<Stops>,
    /// How runs are kept from being at work at once, in every eighth seed.
    pub overlap: Option<Overlap>,
    /// Whether a person has to approve each run, in every tenth seed.
    pub asked: Option<Asked>,
    /// How long changes have to stay before they run, in every eleventh seed.
    pub debounce: Option<Debounce>,
    /// Runnables that read each other, in every fourth seed.
    pub chain: Option<Chain>,
    /// Objects that outputs are written to, in every eighth seed.
    pub sinks: Vec<Sink>,
    /// Other tenants, in every thirty-first seed.
    pub tenants: bool,
    /// What happens, in order.
    pub deeds: Vec<(Duration, Deed)>,
}

/// How long nothing is delivered at most without being lost. A create must not arrive later than the
/// protocol allows: it is given up within ten seconds.
const LONGEST_HOLD: f64 = 5.0;

impl Plan {
    /// Writes into the spec of a template or of a Runnable what it asks for beside what is run.
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

    /// The plan of a seed.
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
        // Drawn apart, so that seeds without any of it stay what they were.
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
            // A minute by the server's clock is to be one: whoever gives a create up reads its name after that.
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
        // What waits for a person, or is tried again, is told by its hash, which is another one for each release.
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
            // What is old enough by then may be deleted.
            let late = draw.trouble + 700.0;
            plan.deeds.extend([
                (seconds(late), Deed::Input(0)),
                (seconds(late + 40.0), Deed::Input(1)),
            ]);
        }
        plan.deeds.sort_by_key(|(at, _)| *at);
        plan
    }

    /// The number of the template of a Runnable.
    #[must_use]
    pub fn template_of(&self, number: usize) -> usize {
        let role = self.chain.and_then(|chain| chain.role(number));
        role.map_or(number % TEMPLATES, Chain::template)
    }

    /// How many Runnables the original controller served. Unchanged, they need no run of ours; a last
    /// one of the original's may arrive even where it had made none.
    #[must_use]
    pub fn taken_over(&self) -> usize {
        self.originals.iter().flatten().count()
    }

    /// In every third seed some Runnables are as the original controller left them.
    fn take_over(&mut self, draw: &mut Draw) {
        if draw.random.f64() >= 0.33 {
            return;
        }
        self.reworded = draw.random.bool();
        for runnable in 0..self.runnables {
            let left = draw.random.f64() < 0.7;
            let left = left.then(|| Original::draw(&mut draw.random));
            // By a clock that was set meanwhile nobody could tell that this run is the newest.
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

/// Tells the chance of crowds from that of the rest.
const CROWDS: u64 = 0x63_726f_7764_7300;
/// Tells that of strangers.
const STRANGERS: u64 = 0x73_7472_616e_6765;
/// Every fifth seed has strangers.
const WITH_STRANGERS: u64 = 2;
/// Tells that of retries.
const RETRIES: u64 = 0x72_6574_7269_6573;
/// Every seventh seed tries again what failed, none of them one that once failed.
const WITH_RETRIES: u64 = 3;
/// Tells that of stops.
const STOPS: u64 = 0x73_746f_7073_0000;
/// Every sixth seed stops what works for too long, none of them one that once failed without that.
const WITH_STOPS: u64 = 5;
/// Tells that of overlap.
const OVERLAP: u64 = 0x6f_7665_726c_6170;
/// In every eighth seed no two runs of a Runnable may be at work at once; it is none that once failed without that.
const WITHOUT_OVERLAP: u64 = 3;
/// In every tenth seed a person has to approve each run, by the template or by the Runnable in turn.
const WITH_APPROVAL: u64 = 7;
/// Tells that of pauses.
const DEBOUNCE: u64 = 0x64_6562_6f75_6e63;
/// In every eleventh seed what is rendered has to settle; it is none that once failed without that.
const WITH_DEBOUNCE: u64 = 7;
/// In every ninth seed the second of two controllers is of the next release.
const WITH_NEXT_RELEASE: [u64; 2] = [6, 11];
/// Tells that of chains.
const CHAINS: u64 = 0x63_6861_696e_7300;
/// In every fourth seed there is a chain; it is none that once failed without that.
const WITH_CHAIN: u64 = 1;
/// Tells that of sinks.
const SINKS: u64 = 0x73_696e_6b73_0000;
/// Every eighth seed has sinks, each of them a chain as well; it is none that once failed without that.
const WITH_SINKS: u64 = 5;
/// Every thirty-first seed has other tenants, none of them one that once failed. Nothing of theirs is drawn.
const EACH_WITH_TENANTS: u64 = 31;
const WITH_TENANTS: u64 = 13;
/// Tells that of statuses.
const STATUSES: u64 = 0x73_7461_7475_7300;
/// Whatever the original controller has sent arrives so many seconds after its end at the latest; a
/// controller that takes over waits for thirty.
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

    /// Something that begins, and ends before the calm.
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

    /// In every third seed statuses are lost, or copies of them put back.
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

    /// Objects of strangers: at first, all along, and after the calm.
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

    /// Runs that somebody cancels.
    fn cancels(&mut self, plan: &Plan) {
        for runnable in 0..plan.runnables {
            for _ in 0..self.times(2) {
                self.once(Deed::Cancel(runnable));
            }
        }
    }

    /// Runs that work for too long, half of the time tried again.
    fn stops(&mut self, plan: &mut Plan) {
        let stops = Stops::draw(&mut self.random);
        if stops.by_deletion {
            // Runs are deleted a minute later, and that is not to be in the calm.
            self.trouble += 75.0;
            let mut earlier = std::mem::take(&mut self.deeds);
            self.nature(plan);
            // The clock is set once at most: twice may be more than what is taken for granted.
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
            // Half a minute is what the protocol takes for granted.
            let jump = self.random.i64(-60..=60).max(-25);
            self.once(Deed::Clock(jump));
        }
    }
}

/// Templates of every simulation.
pub const TEMPLATES: usize = 2;

fn seconds(seconds: f64) -> Duration {
    // Whole milliseconds read better in a trace.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few minutes
    Duration::from_millis((seconds * 1000.0) as u64)
}
