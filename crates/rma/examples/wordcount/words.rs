//! Words of a text, found in any pieces of it; and a serial count of them.
//!
//! A word is a longest run of characters that are letters or digits in Unicode; everything else, bytes that are not UTF-8
//! included, stands between words. ASCII letters count as small ones. Of a run longer than [`MAX_WORD_BYTES`] only the
//! characters that fit are the word, so that words fit slots of a fixed size.
//!
//! Invariant: the words of a text do not depend on how it is cut, neither into the pieces a [`Tokenizer`] is fed nor into
//! the ranges that [`range_of_share`] gives the ranks. Memory does not grow with the text.

use crate::common::share;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Most bytes of a word.
pub(crate) const MAX_WORD_BYTES: usize = 64;

const READ_BYTES: usize = 1 << 20;
const BORDER_READ_BYTES: usize = 1 << 12;
const MAX_CHAR_BYTES: usize = 4;

/// Finds words in a text that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Tokenizer {
    word: String,
    /// The word is full, and the rest of its run is left out.
    is_cut: bool,
    /// The first bytes of a character whose rest has not come yet.
    pending: Vec<u8>,
}

/// What stands at the start of some bytes.
#[derive(Debug, PartialEq, Eq)]
enum Start {
    /// A character, with its length.
    Char(char, usize),
    /// Bytes that are no character, in this number.
    Invalid(usize),
    /// A character whose rest is missing.
    Incomplete,
}

impl Tokenizer {
    /// A tokenizer at the start of a text.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and hands over every word that ends in it.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], found: &mut impl FnMut(&str)) {
        while !self.pending.is_empty() {
            let Some((first, rest)) = bytes.split_first() else { return };
            self.pending.push(*first);
            bytes = rest;
            match start(&self.pending) {
                Start::Char(c, _) => {
                    self.pending.clear();
                    self.take(c, found);
                }
                Start::Invalid(len) => {
                    self.end_word(found);
                    // What the bytes after the invalid ones are shows only together with what follows.
                    let pending = std::mem::take(&mut self.pending);
                    self.feed(&pending[len..], found);
                }
                Start::Incomplete => {}
            }
        }
        while let Some(&byte) = bytes.first() {
            let len = if byte.is_ascii() {
                self.take_ascii(bytes, found)
            } else {
                match start(bytes) {
                    Start::Char(c, len) => {
                        self.take(c, found);
                        len
                    }
                    Start::Invalid(len) => {
                        self.end_word(found);
                        len
                    }
                    Start::Incomplete => {
                        self.pending.extend_from_slice(bytes);
                        return;
                    }
                }
            };
            bytes = &bytes[len..];
        }
    }

    /// Ends the text, and hands over the word that ends with it.
    pub(crate) fn finish(mut self, found: &mut impl FnMut(&str)) {
        // A character without its end is not one, so it ends a word as the end of the text does.
        self.end_word(found);
    }

    /// Takes an ASCII character, and with a letter or digit all that follow it at once.
    fn take_ascii(&mut self, bytes: &[u8], found: &mut impl FnMut(&str)) -> usize {
        let len = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if len == 0 {
            self.end_word(found);
            return 1;
        }
        let room = if self.is_cut { 0 } else { MAX_WORD_BYTES - self.word.len() };
        self.is_cut |= len > room;
        self.word.extend(bytes[..len.min(room)].iter().map(|byte| char::from(byte.to_ascii_lowercase())));
        len
    }

    fn take(&mut self, c: char, found: &mut impl FnMut(&str)) {
        if c.is_alphanumeric() { self.push(c) } else { self.end_word(found) }
    }

    fn push(&mut self, c: char) {
        self.is_cut |= self.word.len() + c.len_utf8() > MAX_WORD_BYTES;
        if !self.is_cut {
            self.word.push(c.to_ascii_lowercase());
        }
    }

    fn end_word(&mut self, found: &mut impl FnMut(&str)) {
        if !self.word.is_empty() {
            found(&self.word);
            self.word.clear();
        }
        self.is_cut = false;
    }
}

/// What stands at the start of `bytes`, which are not empty.
fn start(bytes: &[u8]) -> Start {
    let bytes = &bytes[..bytes.len().min(MAX_CHAR_BYTES)];
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The part that the error calls valid is.
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => return error.error_len().map_or(Start::Incomplete, Start::Invalid),
    };
    valid.chars().next().map_or(Start::Incomplete, |c| Start::Char(c, c.len_utf8()))
}

