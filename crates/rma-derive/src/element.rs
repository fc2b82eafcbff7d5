//! `#[derive(Element)]`: structs as elements of windows, with the promises of `rma::Element` checked by the compiler.
//!
//! A struct is fit for a window if all its fields are, there is no padding between or behind them, and every rank lays it
//! out in the same way. So the macro asks for `#[repr(C)]` or `#[repr(transparent)]`, has every field's type be an element, and
//! compares the struct's size with the sum of the fields'. It knows nothing of windows.

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Result, parse_macro_input};

/// Implements `rma::Element` for a struct whose fields are elements and leave no padding.
#[proc_macro_derive(Element)]
pub fn derive_element(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    element(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn element(input: &DeriveInput) -> Result<Tokens> {
    let name = &input.ident;
    let fields = fields(input)?;
    if !input.generics.params.is_empty() {
        let cause = "an element has no parameters: whether there is padding must be known here";
        return Err(Error::new(input.generics.span(), cause));
    }
    if !has_fixed_layout(&input.attrs)? {
        let cause = "an element is `#[repr(C)]` or `#[repr(transparent)]`, so that all ranks lay it out in the same way";
        return Err(Error::new(name.span(), cause));
    }
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let are_elements = types.iter().map(|ty| quote_spanned! { here(ty.span()) => is_element::<#ty>(); });
    let here = here(name.span());
    let size = quote_spanned! { here => 0usize #(+ ::core::mem::size_of::<#types>())* };
    Ok(quote_spanned! { here =>
        const _: () = {
            const fn is_element<T: ::rma::Element>() {}
            #(#are_elements)*
            ::core::assert!(::core::mem::size_of::<#name>() == #size, "an element has no padding: order the fields by size");
        };
        // SAFETY: all fields are elements, and there is no padding, as has just been checked.
        unsafe impl ::rma::Element for #name {}
    })
}

/// The place that messages name, of code that is this macro's: what is `unsafe` in it is no `unsafe` of the program.
fn here(place: Span) -> Span {
    Span::call_site().located_at(place)
}

fn fields(input: &DeriveInput) -> Result<&Fields> {
    let cause = match &input.data {
        Data::Struct(data) if data.fields.is_empty() => "an element has bytes",
        Data::Struct(data) => return Ok(&data.fields),
        Data::Enum(_) => "an enum is no element: other ranks may store values that none of its variants has",
        Data::Union(_) => "a union is no element: bytes of it may be uninitialised",
    };
    Err(Error::new(input.ident.span(), cause))
}

/// Whether the layout is one that is laid down.
fn has_fixed_layout(attributes: &[Attribute]) -> Result<bool> {
    let mut is_fixed = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            is_fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                // The argument of `align` or `packed`, which change the size at most.
                let argument;
                syn::parenthesized!(argument in meta.input);
                argument.parse::<Tokens>()?;
            }
            Ok(())
        })?;
    }
    Ok(is_fixed)
}
