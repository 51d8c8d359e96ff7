//! Quantisations in the names of GGUF files.

/// The quantisation that a file's name ends with, such as `Q4_K_M` or `UD-Q4_K_XL`; `None` if it ends with another word.
/// `stem` is the name without `.gguf` and without the number of a part.
pub(super) fn of_stem(stem: &str) -> Option<&str> {
    let start = stem.rfind(['-', '.'])?;
    let token = &stem[start + 1..];
    is_quantisation(token).then(|| {
        let before = &stem[..start];
        let dynamic = before.len().checked_sub(2).and_then(|at| before.get(at..)).is_some_and(is_dynamic);
        let is_word = dynamic && before[..before.len() - 2].ends_with(['-', '.']);
        if is_word { &stem[start - 2..] } else { token }
    })
}

fn is_dynamic(text: &str) -> bool {
    text.eq_ignore_ascii_case("UD")
}

/// A quantisation without the `UD-` of dynamic ones.
pub(super) fn without_dynamic(tag: &str) -> &str {
    match tag.split_at_checked(3) {
        Some((head, rest)) if head.eq_ignore_ascii_case("UD-") => rest,
        _ => tag,
    }
}

/// Whether a word is the name of a quantisation or of a floating-point type.
pub(super) fn is_quantisation(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    let has_digit = |head: &str| {
        word.strip_prefix(head).is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_digit())
                && rest.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
        })
    };
    ["F16", "F32", "BF16", "FP16", "FP32"].contains(&word.as_str())
        || ["Q", "IQ", "TQ", "MXFP", "NVFP"].iter().any(|head| has_digit(head))
}

/// Whether this program can compute with a quantisation of this name.
pub(super) fn is_computed(tag: &str) -> bool {
    let tag = without_dynamic(tag).to_ascii_uppercase();
    !["IQ1", "IQ2", "IQ3", "TQ", "MXFP", "NVFP", "Q1_", "Q2_0"].iter().any(|head| tag.starts_with(head))
}

/// Whether weights have 4.5 bits or more on average.
pub(super) fn is_precise(tag: &str) -> bool {
    let tag = without_dynamic(tag).to_ascii_uppercase();
    is_computed(&tag) && !["Q2", "Q3", "IQ4_XS"].iter().any(|head| tag.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_name_is_its_quantisation() {
        for (stem, expect) in [
            ("LFM2-350M-Q4_K_M", Some("Q4_K_M")),
            ("llama.q4_0", Some("q4_0")),
            ("Qwen3-8B-UD-Q4_K_XL", Some("UD-Q4_K_XL")),
            ("UD-Q4_K_XL", Some("Q4_K_XL")), // there is nothing before it that it could belong to
            ("gpt-oss-20b-mxfp4", Some("mxfp4")),
            ("gpt-oss-20b-MXFP4_MOE", Some("MXFP4_MOE")),
            ("model-BF16", Some("BF16")),
            ("model-IQ4_XS", Some("IQ4_XS")),
            ("Qwen2.5-7B-Instruct", None),
            ("LFM2-1.2B", None),
            ("Q4_0", None),
            ("a-Quick", None),
            ("ünicode-Q8_0", Some("Q8_0")),
        ] {
            assert_eq!(of_stem(stem), expect, "{stem}");
        }
    }

    #[test]
    fn precision_is_known_by_name() {
        for tag in ["Q4_0", "Q4_K_S", "UD-Q4_K_XL", "q8_0", "F16", "IQ4_NL", "Q5_1"] {
            assert!(is_precise(tag), "{tag}");
        }
        for tag in ["Q2_K", "UD-Q3_K_XL", "IQ4_XS", "UD-IQ2_M", "TQ1_0", "MXFP4"] {
            assert!(!is_precise(tag), "{tag}");
        }
    }
}
