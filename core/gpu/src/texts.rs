//! Texts of kernels, put together from parts. A line `//NAME text` of a part counts where `NAME` is enabled. A kernel may have several
//! instances of a part: `$` is what their names end with, and `#n` a binding, counted from the first of the instance.

/// Reads a part of a kernel.
macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../shaders/", $name, ".wgsl"))
    };
}
pub(crate) use part;

/// An instance of a part, whose names end with `suffix`, and whose bindings begin with `first_binding`.
pub(crate) fn instance(part: &str, names: &[&str], suffix: &str, first_binding: u32) -> String {
    let mut text = enabled(part, names).replace('$', suffix);
    for binding in 0..8 {
        text = text.replace(&format!("#{binding}"), &(first_binding + binding).to_string());
    }
    text
}

/// The lines of a part that have no name before them, or an enabled one.
fn enabled(part: &str, names: &[&str]) -> String {
    let mut text = String::with_capacity(part.len());
    for line in part.lines() {
        let line = match line.strip_prefix("//") {
            Some(rest) if rest.starts_with(|first: char| first.is_ascii_uppercase()) => {
                let (name, line) = rest.split_once(' ').unwrap_or((rest, ""));
                if !names.contains(&name) {
                    continue;
                }
                line
            }
            _ => line,
        };
        text.push_str(line);
        text.push('\n');
    }
    text
}
