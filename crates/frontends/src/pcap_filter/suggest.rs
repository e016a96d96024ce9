//! Near misses: the word that a misspelt one was meant to be.

use super::token::{WORDS, Word};

/// The reserved word closest to `text`, if it is close: one slip for short words, two for long
/// ones.
pub(crate) fn word(text: &str) -> Option<&'static str> {
    let known = WORDS.iter().filter(|(_, word)| !is_special(*word)).map(|&(name, _)| name);
    nearest(text, known)
}

/// Words that only captures of 802.11, pf, SS7 or ATM have a use for.
fn is_special(word: Word) -> bool {
    use Word::{Foreign, FrameAddress, FrameDirection, Pf, Rnr, Ss7Field, Ss7Unit, Subtype, Type};
    matches!(word, Foreign | FrameAddress(_) | FrameDirection | Pf(_) | Rnr | Ss7Field(..) | Ss7Unit(..) | Subtype | Type)
}

/// True for a reserved word.
pub(crate) fn is_word(text: &str) -> bool {
    WORDS.iter().any(|&(name, _)| name == text)
}

/// The first of the closest `candidates`.
pub(crate) fn nearest<'c>(text: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let text = text.to_ascii_lowercase();
    let slips = match text.len() {
        0..=1 => 0,
        2..=4 => 1,
        5..=32 => 2,
        _ => return None,
    };
    candidates
        .filter(|name| name.len().abs_diff(text.len()) <= slips)
        .map(|name| (strsim::osa_distance(&text, name), name))
        .filter(|&(distance, _)| distance <= slips)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn slips_are_seen_through() {
        assert_eq!(word("prot"), Some("port"));
        assert_eq!(word("hots"), Some("host"));
        assert_eq!(word("TCP"), Some("tcp"));
        assert_eq!(word("brodcast"), Some("broadcast"));
        assert_eq!(word("www.example.org"), None);
    }
}
