//! Attributes and doc comments.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result};

/// The attributes of a type: its name, and how the variants of an enum are told apart.
#[derive(Default)]
pub(crate) struct ItemAttributes {
    pub(crate) tag: Option<String>,
    pub(crate) content: Option<String>,
    is_untagged: bool,
}

impl ItemAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("sdk")) {
            attribute.parse_nested_meta(|meta| {
                let text = || Ok::<_, Error>(meta.value()?.parse::<LitStr>()?.value());
                if meta.path.is_ident("tag") {
                    found.tag = Some(text()?);
                } else if meta.path.is_ident("content") {
                    found.content = Some(text()?);
                } else if meta.path.is_ident("untagged") {
                    found.is_untagged = true;
                } else if meta.path.is_ident("name") {
                    text()?;
                } else {
                    return Err(meta.error("the attribute must be name, tag, content or untagged"));
                }
                Ok(())
            })?;
        }
        match (&found.tag, &found.content, found.is_untagged) {
            (None, Some(_), _) => Err(Error::new(Span::call_site(), "content must come with tag = \"…\"")),
            (Some(_), _, true) => Err(Error::new(Span::call_site(), "an untagged enum must have no tag")),
            _ => Ok(found),
        }
    }

    /// Refuses what only enums can have.
    pub(crate) fn check_is_plain(&self) -> Result<()> {
        match self {
            Self { tag: None, content: None, is_untagged: false } => Ok(()),
            _ => Err(Error::new(Span::call_site(), "tag, content and untagged must be attributes of an enum")),
        }
    }

    /// The expression of `EnumForm`.
    pub(crate) fn form(&self) -> TokenStream {
        match (&self.tag, &self.content, self.is_untagged) {
            (_, _, true) => quote!(::causerie::typed::EnumForm::Untagged),
            (Some(tag), Some(content), _) => {
                quote!(::causerie::typed::EnumForm::Adjacent { tag: #tag, content: #content })
            }
            (Some(tag), None, _) => quote!(::causerie::typed::EnumForm::Internal { tag: #tag }),
            _ => quote!(::causerie::typed::EnumForm::External),
        }
    }
}

/// The name that `#[sdk(name = "…")]` gives, or the identifier in snake case.
pub(crate) fn name(attributes: &[Attribute], ident: &Ident) -> Result<String> {
    let mut given = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("sdk")) {
        attribute.parse_nested_meta(|meta| {
            let value = if meta.input.peek(syn::Token![=]) { Some(meta.value()?.parse::<LitStr>()?) } else { None };
            match value {
                Some(value) if meta.path.is_ident("name") => given = Some(value.value()),
                _ if ["tag", "content", "untagged"].iter().any(|known| meta.path.is_ident(known)) => {}
                _ => return Err(meta.error("the attribute must be name = \"…\"")),
            }
            Ok(())
        })?;
    }
    let ident = ident.to_token_stream().to_string();
    Ok(given.unwrap_or_else(|| snake_case(ident.trim_start_matches("r#"))))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut last_is_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && last_is_lower {
            snake.push('_');
        }
        last_is_lower = !character.is_uppercase() && character != '_';
        snake.extend(character.to_lowercase());
    }
    snake
}

/// The doc comment, with one line per paragraph.
pub(crate) fn description(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &doc.value else { continue };
        for line in line.value().lines().map(str::trim) {
            let separator = match (text.is_empty() || text.ends_with('\n'), line.is_empty()) {
                (_, true) => "\n",
                (true, false) => "",
                (false, false) => " ",
            };
            text.push_str(separator);
            text.push_str(line);
        }
    }
    text.trim().to_owned()
}
