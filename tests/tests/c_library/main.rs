//! The C library as programs and their builders meet it.

mod installed;
mod pages;
mod programs;
mod sight;
mod surroundings;
