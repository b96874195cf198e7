//! One simulation from its beginning to its end.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use turmoil::Sim;

use crate::{
    approval,
    controllers::{self, SERVER},
    debounce,
    faults::{Counts, Faults, count},
    oracle::{self, Verdict, Violation},
    overlap,
    people::People,
    plan::{Deed, Plan},
    randomness::seeded,
    retries::further_attempts,
    server::ApiServer,
    stops,
    store::Store,
};

/// Duration of one step of the simulation. A message needs at least one.
const TICK: Duration = Duration::from_millis(25);
/// Time after the last deed in which everything must come to rest: longer than four attempts that all ignore
/// their stops. A simulation at rest ends at once.
const PATIENCE: Duration = Duration::from_mins(45);
/// Time that it must stay at rest.
const REST: Duration = Duration::from_mins(1);
/// The same where controllers see different states: one leaves the status of another for half a minute.
const LONG_REST: Duration = Duration::from_secs(150);
/// Time for late writes at rest: the status of a former process stays for half a minute.
const SECOND_THOUGHTS: Duration = Duration::from_secs(40);
/// Interval between two checks.
const LOOK: Duration = Duration::from_secs(5);

/// Result of a simulation.
#[derive(Debug)]
pub struct Played {
    /// The plan.
    pub plan: Plan,
    /// The verdict of the judge.
    pub verdict: Verdict,
    /// Number of faults, and of deeds to users' objects, by name.
    pub faults: Counts,
    /// Number of runs that had ended when they were confirmed, so that one write recorded both.
    pub spared: usize,
    /// A hash of the whole history of the API server's store.
    pub hash: u64,
    /// Its duration in the simulation's time.
    pub elapsed: Duration,
    /// Number of runs that were made.
    pub runs: usize,
    /// Everything that happened, a line each, if requested.
    pub trace: Vec<String>,
}

/// Plays the simulation of a seed.
#[must_use]
pub fn play(seed: u64, traced: bool) -> Played {
    seeded(seed, || Play::new(Plan::of(seed), traced).play())
}

struct Play {
    plan: Plan,
    api: Arc<ApiServer>,
    people: People,
    traced: bool,
    next: usize,
}

impl Play {
    fn new(plan: Plan, traced: bool) -> Self {
        let mut random = fastrand::Rng::with_seed(plan.seed ^ 0x73_746f_7265);
        let mut faults = Faults::new(random.fork(), plan.chance);
        faults.deaf = plan.tenants;
        let mut store = Store::new(random);
        let mut people = People::new(&plan);
        people.settle_in(&mut store, &plan);
        // Lists that are behind show nothing older than this.
        store.compact();
        Self {
            api: ApiServer::new(store, faults, traced),
            people,
            plan,
            traced,
            next: 0,
        }
    }

    fn play(mut self) -> Played {
        // Once for the process: every simulation reads the time of the host that it is called on.
        cartouche_controller::clock::play_time(|| turmoil::sim_elapsed().unwrap_or_default());
        let mut sim = self.cluster();
        let mut error = None;
        let mut rest = None;
        while error.is_none() {
            self.act(&sim_elapsed(&sim), &mut sim);
            error = sim.step().err().map(|error| error.to_string());
            let now = sim.elapsed();
            if self.next < self.plan.deeds.len() || now.as_millis() % LOOK.as_millis() != 0 {
                continue;
            }
            let settled = !self.people.is_busy() && self.unsettled().violations.is_empty();
            rest = settled.then(|| rest.unwrap_or(now));
            let last = self.plan.deeds.last().map_or(Duration::ZERO, |(at, _)| *at);
            let wanted = if self.plan.tenants { LONG_REST } else { REST };
            if rest.is_some_and(|rest| now >= rest + wanted) || now > last + PATIENCE {
                break;
            }
        }
        self.judge(sim.elapsed(), rest, error)
    }

    fn unsettled(&self) -> Verdict {
        self.api
            .with(|state| oracle::unsettled(&state.store, &self.plan))
    }

