//! Deeds of users to objects that outputs are written to.

use super::{Deed, Draw, Plan, seconds};
use crate::{
    chain::{Chain, Role},
    sinks::Sink,
};

impl Draw {
    /// Has outputs of one or two Runnables written to one or two objects each.
    pub(super) fn sinks(&mut self, plan: &mut Plan) {
        for _ in 0..=self.times(1) {
            let any = self.random.usize(..plan.runnables);
            let role = Role::ALL[self.random.usize(..Role::ALL.len())];
            let member = plan.chain.map(|chain: Chain| chain.number(role));
            let runnable = member.filter(|_| self.random.bool()).unwrap_or(any);
            let sinks = (0..=self.times(1)).map(|at| Sink { runnable, at });
            plan.sinks.extend(sinks);
        }
        plan.sinks.sort_unstable();
        plan.sinks.dedup();
        for sink in plan.sinks.clone() {
            self.sink(sink);
            if self.random.f64() < 0.3 {
                let (one, other) = (self.at(), self.at());
                let (first, last) = (seconds(one.min(other)), seconds(one.max(other)));
                self.deeds.push((first, Deed::BackUp(sink.runnable)));
                self.deeds.push((last, Deed::Restore(sink.runnable)));
            }
        }
    }

    fn sink(&mut self, sink: Sink) {
        for _ in 0..self.times(3) {
            self.once(Deed::SinkData(sink));
        }
        for _ in 0..self.times(2) {
            self.once(Deed::SinkGone(sink));
        }
        match self.random.u8(..8) {
            // At times for good.
            0 => self.once(Deed::SinkOut(sink)),
            1..=4 => self.spell(40.0, Deed::SinkOut(sink), Deed::SinkBack(sink)),
            _ => {}
        }
        match self.random.u8(..12) {
            // Before the Runnable has outputs; at times until the end.
            0 => {
                let at = self.random.f64();
                self.deeds.push((seconds(at), Deed::SinkTaken(sink)));
            }
            1 => self.spell(30.0, Deed::SinkTaken(sink), Deed::SinkGone(sink)),
            2 => {
                let at = seconds(self.at());
                self.deeds.push((at, Deed::SinkGone(sink)));
                self.deeds.push((at, Deed::SinkTaken(sink)));
            }
            3 => self.once(Deed::SinkKept(sink)),
            _ => {}
        }
        if self.random.f64() < 0.25 {
            self.once(Deed::SinkNumber(sink));
        }
        if self.random.f64() < 0.3 {
            // Changes without faults.
            let calm = self.trouble + 5.0 + 40.0 * self.random.f64();
            let gone = self.random.bool();
            let deed = if gone { Deed::SinkGone } else { Deed::SinkData };
            self.deeds.push((seconds(calm), deed(sink)));
        }
    }
}
