//! The report: a page that needs no other file ([`html`]) with plots ([`plots`]), and tables in Markdown ([`markdown`]), both
//! from the same lines; the budgets with what limits us ([`budgets`]), for docs/performance.md ([`words`] says the same in both what stands in a cell, and where we are behind).

mod budgets;
mod html;
mod markdown;
mod plots;
mod words;
mod writing;

pub(crate) use budgets::MARKS;
pub(crate) use writing::{put_into, summary, write};
