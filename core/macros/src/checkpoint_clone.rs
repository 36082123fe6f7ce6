//! `#[derive(CheckpointClone)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Data, DataEnum, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Index, Member, Result, parse_quote,
};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let (clone, clone_from) = match &input.data {
        Data::Struct(data) => struct_bodies(&data.fields),
        Data::Enum(data) => enum_bodies(data),
        Data::Union(data) => {
            return Err(Error::new(data.union_token.span(), "a union doesn't say which of its fields to clone"));
        }
    };
    let (name, generics) = (&input.ident, bounded(&input.generics));
    let (parameters, arguments, predicates) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #parameters ::core::clone::Clone for #name #arguments #predicates {
            fn clone(&self) -> Self {
                #clone
            }

            fn clone_from(&mut self, source: &Self) {
                #clone_from
            }
        }
    })
}

/// The same parameters, each type `Clone`, as the standard library's derive asks for.
fn bounded(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.push(parse_quote!(::core::clone::Clone));
        }
    }
    generics
}

fn struct_bodies(fields: &Fields) -> (TokenStream, TokenStream) {
    let members = members(fields);
    let clone = quote!(Self { #(#members: ::core::clone::Clone::clone(&self.#members)),* });
    let clone_from = quote!(#(::core::clone::Clone::clone_from(&mut self.#members, &source.#members);)*);
    (clone, if members.is_empty() { quote!(let _ = source;) } else { clone_from })
}

fn enum_bodies(data: &DataEnum) -> (TokenStream, TokenStream) {
    if data.variants.is_empty() {
        let never = quote!(match *self {});
        return (never.clone(), quote!(let _ = source; #never));
    }
    let clones = data.variants.iter().map(|variant| clone_arm(&variant.ident, &variant.fields));
    let overwrites = data.variants.iter().map(|variant| clone_from_arm(&variant.ident, &variant.fields));
    let other =
        (data.variants.len() > 1).then(|| quote!((target, source) => *target = ::core::clone::Clone::clone(source),));
    (quote!(match self { #(#clones)* }), quote!(match (self, source) { #(#overwrites)* #other }))
}

fn clone_arm(variant: &Ident, fields: &Fields) -> TokenStream {
    let members = members(fields);
    let sources = bindings("source", members.len());
    quote! {
        Self::#variant { #(#members: #sources),* } => {
            Self::#variant { #(#members: ::core::clone::Clone::clone(#sources)),* }
        }
    }
}

fn clone_from_arm(variant: &Ident, fields: &Fields) -> TokenStream {
    let members = members(fields);
    let (targets, sources) = (bindings("target", members.len()), bindings("source", members.len()));
    quote! {
        (Self::#variant { #(#members: #targets),* }, Self::#variant { #(#members: #sources),* }) => {
            #(::core::clone::Clone::clone_from(#targets, #sources);)*
        }
    }
}

fn bindings(role: &str, count: usize) -> Vec<Ident> {
    (0..count).map(|number| format_ident!("{role}_{number}")).collect()
}

/// The fields by name or by number, which a pattern and an expression in braces both take.
fn members(fields: &Fields) -> Vec<Member> {
    let member = |(number, field): (usize, &syn::Field)| match &field.ident {
        Some(name) => Member::Named(name.clone()),
        None => Member::Unnamed(Index::from(number)),
    };
    fields.iter().enumerate().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k3_unions_are_refused() {
        let input = syn::parse2(quote!(union X { a: u8 })).expect("a type");
        let error = expand(&input).expect_err("must be refused");
        assert_eq!(error.to_string(), "a union doesn't say which of its fields to clone");
    }
}
