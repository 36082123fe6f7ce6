//! `#[derive(InputChoice)]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

use crate::attributes::TypeAttributes;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let choices = choices(input)?;
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "a choice has no parameters"));
    }
    let attributes = TypeAttributes::parse(&input.attrs)?;
    if let Some(id) = &attributes.id {
        return Err(Error::new(id.span(), "a choice has no id; the input that it is a field of has one"));
    }
    let (krate, name) = (attributes.krate(Span::call_site()), &input.ident);
    let count = u32::try_from(choices.len()).map_err(|_| Error::new(name.span(), "too many choices"))?;
    let (first, others) = (choices[0], &choices[1..]);
    let (all_positions, other_positions) = (0..count, 1..count);
    Ok(quote! {
        #[automatically_derived]
        impl #krate::input::InputChoice for #name {
            const CHOICES: u32 = #count;

            fn to_choice(&self) -> u32 {
                match self {
                    #(Self::#choices => #all_positions,)*
                }
            }

            fn from_choice(index: u32) -> Self {
                match index {
                    #(#other_positions => Self::#others,)*
                    _ => Self::#first,
                }
            }
        }
    })
}

/// The variants, of which there is at least one.
fn choices(input: &DeriveInput) -> Result<Vec<&Ident>> {
    let variants = match &input.data {
        Data::Enum(data) => &data.variants,
        Data::Struct(data) => return Err(Error::new(data.struct_token.span(), "a choice is an enum")),
        Data::Union(data) => return Err(Error::new(data.union_token.span(), "a choice is an enum")),
    };
    if let Some(variant) = variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new_spanned(&variant.fields, "a choice has no fields"));
    }
    if variants.is_empty() {
        return Err(Error::new(input.ident.span(), "there is nothing to choose from"));
    }
    Ok(variants.iter().map(|variant| &variant.ident).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(tokens: TokenStream) -> String {
        let input = syn::parse2(tokens).expect("a type");
        expand(&input).expect_err("must be refused").to_string()
    }

    #[test]
    fn s2_enums_that_are_no_choice_are_refused() {
        assert_eq!(
            refusal(quote!(
                struct X;
            )),
            "a choice is an enum"
        );
        assert_eq!(refusal(quote!(union X { a: u8 })), "a choice is an enum");
        assert_eq!(
            refusal(quote!(
                enum X {
                    A,
                    B(u8),
                }
            )),
            "a choice has no fields"
        );
        assert_eq!(
            refusal(quote!(
                enum X {
                    A {},
                }
            )),
            "a choice has no fields"
        );
        assert_eq!(
            refusal(quote!(
                enum X {}
            )),
            "there is nothing to choose from"
        );
        assert_eq!(
            refusal(quote!(
                enum X<const N: usize> {
                    A,
                }
            )),
            "a choice has no parameters"
        );
        assert!(refusal(quote! { #[input(id = "x")] enum X { A } }).starts_with("a choice has no id"));
    }
}
