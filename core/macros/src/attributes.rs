//! The `#[input(…)]` attributes, parsed into types that hold what they may say and nothing else.
//!
//! Constants are kept as tokens up to the next comma and not as expressions: whether the parser knows a range as an expression
//! depends on the features that other crates of a build turn on.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, Error, LitStr, Path, Result, Token};

/// Most bytes of a schema's or a field's name; the schema's builder has the same limit.
const MAX_NAME_BYTES: usize = 64;

/// What stands on the type.
pub(crate) struct TypeAttributes {
    pub(crate) id: Option<LitStr>,
    krate: Option<Path>,
}

impl TypeAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = TypeAttributes { id: None, krate: None };
        for_each_setting(attributes, |meta| {
            if meta.path.is_ident("id") {
                let id = parse_name(&meta)?;
                set(&mut parsed.id, id, &meta)
            } else if meta.path.is_ident("crate") {
                let krate = meta.value()?.parse()?;
                set(&mut parsed.krate, krate, &meta)
            } else {
                Err(meta.error("unknown setting of a type; there are `id` and `crate`"))
            }
        })?;
        Ok(parsed)
    }

    /// The path of the kernel's crate, as if it stood at `span`: an error in a call begins where its path does.
    pub(crate) fn krate(&self, span: Span) -> TokenStream {
        let path = self.krate.as_ref().map_or_else(|| quote!(::retick_core), ToTokens::to_token_stream);
        path.into_iter()
            .map(|mut token| {
                token.set_span(span);
                token
            })
            .collect()
    }
}

/// A range of constants, both ends included.
pub(crate) struct Range {
    pub(crate) low: TokenStream,
    pub(crate) high: TokenStream,
}

/// The kind of field that an attribute asks for.
pub(crate) enum Kind {
    Integer(Range),
    Axis { range: Range, fraction_bits: TokenStream },
    Flags { count: TokenStream },
}

/// What a prediction or a substitute does with a field.
#[derive(Clone, Copy, Default)]
pub(crate) enum Policy {
    #[default]
    Repeat,
    Neutral,
    Once,
}

/// What stands on a field.
pub(crate) struct FieldAttributes {
    pub(crate) name: Option<LitStr>,
    pub(crate) policy: Option<Policy>,
    pub(crate) kind: Option<Kind>,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = FieldAttributes { name: None, policy: None, kind: None };
        for_each_setting(attributes, |meta| {
            if meta.path.is_ident("name") {
                let name = parse_name(&meta)?;
                return set(&mut parsed.name, name, &meta);
            }
            if meta.path.is_ident("policy") {
                let policy = parse_policy(&meta)?;
                return set(&mut parsed.policy, policy, &meta);
            }
            let kind = parse_kind(&meta)?;
            match parsed.kind.replace(kind) {
                None => Ok(()),
                Some(_) => Err(meta.error("a field has one of `range`, `axis` and `flags`, once")),
            }
        })?;
        Ok(parsed)
    }
}

fn parse_kind(meta: &ParseNestedMeta<'_>) -> Result<Kind> {
    if meta.path.is_ident("range") {
        Ok(Kind::Integer(parse_range(meta.value()?)?))
    } else if meta.path.is_ident("flags") {
        Ok(Kind::Flags { count: parse_constant(meta.value()?)? })
    } else if meta.path.is_ident("axis") {
        parse_axis(meta)
    } else {
        Err(meta.error("unknown setting of a field; there are `range`, `axis`, `flags`, `policy` and `name`"))
    }
}

fn parse_axis(meta: &ParseNestedMeta<'_>) -> Result<Kind> {
    let (mut range, mut fraction_bits) = (None, None);
    meta.parse_nested_meta(|axis| {
        if axis.path.is_ident("range") {
            let parsed = parse_range(axis.value()?)?;
            set(&mut range, parsed, &axis)
        } else if axis.path.is_ident("fraction_bits") {
            let parsed = parse_constant(axis.value()?)?;
            set(&mut fraction_bits, parsed, &axis)
        } else {
            Err(axis.error("unknown setting of an axis; there are `range` and `fraction_bits`"))
        }
    })?;
    match (range, fraction_bits) {
        (Some(range), Some(fraction_bits)) => Ok(Kind::Axis { range, fraction_bits }),
        _ => Err(meta.error("an axis needs both: `axis(range = -512..=511, fraction_bits = 8)`")),
    }
}

fn parse_policy(meta: &ParseNestedMeta<'_>) -> Result<Policy> {
    let policy: LitStr = meta.value()?.parse()?;
    match policy.value().as_str() {
        "repeat" => Ok(Policy::Repeat),
        "neutral" => Ok(Policy::Neutral),
        "once" => Ok(Policy::Once),
        _ => Err(Error::new(policy.span(), "a policy is \"repeat\", \"neutral\" or \"once\"")),
    }
}

fn parse_name(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name: LitStr = meta.value()?.parse()?;
    check_name(&name.value(), name.span())?;
    Ok(name)
}

/// Refuses what the schema's builder would refuse.
pub(crate) fn check_name(name: &str, span: Span) -> Result<()> {
    match name.len() {
        1..=MAX_NAME_BYTES => Ok(()),
        _ => Err(Error::new(span, format!("a name has 1 to {MAX_NAME_BYTES} bytes"))),
    }
}

fn parse_range(input: ParseStream<'_>) -> Result<Range> {
    let low = tokens_until(input, |input| input.peek(Token![..]) || input.peek(Token![,]))?;
    if low.is_empty() || !input.peek(Token![..=]) {
        return Err(input.error("a range includes both its ends: `-100..=100`"));
    }
    input.parse::<Token![..=]>()?;
    Ok(Range { low, high: parse_constant(input)? })
}

fn parse_constant(input: ParseStream<'_>) -> Result<TokenStream> {
    let constant = tokens_until(input, |input| input.peek(Token![,]))?;
    if constant.is_empty() { Err(input.error("expected a constant")) } else { Ok(constant) }
}

fn tokens_until(input: ParseStream<'_>, ends: impl Fn(ParseStream<'_>) -> bool) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !ends(input) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(tokens)
}

fn for_each_setting(attributes: &[Attribute], mut handle: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("input"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut handle))
}

fn set<T>(slot: &mut Option<T>, value: T, meta: &ParseNestedMeta<'_>) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("given twice")),
    }
}
