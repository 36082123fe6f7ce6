//! `#[derive(GameInput)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Index, Member, Result, Type};

use crate::attributes::{FieldAttributes, Kind, Policy, Range, TypeAttributes, check_name};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = struct_fields(input)?;
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "an input has one schema, and so no parameters"));
    }
    let attributes = TypeAttributes::parse(&input.attrs)?;
    let krate = attributes.krate(Span::call_site());
    let Some(id) = &attributes.id else {
        return Err(Error::new_spanned(
            &input.ident,
            "the schema's id is missing: `#[input(id = \"my-game-input/v1\")]`",
        ));
    };
    let fields = named_fields(fields)?;
    let checks = fields.iter().map(|field| field.checks(&attributes.krate(field.attribute_span())));
    let entries = fields.iter().map(|field| field.entry(&krate));
    let packs = fields.iter().map(|field| field.pack(&krate));
    let unpacks = fields.iter().map(|field| field.unpack(&krate));
    let (name, count, span) = (&input.ident, fields.len(), input.ident.span());
    let krate_here = attributes.krate(span);
    let size_check = quote_spanned!(span=> const _: () = #krate_here::input::derived::check_size(&__RETICK_FIELDS););
    Ok(quote! {
        const _: () = {
            const __RETICK_FIELDS: [#krate::input::derived::DerivedField; #count] = [#(#entries),*];
            #(#checks)*
            #size_check

            #[automatically_derived]
            impl #krate::input::GameInput for #name {
                fn schema() -> #krate::input::InputSchema {
                    #krate::input::derived::schema(#id, &__RETICK_FIELDS)
                }

                fn pack(&self, packer: &mut #krate::input::Packer<'_>) {
                    #(#packs)*
                }

                fn unpack(unpacker: &mut #krate::input::Unpacker<'_>) -> Self {
                    Self { #(#unpacks),* }
                }
            }
        };
    })
}

fn struct_fields(input: &DeriveInput) -> Result<&Fields> {
    match &input.data {
        Data::Struct(data) => Ok(&data.fields),
        Data::Enum(data) => Err(Error::new(
            data.enum_token.span(),
            "an input is a struct; an enum is one of its fields, with `#[derive(InputChoice)]`",
        )),
        Data::Union(data) => Err(Error::new(data.union_token.span(), "an input is a struct")),
    }
}

/// All fields, or all of their mistakes at once.
fn named_fields(fields: &Fields) -> Result<Vec<InputField<'_>>> {
    let mut parsed: Vec<InputField<'_>> = Vec::new();
    let mut mistakes: Option<Error> = None;
    for (index, field) in fields.iter().enumerate() {
        let mistake = match InputField::parse(index, field) {
            Ok(field) if parsed.iter().any(|earlier| earlier.name == field.name) => {
                Error::new(field.name_span, format!("two fields have the name {:?}", field.name))
            }
            Ok(field) => {
                parsed.push(field);
                continue;
            }
            Err(mistake) => mistake,
        };
        match &mut mistakes {
            Some(mistakes) => mistakes.combine(mistake),
            None => mistakes = Some(mistake),
        }
    }
    mistakes.map_or(Ok(parsed), Err)
}

struct InputField<'a> {
    member: Member,
    ty: &'a Type,
    name: String,
    name_span: Span,
    policy: Policy,
    kind: Option<Kind>,
}

impl<'a> InputField<'a> {
    fn parse(index: usize, field: &'a Field) -> Result<Self> {
        let FieldAttributes { name, policy, kind } = FieldAttributes::parse(&field.attrs)?;
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        let (name, name_span) = match (name, &field.ident) {
            (Some(name), _) => (name.value(), name.span()),
            (None, Some(ident)) => (ident.unraw().to_string(), ident.span()),
            (None, None) => (index.to_string(), field.ty.span()),
        };
        check_name(&name, name_span)?;
        Ok(InputField { member, ty: &field.ty, name, name_span, policy: policy.unwrap_or_default(), kind })
    }