/// The bytes of a file of `len` bytes that are share number `index` of `shares`. Every share but the first begins with an
/// ASCII character that belongs to no word, so no word and no character lies in two shares; a share can be empty.
///
/// # Errors
/// What reading the file gives.
///
/// # Panics
/// When there is no such share.
pub(crate) fn range_of_share(file: &File, len: u64, shares: u32, index: u32) -> io::Result<Range<u64>> {
    let even = share(len, shares, index);
    Ok(border(file, len, even.start)?..border(file, len, even.end)?)
}

/// The first place from `at` on where the file can be cut.
fn border(file: &File, len: u64, mut at: u64) -> io::Result<u64> {
    if at == 0 {
        return Ok(0);
    }
    let mut buffer = [0; BORDER_READ_BYTES];
    while at < len {
        let wanted = buffer.len().min(usize::try_from(len - at).unwrap_or(usize::MAX));
        let got = read_some(file, &mut buffer[..wanted], at)?;
        match buffer[..got].iter().position(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()) {
            Some(index) => return Ok(at + index as u64),
            None => at += got as u64,
        }
    }
    Ok(len)
}

/// Hands over every word of a range of a file.
///
/// # Errors
/// What reading the file gives; `UnexpectedEof` when the file ends before the range.
pub(crate) fn for_each_word(file: &File, range: Range<u64>, mut found: impl FnMut(&str)) -> io::Result<()> {
    let mut tokenizer = Tokenizer::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut at = range.start;
    while at < range.end {
        let wanted = buffer.len().min(usize::try_from(range.end - at).unwrap_or(usize::MAX));
        let got = read_some(file, &mut buffer[..wanted], at)?;
        tokenizer.feed(&buffer[..got], &mut found);
        at += got as u64;
    }
    tokenizer.finish(&mut found);
    Ok(())
}

/// Reads at least one byte.
fn read_some(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// How often each word occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    words: HashMap<String, u64>,
}

impl Counts {
    /// Counts the words of a range of a file.
    ///
    /// # Errors
    /// As for [`for_each_word`].
    pub(crate) fn of(file: &File, range: Range<u64>) -> io::Result<Self> {
        let mut counts = Self::default();
        for_each_word(file, range, |word| counts.add(word, 1))?;
        Ok(counts)
    }

    /// Adds `count` occurrences of a word.
    pub(crate) fn add(&mut self, word: &str, count: u64) {
        match self.words.get_mut(word) {
            Some(known) => *known += count,
            None => {
                self.words.insert(word.to_owned(), count);
            }
        }
    }

    /// Number of different words.
    pub(crate) fn distinct(&self) -> usize {
        self.words.len()
    }

    /// Number of words.
    pub(crate) fn total(&self) -> u64 {
        self.words.values().sum()
    }

    /// The `n` most frequent words, the most frequent first, and in the order of their bytes where counts are equal.
    pub(crate) fn top(&self, n: usize) -> Vec<(&str, u64)> {
        let mut all: Vec<(&str, u64)> =
            self.words.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        let order = |a: &(&str, u64), b: &(&str, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0));
        if (1..all.len()).contains(&n) {
            all.select_nth_unstable_by(n - 1, order);
        }
        all.truncate(n);
        all.sort_unstable_by(order);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn words_in_pieces(bytes: &[u8], piece: usize) -> Vec<String> {
        let mut words = Vec::new();
        let mut tokenizer = Tokenizer::new();
        bytes.chunks(piece).for_each(|piece| tokenizer.feed(piece, &mut |word| words.push(word.to_owned())));
        tokenizer.finish(&mut |word| words.push(word.to_owned()));
        words
    }

    fn words(text: &str) -> Vec<String> {
        words_in_pieces(text.as_bytes(), usize::MAX)
    }

    /// A file without a name, with its length.
    fn file(bytes: &[u8]) -> (File, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        (file, bytes.len() as u64)
    }

