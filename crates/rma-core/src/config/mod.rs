//! Configuration: tables of variables that parse, print and explain themselves.
//!
//! The macro [`variables!`](crate::variables) makes a plain struct and its table from one definition; the
//! engine's is [`EngineConfig`], each channel crate has its own, and the runtime joins the tables. The core
//! never reads the environment: the process's owner passes a look-up function (style: the engine has no
//! environment of its own).

mod alike;
mod engine;
mod variable;

pub(crate) use alike::difference;
pub use engine::EngineConfig;
pub use variable::{Setting, Unit, Value, Variable};

#[doc(hidden)]
pub use variable::read;
