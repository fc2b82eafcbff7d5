//! `#[derive(Element)]`: structs as elements of windows, with the promises of `rma::Element` checked by the compiler.
//!
//! A struct is fit for a window if all its fields are, there is no padding between or behind them, and every rank lays it
//! out in the same way. So the macro asks for `#[repr(C)]` or `#[repr(transparent)]`, has every field's type be an element, and
//! compares the struct's size with the sum of the fields'. It knows nothing of windows.

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use virtue::parse::{Attribute, Fields, Parse, UnnamedField};
use virtue::{Error, Result};

/// Implements `rma::Element` for a struct whose fields are elements and leave no padding.
#[proc_macro_derive(Element)]
pub fn derive_element(input: TokenStream) -> TokenStream {
    element(input).unwrap_or_else(Error::into_token_stream)
}

fn element(input: TokenStream) -> Result<TokenStream> {
    if let Some(name) = name_of_union(&input) {
        return refused("a union is no element: bytes of it may be uninitialised", name);
    }
    let (attributes, name, generics, body) = match Parse::new(input)? {
        Parse::Struct { attributes, name, generics, body, .. } => (attributes, name, generics, body),
        Parse::Enum { name, .. } => {
            let cause = "an enum is no element: other ranks may store values that none of its variants has";
            return refused(cause, name.span());
        }
        // The type is open, and has no third kind now.
        _ => return refused("an element is a struct", Span::call_site()),
    };
    let types: Vec<Vec<TokenTree>> = match body.fields {
        Some(Fields::Struct(fields)) => fields.into_iter().map(|(_, field)| type_of(field)).collect(),
        Some(Fields::Tuple(fields)) => fields.into_iter().map(type_of).collect(),
        None => Vec::new(),
    };
    if types.is_empty() {
        return refused("an element has bytes", name.span());
    }
    if generics.is_some() {
        let cause = "an element has no parameters: whether there is padding must be known here";
        return refused(cause, name.span());
    }
    if !has_fixed_layout(&attributes) {
        let cause = "an element is `#[repr(C)]` or `#[repr(transparent)]`, so that all ranks lay it out in the same way";
        return refused(cause, name.span());
    }
    Ok(implementation(&name, &types))
}

fn implementation(name: &Ident, types: &[Vec<TokenTree>]) -> TokenStream {
    let place = name.span();
    let name = [TokenTree::Ident(name.clone())];
    let mut checks = code("const fn is_element<T: ::rma::Element>() {}", place, &[]);
    let mut sizes = code("0usize", place, &[]);
    for ty in types {
        let of_type = ty.first().map_or(place, TokenTree::span);
        checks.extend(code("is_element::<__>();", of_type, ty));
        sizes.extend(code("+ ::core::mem::size_of::<__>()", place, ty));
    }
    let sum = [TokenTree::Group(Group::new(Delimiter::Parenthesis, sizes))];
    let size =
        code("::core::mem::size_of::<__>() ==", place, &name).into_iter().chain(sum).collect::<Vec<_>>();
    let cause = "::core::assert!(__, \"an element has no padding: order the fields by size\");";
    checks.extend(code(cause, place, &size));
    let checks: Vec<_> = checks.into_iter().collect();
    let mut all = code("const _: () = { __ };", place, &checks);
    // SAFETY (of the code that is made): all fields are elements, and there is no padding, as has just been checked.
    all.extend(code("unsafe impl ::rma::Element for __ {}", place, &name));
    all
}

/// Code of this macro's own, with these tokens in the place of `__`. Messages about it name `place`; what is `unsafe` in it is
/// no `unsafe` of the program.
fn code(text: &str, place: Span, tokens: &[TokenTree]) -> TokenStream {
    filled(text.parse().expect("code of this file"), Span::call_site().located_at(place), tokens)
}

fn filled(code: TokenStream, place: Span, tokens: &[TokenTree]) -> TokenStream {
    let mut all = TokenStream::new();
    for mut token in code {
        match &token {
            TokenTree::Ident(ident) if ident.to_string() == "__" => {
                all.extend(tokens.iter().cloned());
                continue;
            }
            TokenTree::Group(group) => {
                token = Group::new(group.delimiter(), filled(group.stream(), place, tokens)).into();
            }
            _ => {}
        }
        token.set_span(place);
        all.extend([token]);
    }
    all
}

fn refused(cause: &str, place: Span) -> Result<TokenStream> {
    Err(Error::custom_at(cause, place))
}

fn type_of(field: UnnamedField) -> Vec<TokenTree> {
    field.r#type
}

/// Where a union has its name, which the parser does not know.
fn name_of_union(input: &TokenStream) -> Option<Span> {
    let words = input.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word),
        _ => None,
    });
    let mut words =
        words.skip_while(|word| !matches!(word.to_string().as_str(), "struct" | "enum" | "union"));
    words.next().filter(|word| word.to_string() == "union")?;
    words.next().map(|name| name.span())
}

/// Whether the layout is one that is laid down.
fn has_fixed_layout(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let mut tokens = attribute.tokens.stream().into_iter();
        let is_repr = matches!(tokens.next(), Some(TokenTree::Ident(word)) if word.to_string() == "repr");
        let Some(TokenTree::Group(list)) = tokens.next().filter(|_| is_repr) else { return false };
        list.stream().into_iter().any(|token| match token {
            TokenTree::Ident(word) => matches!(word.to_string().as_str(), "C" | "transparent"),
            _ => false,
        })
    })
}
