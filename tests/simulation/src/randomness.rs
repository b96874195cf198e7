//! All chance out of one seed.
//!
//! Hash maps of the standard library draw their keys from the operating system, and the client library's
//! scheduler visits Runnables in the order of such a map; asynchronous selections are shuffled by a number
//! that begins there, too. So every simulation has a thread of its own, whose first keys are drawn from the
//! seed.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    panic::resume_unwind,
    sync::{Mutex, Once, PoisonError},
    thread,
};

use ahash::random_state::RandomSource;
use rand::{SeedableRng, rngs::StdRng};

static SEEDING: Mutex<()> = Mutex::new(());
static ONCE: Once = Once::new();

/// Source of constant keys, for maps that do not ask the operating system.
struct Fixed;

impl RandomSource for Fixed {
    fn gen_hasher_seed(&self) -> usize {
        0
    }
}

/// Runs `work` on a thread where every chance follows from the seed.
///
/// # Panics
/// If `work` does.
pub fn seeded<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> T {
    ONCE.call_once(|| {
        mad_turmoil::rand::set_rng(StdRng::seed_from_u64(0));
        // Fails only after such a map was made: then its order differs in every process.
        let _ = ahash::random_state::set_random_source(Fixed);
        // Their other keys are drawn once for the process: now.
        let _ = ahash::RandomState::new();
    });
    thread::scope(|scope| {
        let played = scope.spawn(move || {
            let one_by_one = SEEDING.lock().unwrap_or_else(PoisonError::into_inner);
            *mad_turmoil::rand::get_rng() = StdRng::seed_from_u64(seed);
            // The thread's keys are drawn now; all later ones follow from them.
            let drawn = RandomState::new().build_hasher().finish();
            drop(one_by_one);
            fastrand::seed(seed ^ drawn);
            work()
        });
        played.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