    /// Numbers for tests, the same in every run.
    fn numbers(mut seed: u64) -> impl FnMut() -> u64 {
        move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        }
    }

    /// Texts of words, separators, and bytes that are not UTF-8.
    fn random_text(len: usize, seed: u64) -> Vec<u8> {
        const PARTS: &[&[u8]] = &[
            b"a",
            b"Z",
            b"9",
            b" ",
            b"\n",
            b"'",
            "ä".as_bytes(),
            "Ω".as_bytes(),
            "漢".as_bytes(),
            "𝄞".as_bytes(),
            "𝒜".as_bytes(),
            "—".as_bytes(),
            "\u{a0}".as_bytes(),
            b"\xff",
            b"\xc3",
            b"\x80",
            b"\xe2\x80",
            b"\xf0\x9f\x98",
            b"the ",
            b"longer",
        ];
        let mut next = numbers(seed);
        let mut text = Vec::new();
        while text.len() < len {
            text.extend_from_slice(PARTS[next() as usize % PARTS.len()]);
        }
        text
    }

    #[test]
    fn words_are_letters_and_digits_of_any_script() {
        assert_eq!(
            words("It's RMA-2, naïve—漢字 42x\u{2003}end"),
            ["it", "s", "rma", "2", "naïve", "漢字", "42x", "end"]
        );
        assert_eq!(words(""), [""; 0]);
        assert_eq!(words(" \n…"), [""; 0]);
        assert_eq!(words("Ärger"), ["Ärger"]);
        assert_eq!(words_in_pieces(b"a\xffb\xc3 c\xe2\x80", 100), ["a", "b", "c"]);
        assert_eq!(words_in_pieces(b"x\xe2\x80y\xc3", 100), ["x", "y"]);
    }

    #[test]
    fn long_runs_are_cut_to_whole_characters() {
        let a = "a".repeat(MAX_WORD_BYTES);
        assert_eq!(words(&format!("{a} {a}b c")), [a.as_str(), &a, "c"]);
        let almost = "a".repeat(MAX_WORD_BYTES - 1);
        // The two-byte letter does not fit, and nothing after it counts any more.
        assert_eq!(words(&format!("{almost}äb {almost}b")), [almost.clone(), almost + "b"]);
    }

    #[test]
    fn pieces_do_not_matter() {
        for seed in 1..40 {
            let text = random_text(700, seed);
            let whole = words_in_pieces(&text, usize::MAX);
            for piece in [1, 2, 3, 5, 64, 699] {
                assert_eq!(words_in_pieces(&text, piece), whole, "seed {seed}, pieces of {piece}");
            }
            let text = String::from_utf8_lossy(&text);
            let plain: Vec<&str> =
                text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
            let lower: Vec<String> = plain.iter().map(|word| word.to_ascii_lowercase()).collect();
            if plain.iter().all(|word| word.len() <= MAX_WORD_BYTES) {
                assert_eq!(whole, lower, "seed {seed}");
            }
        }
    }

    #[test]
    fn shares_do_not_matter() {
        let mut texts: Vec<Vec<u8>> = (1..20).map(|seed| random_text(300, seed)).collect();
        texts.extend([
            vec![],
            b"one".to_vec(),
            b" ".to_vec(),
            b"a b".to_vec(),
            vec![b'x'; 3 * BORDER_READ_BYTES],
        ]);
        for text in texts {
            let (file, len) = file(&text);
            let whole = Counts::of(&file, 0..len).unwrap();
            assert_eq!(whole.total() as usize, words_in_pieces(&text, usize::MAX).len());
            for shares in [1, 2, 4, 7, 16, 400] {
                let mut sum = Counts::default();
                let mut end = 0;
                for index in 0..shares {
                    let range = range_of_share(&file, len, shares, index).unwrap();
                    assert_eq!(range.start, end);
                    end = range.end;
                    for_each_word(&file, range, |word| sum.add(word, 1)).unwrap();
                }
                assert_eq!(end, len);
                assert_eq!(sum, whole, "{shares} shares of {:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn the_top_is_ordered_by_count_then_word() {
        let mut counts = Counts::default();
        for (word, count) in [("b", 2), ("a", 2), ("c", 5), ("d", 1), ("b", 1), ("e", 2)] {
            counts.add(word, count);
        }
        assert_eq!((counts.distinct(), counts.total()), (5, 13));
        assert_eq!(counts.top(3), [("c", 5), ("b", 3), ("a", 2)]);
        assert_eq!(counts.top(9), [("c", 5), ("b", 3), ("a", 2), ("e", 2), ("d", 1)]);
        assert_eq!(counts.top(0), []);
    }

    #[test]
    fn a_file_that_shrank_is_an_error() {
        let (file, _) = file(b"one two");
        let error = for_each_word(&file, 0..100, |_| {}).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
