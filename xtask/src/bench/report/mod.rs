//! The report: a page that needs no other file ([`html`]) with plots ([`plots`]), and tables in Markdown ([`markdown`]), both
//! from the same lines ([`words`] says the same in both what stands in a cell, and where we are behind).

mod html;
mod markdown;
mod plots;
mod words;
mod writing;

pub(crate) use writing::{summary, write};
