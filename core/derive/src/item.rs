//! A struct or an enum, and the code that describes it to the core.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Meta, Result, Type};

pub(crate) struct Item<'a> {
    ident: &'a Ident,
    name: String,
    description: String,
    shape: Shape<'a>,
}

enum Shape<'a> {
    Struct(Vec<Field<'a>>),
    Enum(Vec<(&'a Ident, String)>),
}

struct Field<'a> {
    ident: &'a Ident,
    field_type: &'a Type,
    name: String,
    description: String,
}

impl<'a> Item<'a> {
    pub(crate) fn read(input: &'a DeriveInput) -> Result<Self> {
        if !input.generics.params.is_empty() {
            return Err(Error::new(input.generics.span(), "the type must not have generic parameters"));
        }
        let shape = match &input.data {
            Data::Struct(data) => Shape::Struct(fields(&data.fields, input)?),
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| match &variant.fields {
                    Fields::Unit => Ok((&variant.ident, name(&variant.attrs, &variant.ident)?)),
                    fields => Err(Error::new(fields.span(), "the variants of the enum must not have fields")),
                });
                let variants: Vec<_> = variants.collect::<Result<_>>()?;
                check_unique(variants.iter().map(|(ident, name)| (*ident, name)))?;
                Shape::Enum(variants)
            }
            Data::Union(_) => {
                return Err(Error::new(input.span(), "the type must be a struct or an enum, found a union"));
            }
        };
        let (name, description) = (name(&input.attrs, &input.ident)?, description(&input.attrs));
        Ok(Self { ident: &input.ident, name, description, shape })
    }

    /// `impl TypedParameter`.
    pub(crate) fn parameter_type(&self) -> TokenStream {
        let Self { ident, description, .. } = self;
        let (parameter_type, from_value) = match &self.shape {
            Shape::Struct(fields) => {
                let parameters = fields.iter().map(Field::parameter);
                let members = fields.iter().map(|Field { ident, name, .. }| quote!(#ident: members.take(#name)?));
                (
                    quote!(::causerie::typed::object(::std::vec![#(#parameters),*], #description)),
                    quote! {
                        let mut members = ::causerie::typed::Members::of(value, place)?;
                        ::std::result::Result::Ok(Self { #(#members),* })
                    },
                )
            }
            Shape::Enum(variants) => {
                let names = variants.iter().map(|(_, name)| name);
                let choices = variants.iter().map(|(ident, name)| quote!((#name, Self::#ident)));
                (
                    quote!(::causerie::typed::choice(&[#(#names),*], #description)),
                    quote!(::causerie::typed::chosen(&value, place, [#(#choices),*])),
                )
            }
        };
        let inner: Vec<&Type> = match &self.shape {
            Shape::Struct(fields) => fields.iter().map(|field| field.field_type).collect(),
            Shape::Enum(_) => Vec::new(),
        };
        quote! {
            // Evaluated here, so that a type that contains itself does not compile.
            const _: usize = <#ident as ::causerie::typed::TypedParameter>::DEPTH;

            impl ::causerie::typed::TypedParameter for #ident {
                const DEPTH: usize = {
                    let inner: &[usize] = &[#(<#inner as ::causerie::typed::TypedParameter>::DEPTH),*];
                    let (mut deepest, mut at) = (0, 0);
                    while at < inner.len() {
                        if deepest < inner[at] {
                            deepest = inner[at];
                        }
                        at += 1;
                    }
                    1 + deepest
                };

                fn parameter_type() -> ::causerie::SdkFunctionParameterType {
                    #parameter_type
                }

                fn from_value(value: ::causerie::Value, place: &str) -> ::causerie::Result<Self> {
                    #from_value
                }
            }
        }
    }

    /// `impl TypedFunction`.
    pub(crate) fn function(&self) -> Result<TokenStream> {
        let Self { ident, name, description, shape } = self;
        let Shape::Struct(fields) = shape else {
            return Err(Error::new(ident.span(), "the arguments of a function must be a struct, found an enum"));
        };
        let parameters = fields.iter().map(Field::parameter);
        Ok(quote! {
            impl ::causerie::typed::TypedFunction for #ident {
                fn function() -> ::causerie::SdkFunction {
                    ::causerie::SdkFunction::new(#name, #description, ::std::vec![#(#parameters),*])
                }
            }
        })
    }
}

impl Field<'_> {
    fn parameter(&self) -> TokenStream {
        let Self { field_type, name, description, .. } = self;
        quote!(::causerie::typed::parameter::<#field_type>(#name, #description))
    }
}

fn fields<'a>(fields: &'a Fields, input: &DeriveInput) -> Result<Vec<Field<'a>>> {
    let named = match fields {
        Fields::Named(fields) => &fields.named,
        Fields::Unit => return Ok(Vec::new()),
        Fields::Unnamed(_) => {
            return Err(Error::new(input.span(), "the struct must have named fields, because arguments have names"));
        }
    };
    let read = |field: &'a syn::Field| {
        let ident = field.ident.as_ref().ok_or_else(|| Error::new(field.span(), "the field must have a name"))?;
        let (name, description) = (name(&field.attrs, ident)?, description(&field.attrs));
        Ok(Field { ident, field_type: &field.ty, name, description })
    };
    let fields: Vec<_> = named.iter().map(read).collect::<Result<_>>()?;
    check_unique(fields.iter().map(|field| (field.ident, &field.name)))?;
    Ok(fields)
}

/// Rejects duplicate names.
fn check_unique<'a>(names: impl Iterator<Item = (&'a Ident, &'a String)>) -> Result<()> {
    let mut known = Vec::new();
    for (ident, name) in names {
        if known.contains(&name) {
            return Err(Error::new(ident.span(), format!("the name {name:?} must be unique")));
        }
        known.push(name);
    }
    Ok(())
}

/// The name that `#[sdk(name = "…")]` gives, or the identifier in snake case.
fn name(attributes: &[Attribute], ident: &Ident) -> Result<String> {
    let mut given = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("sdk")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("the attribute must be name = \"…\""));
            }
            given = Some(meta.value()?.parse::<LitStr>()?.value());
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
fn description(attributes: &[Attribute]) -> String {
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
