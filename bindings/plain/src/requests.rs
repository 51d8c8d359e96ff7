//! Requests in JSON as Rust's types.

use causerie::typed::{self, TypedParameter};
use causerie::{ErrorKind, Result, SdkError, Value, read_json};

use crate::options::unknown_option;

/// Reads a request, whose members must all be known.
pub(crate) fn read_request<T: TypedParameter>(text: &str, what: &str) -> Result<T> {
    let value = read_json(text)
        .ok_or_else(|| SdkError::new(ErrorKind::Serialization, format!("{what} must be a JSON object")))?;
    if let Value::Object(members) = &value {
        let known = typed::function::<T>(what, "").parameters;
        let known: Vec<&str> = known.iter().map(|member| member.name.as_str()).collect();
        if let Some(unknown) = members.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(unknown_option(unknown, &known));
        }
    }
    T::from_value(value, what)
}

#[cfg(test)]
mod tests {
    use crate::{DecideRequest, EmbedRequest, RerankRequest, embedding_options};

    #[test]
    fn an_unknown_member_is_refused_with_a_near_name() {
        for (reason, expected) in [
            (
                DecideRequest::from_json(r#"{"questions": [], "rotation": 1}"#).err(),
                "rotation; did you mean rotations?",
            ),
            (EmbedRequest::from_json(r#"{"texts": [], "dimension": 8}"#).err(), "dimension; did you mean dimensions?"),
            (
                RerankRequest::from_json(r#"{"query": "", "documents": [], "topn": 1}"#).err(),
                "topn; did you mean top_n?",
            ),
            (embedding_options(r#"{"thread": 1}"#).err(), "thread; did you mean threads?"),
            (embedding_options(r#"{"colour": 1}"#).err(), "colour"),
        ] {
            assert_eq!(reason.unwrap().to_string(), format!("there is no option {expected}"));
        }
    }
}