    /// The field in the list from which the schema is made.
    fn entry(&self, krate: &TokenStream) -> TokenStream {
        let (name, kind) = (&self.name, self.kind(krate));
        let policy = match self.policy {
            Policy::Repeat => format_ident!("Repeat"),
            Policy::Neutral => format_ident!("Neutral"),
            Policy::Once => format_ident!("Once"),
        };
        quote! {
            #krate::input::derived::DerivedField {
                name: #name,
                kind: #kind,
                policy: #krate::input::FieldPolicy::#policy,
            }
        }
    }

    fn kind(&self, krate: &TokenStream) -> TokenStream {
        match &self.kind {
            None => {
                let value = self.value_trait(krate);
                quote!(#value::KIND)
            }
            Some(Kind::Integer(range)) => {
                let (min, max) = self.bounds(range);
                quote!(#krate::input::FieldKind::Integer { min: #min, max: #max })
            }
            Some(Kind::Axis { range, fraction_bits }) => {
                let (min, max) = self.bounds(range);
                quote!(#krate::input::FieldKind::Axis { min: #min, max: #max, fraction_bits: #fraction_bits })
            }
            Some(Kind::Flags { count }) => quote!(#krate::input::FieldKind::Flags { count: #count }),
        }
    }

    /// The ends of a range, typed as the field is, so that the compiler refuses what the type doesn't have.
    fn bounds(&self, range: &Range) -> (TokenStream, TokenStream) {
        let (ty, bound) = (self.ty, format_ident!("bound", span = Span::mixed_site()));
        // The cast is lossless: the type implements `InputInteger`, or the expansion doesn't compile.
        let typed = |value: &TokenStream| quote!({ let #bound: #ty = #value; #bound as i64 });
        (typed(&range.low), typed(&range.high))
    }

    /// Constants that stop the compiler at this field.
    fn checks(&self, krate: &TokenStream) -> TokenStream {
        let span = self.attribute_span();
        let kind = self.kind(krate);
        let flags = match &self.kind {
            Some(Kind::Flags { count }) => {
                let flags = self.flags_trait(krate);
                quote_spanned!(span=> const _: () = #krate::input::derived::check_flags(#count, #flags::CAPACITY);)
            }
            _ => TokenStream::new(),
        };
        let field = quote_spanned!(span=> const _: () = #krate::input::derived::check_field(&#kind););
        quote!(#field #flags)
    }

    /// Where a mistake in the kind is: at what the attribute says, or at the type.
    fn attribute_span(&self) -> Span {
        match &self.kind {
            Some(Kind::Integer(range) | Kind::Axis { range, .. }) => range.low.span(),
            Some(Kind::Flags { count }) => count.span(),
            None => self.ty.span(),
        }
    }

    fn pack(&self, krate: &TokenStream) -> TokenStream {
        let member = &self.member;
        match &self.kind {
            None => {
                let value = self.value_trait(krate);
                quote!(#value::pack_value(&self.#member, packer);)
            }
            Some(Kind::Integer(_) | Kind::Axis { .. }) => {
                let integer = self.integer_trait(krate);
                quote!(packer.integer(#integer::to_integer(self.#member));)
            }
            Some(Kind::Flags { .. }) => {
                let flags = self.flags_trait(krate);
                quote!(packer.flags(#flags::to_flags(self.#member));)
            }
        }
    }

    fn unpack(&self, krate: &TokenStream) -> TokenStream {
        let member = &self.member;
        let value = match &self.kind {
            None => {
                let value = self.value_trait(krate);
                quote!(#value::unpack_value(unpacker))
            }
            Some(Kind::Integer(_) | Kind::Axis { .. }) => {
                let integer = self.integer_trait(krate);
                quote!(#integer::from_integer(unpacker.integer()))
            }
            Some(Kind::Flags { .. }) => {
                let flags = self.flags_trait(krate);
                quote!(#flags::from_flags(unpacker.flags()))
            }
        };
        quote!(#member: #value)
    }

    fn value_trait(&self, krate: &TokenStream) -> TokenStream {
        self.as_trait(quote!(#krate::input::InputValue))
    }

    fn integer_trait(&self, krate: &TokenStream) -> TokenStream {
        self.as_trait(quote!(#krate::input::InputInteger))
    }

    fn flags_trait(&self, krate: &TokenStream) -> TokenStream {
        self.as_trait(quote!(#krate::input::InputFlags))
    }

    /// `<Type as path>`, so that a type without the trait is an error at the type.
    fn as_trait(&self, path: impl ToTokens) -> TokenStream {
        let ty = self.ty;
        quote_spanned!(ty.span()=> <#ty as #path>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of a struct that is refused.
    fn refusals(tokens: TokenStream) -> Vec<String> {
        let input = syn::parse2(tokens).expect("a type");
        let error = expand(&input).expect_err("must be refused");
        error.into_iter().map(|error| error.to_string()).collect()
    }

    /// The message for a field of `u8` with these settings.
    fn field_refusal(settings: TokenStream) -> String {
        refusals(quote! { #[input(id = "x")] struct X { #[input(#settings)] a: u8 } }).remove(0)
    }

    #[test]
    fn s2_types_that_are_no_input_are_refused() {
        let with_id = |item: TokenStream| refusals(quote! { #[input(id = "x")] #item });
        assert!(
            with_id(quote!(
                enum X {
                    A,
                }
            ))[0]
                .contains("#[derive(InputChoice)]")
        );
        assert_eq!(with_id(quote!(union X { a: u8 })), ["an input is a struct"]);
        assert_eq!(
            with_id(quote!(
                struct X<T> {
                    a: T,
                }
            )),
            ["an input has one schema, and so no parameters"]
        );
        assert!(
            refusals(quote!(
                struct X {
                    a: u8,
                }
            ))[0]
                .contains("id is missing")
        );
        assert_eq!(refusals(quote! { #[input(id = "")] struct X; }), ["a name has 1 to 64 bytes"]);
        assert_eq!(refusals(quote! { #[input(id = "x", id = "y")] struct X; }), ["given twice"]);
        assert!(refusals(quote! { #[input(name = "x")] struct X; })[0].contains("`id` and `crate`"));
    }

    #[test]
    fn s2_settings_that_say_nothing_are_refused() {
        let ends = "a range includes both its ends: `-100..=100`";
        let cases = [
            (quote!(range = 1..2), ends),
            (quote!(range = 1), ends),
            (quote!(range = ..=2), ends),
            (quote!(range = 1..=), "expected a constant"),
            (quote!(flags =), "expected a constant"),
            (quote!(flags = 3, range = 0..=1), "a field has one of `range`, `axis` and `flags`, once"),
            (quote!(axis(range = 0..=1)), "an axis needs both: `axis(range = -512..=511, fraction_bits = 8)`"),
            (quote!(axis(bits = 1)), "unknown setting of an axis; there are `range` and `fraction_bits`"),
            (quote!(policy = "never"), "a policy is \"repeat\", \"neutral\" or \"once\""),
            (quote!(policy = "once", policy = "once"), "given twice"),
            (quote!(name = ""), "a name has 1 to 64 bytes"),
            (quote!(clamp), "unknown setting of a field; there are `range`, `axis`, `flags`, `policy` and `name`"),
        ];
        for (settings, message) in cases {
            let shown = settings.to_string();
            assert!(field_refusal(settings).ends_with(message), "{shown}");
        }
    }

    #[test]
    fn s2_every_wrong_field_is_named_at_once() {
        let long = "n".repeat(65);
        let messages = refusals(quote! {
            #[input(id = "x")]
            struct X { #[input(policy = "x")] a: u8, b: u8, #[input(name = "b")] c: u8, #[input(name = #long)] d: u8 }
        });
        let name = "two fields have the name \"b\"";
        assert_eq!(messages, ["a policy is \"repeat\", \"neutral\" or \"once\"", name, "a name has 1 to 64 bytes"]);
    }
}
