//! A struct or an enum, and the code that describes it to the core.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Generics, Ident, Result, Type, WherePredicate, parse_quote};

use crate::attributes::{ItemAttributes, description, name};

pub(crate) struct Item<'a> {
    ident: &'a Ident,
    generics: Generics,
    name: String,
    description: String,
    shape: Shape<'a>,
}

enum Shape<'a> {
    Struct(ItemFields<'a>),
    Enum(TokenStream, Vec<Variant<'a>>),
}

struct Variant<'a> {
    ident: &'a Ident,
    name: String,
    description: String,
    content: ItemFields<'a>,
}

/// The fields of a struct or of a variant.
enum ItemFields<'a> {
    Unit,
    /// One field without a name, which stands for the whole.
    One(&'a Type),
    Tuple(Vec<&'a Type>),
    Named(Vec<Field<'a>>),
}

struct Field<'a> {
    ident: &'a Ident,
    field_type: &'a Type,
    name: String,
    description: String,
}

impl<'a> Item<'a> {
    pub(crate) fn read(input: &'a DeriveInput) -> Result<Self> {
        let attributes = ItemAttributes::read(&input.attrs)?;
        let shape = match &input.data {
            Data::Struct(data) => {
                attributes.check_is_plain()?;
                Shape::Struct(ItemFields::read(&data.fields)?)
            }
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| {
                    let (name, description) = (name(&variant.attrs, &variant.ident)?, description(&variant.attrs));
                    Ok(Variant {
                        ident: &variant.ident,
                        name,
                        description,
                        content: ItemFields::read(&variant.fields)?,
                    })
                });
                let variants: Vec<_> = variants.collect::<Result<_>>()?;
                check_unique(variants.iter().map(|variant| (variant.ident, &variant.name)))?;
                if let (Some(tag), Some(tuple)) = (&attributes.tag, variants.iter().find(|variant| variant.is_tuple()))
                    && attributes.content.is_none()
                {
                    let message = format!("a variant with several unnamed fields has no place for the tag {tag:?}");
                    return Err(Error::new(tuple.ident.span(), message));
                }
                Shape::Enum(attributes.form(), variants)
            }
            Data::Union(_) => {
                return Err(Error::new(input.span(), "the type must be a struct or an enum, found a union"));
            }
        };
        let (name, description) = (name(&input.attrs, &input.ident)?, description(&input.attrs));
        let mut generics = input.generics.clone();
        let bounds: Vec<WherePredicate> = generics
            .type_params()
            .map(|parameter| &parameter.ident)
            .map(|ident| parse_quote!(#ident: ::causerie::typed::TypedParameter))
            .collect();
        generics.make_where_clause().predicates.extend(bounds);
        Ok(Self { ident: &input.ident, generics, name, description, shape })
    }

    /// `impl TypedParameter`.
    pub(crate) fn parameter_type(&self) -> TokenStream {
        let Self { ident, description, .. } = self;
        let (generics, arguments, bounds) = self.generics.split_for_impl();
        let definition = ident.to_string();
        let (schema, from_value) = match &self.shape {
            Shape::Struct(content) => {
                let schema = match content {
                    ItemFields::One(inner) => {
                        quote!(<#inner as ::causerie::typed::TypedParameter>::schema(definitions))
                    }
                    content => {
                        let schema = content.schema(description);
                        let inner = if content.is_empty() { quote!(_) } else { quote!(definitions) };
                        quote!(definitions.define::<Self>(#definition, |#inner| #schema))
                    }
                };
                let read = match content {
                    ItemFields::Unit => quote!({
                        ::causerie::typed::Members::of(value, place)?;
                        Self
                    }),
                    content => content.value(&quote!(Self), &quote!(value), &quote!(place)),
                };
                (schema, quote!(::std::result::Result::Ok(#read)))
            }
            Shape::Enum(form, variants) => {
                let schema = enum_schema(form, variants, description);
                let is_plain = variants.iter().all(|variant| matches!(variant.content, ItemFields::Unit));
                let schema = if is_plain {
                    schema
                } else {
                    quote!(definitions.define::<Self>(#definition, |definitions| #schema))
                };
                (schema, enum_value(form, variants))
            }
        };
        quote! {
            impl #generics ::causerie::typed::TypedParameter for #ident #arguments #bounds {
                fn schema(definitions: &mut ::causerie::typed::Definitions) -> ::causerie::Value {
                    #schema
                }

                fn from_value(value: ::causerie::Value, place: &str) -> ::causerie::Result<Self> {
                    #from_value
                }
            }
        }
    }

    /// `impl TypedFunction`.
    pub(crate) fn function(&self) -> Result<TokenStream> {
        let Self { ident, name, description, shape, .. } = self;
        let (generics, arguments, bounds) = self.generics.split_for_impl();
        match shape {
            Shape::Struct(ItemFields::Named(_) | ItemFields::Unit) => Ok(quote! {
                impl #generics ::causerie::typed::TypedFunction for #ident #arguments #bounds {
                    fn function() -> ::causerie::SdkFunction {
                        ::causerie::typed::function::<Self>(#name, #description)
                    }
                }
            }),
            Shape::Struct(_) => {
                Err(Error::new(ident.span(), "the struct must have named fields, because arguments have names"))
            }
            Shape::Enum(..) => {
                Err(Error::new(ident.span(), "the arguments of a function must be a struct, found an enum"))
            }
        }
    }
}

impl Variant<'_> {
    fn is_tuple(&self) -> bool {
        matches!(self.content, ItemFields::Tuple(_))
    }
}

impl<'a> ItemFields<'a> {
    fn read(fields: &'a Fields) -> Result<Self> {
        match fields {
            Fields::Unit => Ok(Self::Unit),
            Fields::Unnamed(fields) => {
                let types: Vec<&Type> = fields.unnamed.iter().map(|field| &field.ty).collect();
                Ok(if let [one] = types[..] { Self::One(one) } else { Self::Tuple(types) })
            }
            Fields::Named(fields) => {
                let read = |field: &'a syn::Field| {
                    let ident =
                        field.ident.as_ref().ok_or_else(|| Error::new(field.span(), "the field must have a name"))?;
                    let (name, description) = (name(&field.attrs, ident)?, description(&field.attrs));
                    Ok(Field { ident, field_type: &field.ty, name, description })
                };
                let fields: Vec<_> = fields.named.iter().map(read).collect::<Result<_>>()?;
                check_unique(fields.iter().map(|field| (field.ident, &field.name)))?;
                Ok(Self::Named(fields))
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Unit => true,
            Self::Named(fields) => fields.is_empty(),
            Self::One(_) | Self::Tuple(_) => false,
        }
    }

    /// The expression of the schema.
    fn schema(&self, description: &str) -> TokenStream {
        match self {
            Self::Unit => quote!(::causerie::typed::ObjectSchema::new(#description).build()),
            Self::One(inner) => quote!(<#inner as ::causerie::typed::TypedParameter>::schema(definitions)),
            Self::Tuple(types) => quote! {
                ::causerie::typed::tuple_schema(::std::vec![
                    #(<#types as ::causerie::typed::TypedParameter>::schema(definitions)),*
                ])
            },
            Self::Named(fields) => {
                let members = fields.iter().map(|Field { field_type, name, description, .. }| {
                    // An error about the type stands at the field.
                    quote_spanned!(field_type.span()=> .member::<#field_type>(#name, #description, definitions))
                });
                quote!(::causerie::typed::ObjectSchema::new(#description)#(#members)*.build())
            }
        }
    }

    /// The expression of a value, read from `value` at `place`.
    fn value(&self, constructor: &TokenStream, value: &TokenStream, place: &TokenStream) -> TokenStream {
        match self {
            Self::Unit => quote!(#constructor),
            Self::One(inner) => {
                quote!(#constructor(<#inner as ::causerie::typed::TypedParameter>::from_value(#value, #place)?))
            }
            Self::Tuple(types) => {
                let size = types.len();
                quote!({
                    let mut elements = ::causerie::typed::Elements::of(#value, #place, #size)?;
                    #constructor(#(elements.take::<#types>()?),*)
                })
            }
            Self::Named(fields) if fields.is_empty() => quote!({
                ::causerie::typed::Members::of(#value, #place)?;
                #constructor {}
            }),
            Self::Named(fields) => {
                let members = fields.iter().map(|Field { ident, name, .. }| quote!(#ident: members.take(#name)?));
                quote!({
                    let mut members = ::causerie::typed::Members::of(#value, #place)?;
                    #constructor { #(#members),* }
                })
            }
        }
    }
}

fn enum_schema(form: &TokenStream, variants: &[Variant<'_>], description: &str) -> TokenStream {
    let variants = variants.iter().map(|Variant { name, description, content, .. }| {
        let content = match content {
            ItemFields::Unit => quote!(::std::option::Option::None),
            content => {
                let schema = content.schema("");
                quote!(::std::option::Option::Some(#schema))
            }
        };
        quote!(::causerie::typed::VariantSchema { name: #name, description: #description, content: #content })
    });
    quote!({
        let variants = ::std::vec![#(#variants),*];
        ::causerie::typed::enum_schema(#form, variants, #description, definitions)
    })
}

fn enum_value(form: &TokenStream, variants: &[Variant<'_>]) -> TokenStream {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    let constructors = variants.iter().map(|Variant { ident, .. }| quote!(Self::#ident));
    if form.to_string().ends_with("Untagged") {
        let attempts = variants.iter().zip(constructors).map(|(variant, constructor)| {
            let read = match variant.content {
                ItemFields::Unit => quote!({
                    <() as ::causerie::typed::TypedParameter>::from_value(value.clone(), place)?;
                    #constructor
                }),
                _ => variant.content.value(&constructor, &quote!(value.clone()), &quote!(place)),
            };
            quote!(.or_else(|_| -> ::causerie::Result<Self> { ::std::result::Result::Ok(#read) }))
        });
        return quote! {
            let none = ::causerie::typed::no_variant(place, &[#(#names),*], &value.to_string());
            ::causerie::Result::<Self>::Err(none.clone())#(#attempts)*.map_err(|_| none)
        };
    }
    let arms = variants.iter().zip(constructors).map(|(variant, constructor)| {
        let name = &variant.name;
        let read = variant.content.value(&constructor, &quote!(variant.content), &quote!(&variant.place));
        quote!(#name => ::std::result::Result::Ok(#read))
    });
    quote! {
        let variant = ::causerie::typed::VariantContent::of(value, place, #form)?;
        match variant.name.as_str() {
            #(#arms,)*
            found => ::std::result::Result::Err(::causerie::typed::no_variant(place, &[#(#names),*], found)),
        }
    }
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
