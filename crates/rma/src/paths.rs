//! Paths as values of variables.

use rma_core::config::Value;
use std::path::{Path, PathBuf};

/// A path, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePath(Option<PathBuf>);

impl FilePath {
    /// The path, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

impl From<&str> for FilePath {
    fn from(text: &str) -> Self {
        Self((!text.is_empty()).then(|| text.into()))
    }
}

impl Value for FilePath {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        Ok(text.into())
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |path| path.display().to_string())
    }

    fn show_range((): &()) -> String {
        "a path, or nothing".to_owned()
    }
}
