//! Deeds of users to Runnables that read each other.

use super::{Deed, Draw, Plan, seconds};
use crate::chain::{Chain, MEMBERS, Role};

/// Separates the chance of variety from that of the rest of a chain.
const VARIETY: u64 = 0x76_6172_6965_7479;

impl Draw {
    /// Adds a diamond to a plan. A change takes three runs to come to its end, so that all of it takes
    /// longer.
    pub(super) fn chain(&mut self, plan: &mut Plan) {
        let chain = Chain::draw(&mut self.random, plan.runnables);
        plan.chain = Some(chain);
        plan.runnables += MEMBERS;
        plan.longest_run = [2.0, 6.0, 12.0][self.random.usize(..3)];
        plan.failing = [0.0, 0.05, 0.2][self.random.usize(..3)];
        plan.chance = plan.chance.min(0.06);
        self.trouble += 60.0 + 60.0 * self.random.f64();
        if self.random.bool() {
            let mut earlier = std::mem::take(&mut self.deeds);
            self.nature(plan);
            // The clock is set once at most: twice may exceed the protocol's assumptions.
            let is_set = |deed: &Deed| matches!(deed, Deed::Clock(_));
            self.deeds.retain(|(_, deed)| !is_set(deed));
            self.deeds.append(&mut earlier);
        }
        let a = chain.number(Role::A);
        for _ in 0..3 + self.times(4) {
            self.once(Deed::Input(a));
        }
        if self.random.bool() {
            // Changes without faults.
            let calm = self.trouble + 30.0;
            self.deeds.push((seconds(calm), Deed::Input(a)));
            self.deeds
                .push((seconds(calm + 15.0 * self.random.f64()), Deed::Size(0)));
        }
        for _ in 0..self.times(3) {
            let at = usize::from(self.random.f64() < 0.2);
            self.once(Deed::Size(at));
        }
        for role in Role::ALL {
            let (number, template) = (chain.number(role), Chain::template(role));
            for _ in 0..self.times(1) {
                self.once(Deed::Input(number));
                self.once(Deed::Rerun(number));
                self.once(Deed::DeleteRun(number));
            }
            for _ in 0..self.times(1) {
                self.once(Deed::Template(template));
            }
            match self.random.u8(..20) {
                0 => self.once(Deed::Recreate(number)),
                1 => self.once(Deed::Kind(template)),
                // At times for good.
                2 => self.once(Deed::Suspend(number)),
                3..=5 => self.spell(40.0, Deed::Suspend(number), Deed::Resume(number)),
                _ => {}
            }
        }
        self.variety(plan);
    }

    /// Adds variety to every other chain. Drawn apart, so that the others do not change.
    fn variety(&mut self, plan: &mut Plan) {
        let own = fastrand::Rng::with_seed(plan.seed ^ VARIETY);
        let before = std::mem::replace(&mut self.random, own);
        if let Some(chain) = &mut plan.chain {
            match self.random.u8(..12) {
                0 | 1 => chain.ignored = true,
                2 => chain.at_once = Some(Role::B),
                3 => chain.at_once = Some(Role::C),
                4 | 5 => {
                    for _ in 0..=self.times(2) {
                        self.spell(40.0, Deed::Tie, Deed::Untie);
                    }
                }
                _ => {}
            }
        }
        self.random = before;
    }
}
