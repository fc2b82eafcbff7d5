//! Writes the pages below a directory, as `man1/NAME.1` and so on.

use super::{library, programs};
use std::io;
use std::path::Path;

/// Every page.
fn pages() -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    Ok(vec![
        ("man1/rmarun.1", programs::rmarun()?),
        ("man1/rma-info.1", programs::rma_info()?),
        ("man1/rma-guest.1", programs::rma_guest()?),
        ("man1/rma-trace.1", programs::rma_trace()?),
        ("man1/rmacc.1", programs::rmacc()),
        // A page that leads to another one.
        ("man1/rmacxx.1", b".so man1/rmacc.1\n".to_vec()),
        ("man1/rmafc.1", b".so man1/rmacc.1\n".to_vec()),
        ("man7/rma.7", library::page()),
    ])
}

/// Writes every page below `directory`, and makes the directories for them.
///
/// # Errors
/// What the system says, with the path.
pub fn write(directory: &Path) -> io::Result<()> {
    for (name, text) in pages()? {
        let path = directory.join(name);
        let folder = path.parent().unwrap_or(directory);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rma::config::Configuration;

    #[test]
    fn pages_are_written_and_hold_what_they_should() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        for (name, parts) in [
            ("man1/rmarun.1", &["on\\-failure", "tag\\-output", "exit status", "rma\\-info"][..]),
            ("man1/rma-info.1", &["json", "NAME", "rma(7)"]),
            ("man1/rma-guest.1", &["RMA_GUEST_VERBOSE", "COMMAND"]),
            ("man1/rma-trace.1", &["RMA_TRACE", "no\\-page"]),
            ("man1/rmacc.1", &["RMA_CC", "\\-show", "rmacxx", "rmafc"]),
            ("man7/rma.7", &["RMA_CHANNEL", "rmacc(1)"]),
        ] {
            let text = read(name);
            assert!(text.contains(".TH "), "{name}");
            for part in parts {
                let plain = part.replace('\\', "");
                assert!(
                    text.contains(part) || text.replace('\\', "").contains(&plain),
                    "{name} lacks {part}"
                );
            }
        }
        let library = read("man7/rma.7");
        for setting in Configuration::default().settings() {
            assert!(library.contains(setting.variable.name), "{}", setting.variable.name);
        }
        let error = write(Path::new("/proc/no/such")).unwrap_err();
        assert!(error.to_string().contains("/proc/no/such"), "{error}");
    }
}
