//! The C library as programs and their builders meet it.

mod fortran;
mod installed;
mod observer;
mod pages;
mod programs;
mod surroundings;
