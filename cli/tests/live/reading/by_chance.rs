//! Random choices from a seed, so that a failure can be repeated.

/// Numbers by splitmix64.
pub struct Chance(u64);

impl Chance {
    pub fn of_seed(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % bound
    }

    /// Returns true once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    /// Returns a sound one, and once in forty times an odd one.
    pub fn mostly<'a>(&mut self, sound: &[&'a str], odd: &[&'a str]) -> &'a str {
        let is_odd = self.once_in(40);
        self.one_of(if is_odd { odd } else { sound })
    }

    pub fn character(&mut self, of: &str) -> char {
        of.chars().nth(self.below(of.chars().count())).unwrap()
    }

    /// Returns some of these characters, at least and at most so many.
    pub fn some(&mut self, of: &str, least: usize, most: usize) -> String {
        let count = least + self.below(most - least + 1);
        (0..count).map(|_| self.character(of)).collect()
    }
}