    fn judge(self, elapsed: Duration, rest: Option<Duration>, error: Option<String>) -> Played {
        let mut verdict = self.unsettled();
        let (hash, runs, spared, trace, faults) = self.api.with(|state| {
            verdict.add(oracle::forbidden(&state.store, &self.plan));
            if let Some(rest) = rest {
                verdict.add(oracle::restless(
                    &state.store,
                    &self.plan,
                    rest + SECOND_THOUGHTS,
                ));
            }
            let log = state.store.log();
            let mut hasher = DefaultHasher::new();
            for change in log {
                let parts = (change.version, change.happened, &change.key, &change.actor);
                (parts, change.at, change.object.to_string()).hash(&mut hasher);
            }
            let runs = log
                .iter()
                .filter(|change| oracle::makes_a_run(change))
                .count();
            let spared = oracle::spared(log);
            let trace = if self.traced {
                crate::trace::lines(state)
            } else {
                Vec::new()
            };
            let mut faults = std::mem::take(&mut state.faults.counts);
            faults.insert("Retried".to_owned(), further_attempts(log));
            faults.insert("Waited".to_owned(), overlap::waits(log));
            faults.insert("Approved".to_owned(), approval::approvals(log));
            faults.insert("Debouncing".to_owned(), debounce::held(log));
            if let Some(chain) = self.plan.chain {
                faults.extend(oracle::of_chain(log, chain));
            }
            faults.extend(oracle::of_sinks(log, &self.plan));
            faults.extend(oracle::of_events(&state.store, &self.plan));
            faults.extend(stops::counts(state.store.told()));
            (hasher.finish(), runs, spared, trace, faults)
        });
        let error = error.map(|error| Violation::new("the simulation", error));
        verdict.violations.extend(error);
        Played {
            plan: self.plan,
            verdict,
            faults,
            spared,
            hash,
            elapsed,
            runs,
            trace,
        }
    }

    fn cluster(&self) -> Sim<'static> {
        let mut sim = turmoil::Builder::new()
            .tick_duration(TICK)
            .simulation_duration(Duration::from_hours(24))
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(60))
            .tcp_capacity(1 << 14)
            .rng_seed(self.plan.seed)
            .enable_random_order()
            .build();
        let api = self.api.clone();
        sim.host(SERVER, move || api.clone().serve());
        for controller in 0..self.plan.controllers {
            let concurrency = self.plan.concurrency;
            let is_flooded = self.plan.tenants;
            let is_next = self.plan.next_release && controller + 1 == self.plan.controllers;
            sim.host(name(controller), move || {
                controllers::serve(concurrency, is_next, is_flooded)
            });
        }
        sim
    }

    /// Performs everything whose time has come.
    fn act(&mut self, now: &Duration, sim: &mut Sim<'_>) {
        self.api.with(|state| {
            state.store.elapsed = *now;
            self.people.run_engine(&mut state.store);
            self.people.approve(&mut state.store);
        });
        while let Some((_, deed)) = self.plan.deeds.get(self.next).filter(|(at, _)| at <= now) {
            let deed = *deed;
            self.next += 1;
            self.api.with(|state| {
                state.tell(&format!("{deed:?}"));
                count(&mut state.faults.counts, &deed);
            });
            self.to_hosts(sim, deed);
            self.api.with(|state| {
                match deed {
                    Deed::Forbid => state.faults.forbidden = true,
                    Deed::Allow => state.faults.forbidden = false,
                    Deed::Compact => state.store.compact(),
                    Deed::Clock(seconds) => state.store.clock_error += seconds,
                    Deed::Calm => {
                        state.faults.chance = 0.0;
                        state.faults.forbidden = false;
                    }
                    _ => {}
                }
                self.people.act(&mut state.store, deed);
            });
        }
    }

    fn to_hosts(&self, sim: &mut Sim<'_>, deed: Deed) {
        match deed {
            Deed::Kill(controller) => sim.crash(name(controller)),
            Deed::Start(controller) => start(sim, &name(controller)),
            Deed::StopServer => sim.crash(SERVER),
            Deed::StartServer => start(sim, SERVER),
            Deed::Partition(controller) => sim.partition(name(controller), SERVER),
            Deed::Repair(controller) => sim.repair(name(controller), SERVER),
            Deed::Hold(controller) => sim.hold(name(controller), SERVER),
            Deed::Release(controller) => sim.release(name(controller), SERVER),
            Deed::Calm => {
                start(sim, SERVER);
                for controller in 0..self.plan.controllers {
                    sim.release(name(controller), SERVER);
                    sim.repair(name(controller), SERVER);
                    start(sim, &name(controller));
                }
            }
            _ => {}
        }
    }
}

/// Starts a host that does not run.
fn start(sim: &mut Sim<'_>, host: &str) {
    let address: IpAddr = sim.lookup(host);
    if !sim.is_host_running(address) {
        sim.bounce(address);
    }
}

fn sim_elapsed(sim: &Sim<'_>) -> Duration {
    sim.elapsed()
}

/// Returns the host of a controller.
fn name(controller: usize) -> String {
    format!("controller-{controller}")
}
