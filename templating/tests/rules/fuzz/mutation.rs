//! Inputs derived from known ones.

/// Useful pieces to insert: markers, brackets, edges of numbers.
const PIECES: &[&str] = &[
    "$(",
    ")$",
    "$('",
    "')$",
    "'",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "[?(",
    "@",
    "..",
    ".*",
    "[*]",
    "[0]",
    "[-1]",
    "[0:2]",
    "[::0]",
    "==",
    "!=",
    "<",
    "&&",
    "||",
    ",",
    ":",
    " ",
    "\n",
    "\0",
    "\u{feff}",
    "é",
    "🚀",
    "null",
    "true",
    "0",
    "-0",
    "1e309",
    "9223372036854775807",
    "9007199254740993",
    "0.1",
    "runnable",
    "selected",
    ".metadata",
    ".spec.inputs",
    ".status",
    "range",
    "end",
    "{\"a\":",
    "[[",
    "\\u0000",
    "-",
    "a",
];

/// A source of mutations that are the same for the same seed.
pub struct Mutation(u64);

impl Mutation {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns one of the inputs, changed in some places.
    pub fn of(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input, inputs);
        }
        input.truncate(4096);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let to = (at + self.below(8)).min(input.len());
        match self.below(7) {
            0 => drop(input.drain(at..to)),
            1 => {
                let piece = PIECES[self.below(PIECES.len())].bytes();
                input.splice(at..at, piece);
            }
            2 => {
                let piece = PIECES[self.below(PIECES.len())].bytes();
                input.splice(at..to, piece);
            }
            3 => {
                let part = input[at..to].to_vec();
                let many = 1 + self.below(40);
                input.splice(at..at, part.repeat(many));
            }
            4 => {
                let other = &inputs[self.below(inputs.len())];
                let from = self.below(other.len() + 1);
                input.splice(at.., other[from..].iter().copied());
            }
            5 if at < input.len() => input[at] ^= 1 << self.below(8),
            _ => input.insert(at, u8::try_from(self.below(256)).unwrap_or_default()),
        }
    }

    /// Returns a number below another, by splitmix64.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(bits % limit).unwrap_or_default()
    }
}
