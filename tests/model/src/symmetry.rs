//! Makes states equal that differ in nothing that matters.

use crate::world::World;

impl World {
    /// Removes unused resourceVersions: only their order matters, and equal states must be found equal.
    pub fn squeeze_versions(&mut self) {
        let mut held = [false; 256];
        self.each_version(&mut |version| held[usize::from(*version)] = true);
        let mut rank = [0u8; 256];
        let mut next = 0;
        for (version, held) in held.into_iter().enumerate() {
            rank[version] = next;
            next += u8::from(held);
        }
        self.each_version(&mut |version| *version = rank[usize::from(*version)]);
    }

    fn each_version(&mut self, visit: &mut impl FnMut(&mut u8)) {
        visit(&mut self.runnable.version);
        for worker in &mut self.workers {
            worker
                .cache
                .iter_mut()
                .for_each(|cached| visit(&mut cached.version));
            worker
                .pass
                .iter_mut()
                .for_each(|pass| visit(&mut pass.version));
            worker.memory.written.iter_mut().for_each(&mut *visit);
            if let Some(without) = &mut worker.memory.without_ledger {
                visit(&mut without.version);
            }
        }
    }

    /// Sorts workers, which are interchangeable: one order stands for both.
    pub fn sort_workers(&mut self) {
        if self.workers.len() == 2 && self.workers[0] > self.workers[1] {
            self.workers.swap(0, 1);
            for request in &mut self.wire {
                request.sender = request.sender.map(|sender| 1 - sender);
            }
        }
        self.wire.sort_unstable();
    }
}
