//! The derive macros of `causerie::typed`; its documentation describes the traits that they implement.

mod attributes;
mod item;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use item::Item;

/// Implements `causerie::typed::TypedFunction` and `TypedParameter` for a struct with the arguments of a function.
///
/// The function has the struct's name in snake case; `#[sdk(name = "…")]` gives another name to it or to a field. Doc
/// comments are the descriptions.
#[proc_macro_derive(SdkFunction, attributes(sdk))]
pub fn derive_function(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input, |item| {
        let (parameter, function) = (item.parameter_type(), item.function()?);
        Ok(quote!(#parameter #function))
    })
}

/// Implements `causerie::typed::TypedParameter` for a struct or an enum: the type of a parameter or of a reply.
///
/// The variants of an enum are in snake case; `#[sdk(name = "…")]` gives another name to a variant or to a field. The values of
/// variants with fields have the forms that serde writes: `{"variant": …}`, with `#[sdk(tag = "type")]` a member that names the
/// variant, with `#[sdk(tag = "type", content = "value")]` the fields in another member, or with `#[sdk(untagged)]` the fields
/// alone.
#[proc_macro_derive(SdkFunctionParameterType, attributes(sdk))]
pub fn derive_parameter_type(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input, |item| Ok(item.parameter_type()))
}

fn expand(input: &DeriveInput, write: impl FnOnce(&Item) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    Item::read(input).and_then(|item| write(&item)).unwrap_or_else(|err| err.to_compile_error()).into()
}
