//! The characters that Python prints as they are, and does not escape, in the representation of a string.

use std::cell::RefCell;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

/// What `str.isprintable` refuses: control, format, private-use and unassigned characters, and separators except the space.
const REFUSED: &str = r"[[\p{Other}\p{Separator}]--[\x20]]";

static NOT_PRINTABLE: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let class = regex_syntax::parse(REFUSED).map(|pattern| pattern.into_kind());
    match class {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    }
});

/// Whether `str.isprintable` accepts a character. Newer versions of Unicode, and so of Python, assign more characters.
pub(super) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    let ranges = NOT_PRINTABLE.ranges();
    let at = ranges.partition_point(|range| range.end() < character);
    ranges.get(at).is_none_or(|range| character < range.start())
}

thread_local! {
    static KEPT: RefCell<Vec<char>> = const { RefCell::new(Vec::new()) };
}

/// Runs code on this thread that leaves these characters as they are, because they stand for others.
pub(super) fn keeping<T>(characters: Vec<char>, run: impl FnOnce() -> T) -> T {
    let before = KEPT.replace(characters);
    let made = run();
    KEPT.set(before);
    made
}

/// Whether a character stands for another one, which needs no escape.
pub(super) fn is_kept(character: char) -> bool {
    KEPT.with_borrow(|kept| kept.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;
    use crate::tests::with_state;

    /// Recorded from Python by `scripts/golden`.
    #[derive(serde::Deserialize)]
    struct Golden {
        escaped: Vec<(u32, u32)>,
    }

    #[test]
    fn all_of_unicode_is_escaped_as_in_python() {
        let golden = include_str!("../../../tests/golden/printable.json");
        let golden: Golden = serde_json::from_str(golden).unwrap();
        let mut is_escaped = vec![false; char::MAX as usize + 1];
        for (first, last) in golden.escaped {
            is_escaped[first as usize..=last as usize].fill(true);
        }
        for character in '\0'..=char::MAX {
            assert_eq!(is_printable(character), !is_escaped[character as usize], "{character:?}");
        }
    }

    #[test]
    fn characters_that_stand_for_others_are_kept() {
        let text = minijinja::value::Value::from("a\u{fdd0}\u{fdd1}");
        assert_eq!(
            keeping(vec!['\u{fdd0}'], || with_state(|state| python::repr(state, &text))).unwrap(),
            "'a\u{fdd0}\\ufdd1'"
        );
        assert_eq!(with_state(|state| python::repr(state, &text)).unwrap(), "'a\\ufdd0\\ufdd1'");
    }
}
