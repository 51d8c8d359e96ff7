//! The derives behind `causerie::typed`, which says what they give.

mod item;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use item::Item;

/// Makes a struct the arguments of a function: `causerie::typed::TypedFunction`, and `TypedParameter` with it.
///
/// The function has the struct's name in snake case; `#[sdk(name = "…")]` gives it, or a field, another one. Comments for
/// documentation are the descriptions.
#[proc_macro_derive(SdkFunction, attributes(sdk))]
pub fn derive_function(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input, |item| {
        let (parameter, function) = (item.parameter_type(), item.function()?);
        Ok(quote!(#parameter #function))
    })
}

/// Makes a struct, or an enum whose variants hold nothing, the type of a parameter or of a reply:
/// `causerie::typed::TypedParameter`.
///
/// The variants of an enum are its values, in snake case; `#[sdk(name = "…")]` gives a variant, or a field, another name.
#[proc_macro_derive(SdkFunctionParameterType, attributes(sdk))]
pub fn derive_parameter_type(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input, |item| Ok(item.parameter_type()))
}

fn expand(input: &DeriveInput, write: impl FnOnce(&Item) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    Item::read(input).and_then(|item| write(&item)).unwrap_or_else(|err| err.to_compile_error()).into()
}
