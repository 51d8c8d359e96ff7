//! Grammars of values, written from their JSON Schema.

use std::slice;

use crate::constrain::literals::{number_spellings, spellings};
use crate::constrain::writer::GrammarWriter;
use crate::constrain::{limits, whole_values};
use crate::function::{Arguments, Value};
use crate::notation::gemma::is_word;
use crate::notation::grammar::{LiteralSyntax, Member, literal};
use crate::schema::definition;
use crate::validate::{as_passed_on, fits_schema};

impl GrammarWriter<'_> {
    /// Makes references refer to the definitions of a parameter's schema.
    pub(super) fn enter(&mut self, schema: &Value) {
        self.definition_rules.clear();
        self.definitions = schema.clone();
    }

    /// The symbol for values that fit the definition that a schema refers to. Its rule may contain itself.
    fn defined(&mut self, schema: &Value) -> Option<String> {
        let definition = definition(schema, &self.definitions)?.clone();
        let reference = schema.get("$ref")?.as_str()?;
        if let Some(known) = self.definition_rules.get(reference) {
            return Some(known.clone());
        }
        let name = self.name("d");
        self.definition_rules.insert(reference.to_owned(), name.clone());
        let body = self.value_of(&definition);
        self.text += &format!("{name}: {body}\n");
        Some(name)
    }

    /// The symbol for values that fit a schema. It covers `enum` and `const`; types, with `items` of arrays, and `properties`
    /// or `additionalProperties` of objects; combinations, if there is no type; definitions that a `$ref` names; and the
    /// [`limits`] of strings, integers and arrays. All other keywords are left to the app's own checks.
    pub(super) fn value_of(&mut self, schema: &Value) -> String {
        if let Some(symbol) = self.defined(schema) {
            return symbol;
        }
        let listed = match schema.get("enum") {
            Some(Value::Array(values)) => values,
            _ => schema.get("const").map_or(&[][..], slice::from_ref),
        };
        let fitting = listed.iter().filter(|value| fits_schema(value, schema));
        let fitting: Vec<Value> = fitting.map(|value| as_passed_on(value, schema)).collect();
        if self.syntax == LiteralSyntax::Gemma && fitting.iter().any(is_scalar) {
            return self.gemma_listed(&fitting);
        } else if !fitting.is_empty() && self.syntax != LiteralSyntax::Gemma {
            let syntax = self.syntax;
            return self.one_of(fitting.iter().flat_map(|value| value_spellings(syntax, value)));
        }
        if matches!(self.syntax, LiteralSyntax::Python | LiteralSyntax::Json)
            && let Some(whole) = self.limits(|| whole_values::of(schema))
        {
            self.has_free_maps = true;
            return self.json(whole);
        }
        match schema.get("type") {
            Some(Value::Array(types)) => return self.any_of(types.iter(), |writer, name| writer.typed(name, schema)),
            Some(name) => return self.typed(name, schema),
            None if schema.get("properties").is_some() => return self.object(schema),
            None => {}
        }
        match (schema.get("anyOf").or_else(|| schema.get("oneOf")), schema.get("allOf")) {
            (Some(Value::Array(schemas)), _) => self.any_of(schemas.iter(), Self::value_of),
            (None, Some(Value::Array(schemas))) if schemas.len() == 1 => self.any_of(schemas.iter(), Self::value_of),
            _ => self.free(),
        }
    }

    /// The symbol for one of several alternatives.
    fn any_of<T>(&mut self, each: impl Iterator<Item = T>, write: impl Fn(&mut Self, T) -> String) -> String {
        let symbols: Vec<String> = each.map(|each| write(self, each)).collect();
        match symbols.as_slice() {
            [] => self.free(),
            [symbol] => symbol.clone(),
            symbols => self.rule(&symbols.join(" | ")),
        }
    }

    /// The symbol for values of a type.
    fn typed(&mut self, name: &Value, schema: &Value) -> String {
        match name.as_str() {
            Some("string") if self.syntax == LiteralSyntax::Gemma => self.gemma_string(schema),
            Some("string") if self.syntax == LiteralSyntax::JsonInXml => "str".to_owned(),
            Some(name @ ("string" | "integer")) => match self.limits(|| limits::of(name, schema)) {
                Some(limits) => self.json(limits),
                None if name == "string" => "str".to_owned(),
                None => "INT".to_owned(),
            },
            Some("number") => match self.limits(|| whole_values::of_number(schema)) {
                Some(limits) => self.json(limits),
                None => "NUM".to_owned(),
            },
            Some("boolean") => "BOOL".to_owned(),
            Some("null") => "NULL".to_owned(),
            Some("array")
                if let Some(Value::Array(first)) = schema.get("prefixItems")
                    && !first.is_empty() =>
            {
                self.tuple(first, schema)
            }
            Some("array") => {
                let item = match schema.get("items") {
                    Some(items @ Value::Object(_)) => self.value_of(items),
                    _ => self.free(),
                };
                let [none, more] = ["\"[\" \"]\"".to_owned(), format!("\"[\" {item} (SEP {item})")];
                let body = match self.limits(|| limits::of_array(schema)) {
                    None => format!("{none} | {more}* \"]\""),
                    Some((_, Some(0))) => none,
                    Some((least, most)) => {
                        let most = most.map_or(String::new(), |most| (most - 1).to_string());
                        let more = format!("{more}{{{},{most}}} \"]\"", least.saturating_sub(1));
                        if least == 0 { format!("{none} | {more}") } else { more }
                    }
                };
                self.rule(&body)
            }
            Some("object") => self.object(schema),
            _ => self.free(), // not a type of JSON Schema
        }
    }

    /// The symbol for an array whose first elements have schemas of their own.
    fn tuple(&mut self, first: &[Value], schema: &Value) -> String {
        let (least, most) = limits::of_array(schema).unwrap_or_default();
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let (least, most) = (size(least), most.map(size));
        let n_first = most.map_or(first.len(), |most| most.min(first.len()));
        let other = match schema.get("items") {
            _ if most.is_some_and(|most| most <= n_first) => None,
            Some(Value::Bool(false)) => None,
            Some(items @ Value::Object(_)) => Some(self.value_of(items)),
            _ => Some(self.free()),
        };
        let n_more = most.map_or(String::new(), |most| (most - n_first).to_string());
        let more = other.map(|other| format!("(SEP {other}){{{},{n_more}}}", least.saturating_sub(n_first)));
        // From the last element to the first: what follows an element is left out with it.
        let rest = first[..n_first].iter().enumerate().rev().fold(more.unwrap_or_default(), |rest, (i, element)| {
            let separator = if i == 0 { "" } else { "SEP " };
            let element = format!("{separator}{} {rest}", self.value_of(element));
            if i < least { element } else { format!("({element})?") }
        });
        self.rule(&format!("\"[\" {rest} \"]\""))
    }

    /// The symbol for a string between control tokens.
    fn gemma_string(&mut self, schema: &Value) -> String {
        let Some(limits) = self.limits(|| limits::of_text(schema)) else { return "str".to_owned() };
        let text = self.write_terminal(&limits);
        self.rule(&format!("quote {text} quote"))
    }

    /// The symbol for one of the scalars that a schema lists, with strings between control tokens.
    fn gemma_listed(&mut self, values: &[Value]) -> String {
        let scalars = values.iter().filter(|value| is_scalar(value));
        let spellings = scalars.flat_map(|value| match value {
            Value::String(text) if text.is_empty() => vec!["quote quote".to_owned()],
            Value::String(text) => vec![format!("quote {} quote", literal(text))],
            value => value_spellings(LiteralSyntax::Gemma, value).iter().map(|text| literal(text)).collect(),
        });
        let spellings: Vec<String> = spellings.collect();
        self.rule(&spellings.join(" | "))
    }

    fn object(&mut self, schema: &Value) -> String {
        let none = Arguments::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties,
            _ => &none,
        };
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut members = Vec::with_capacity(properties.len());
        let is_gemma = self.syntax == LiteralSyntax::Gemma;
        let can_name = |name: &str| !is_gemma || is_word(name);
        let nameable: Vec<_> = properties.iter().filter(|(name, _)| can_name(name)).collect();
        for (name, property) in nameable {
            let symbols = format!("{} {}", self.key_of(name), self.value_of(property));
            members.push(Member { symbols, is_required: required.contains(&name.as_str()) });
        }
        for (i, name) in required.iter().enumerate() {
            if !properties.contains_key(*name) && !required[..i].contains(name) {
                let symbols = format!("{} {}", self.key_of(name), self.other_value(schema));
                members.push(Member { symbols, is_required: true });
            }
        }
        if members.is_empty() && schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            return self.rule("\"{\" \"}\"");
        }
        if members.is_empty() {
            let value = self.other_value(schema);
            self.has_free_maps = true;
            return self.rule(&format!("\"{{\" \"}}\" | \"{{\" NAME COLON {value} (SEP NAME COLON {value})* \"}}\""));
        }
        let members = self.members(members, "SEP");
        self.rule(&format!("\"{{\" {members} \"}}\""))
    }

    /// The symbol for values of undeclared properties.
    fn other_value(&mut self, schema: &Value) -> String {
        match schema.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => self.value_of(schema),
            _ => self.free(),
        }
    }

    /// The symbol for any value.
    fn free(&mut self) -> String {
        self.has_free_maps = true;
        "free".to_owned()
    }
}

/// The spellings of a value.
fn value_spellings(syntax: LiteralSyntax, value: &Value) -> Vec<String> {
    let is_python = syntax == LiteralSyntax::Python;
    let constant = match value {
        Value::String(text) => return spellings(syntax, text),
        Value::Number(number) => return number_spellings(*number),
        Value::Null if is_python => Some("None"),
        Value::Bool(true) if is_python => Some("True"),
        Value::Bool(false) if is_python => Some("False"),
        _ => None,
    };
    constant.map(str::to_owned).into_iter().chain([value.to_string()]).collect()
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}
