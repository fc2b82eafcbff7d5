//! Words that may not cross a line between crates.
//!
//! A word counts wherever it stands: in code, comments and literals, on its own or as a part of an identifier in
//! `snake_case` or `CamelCase`. It does not count inside a longer word ("fenced", "sockets").

use super::tree::{File, Finding, Tree};

/// A line and the words that may not cross it.
#[derive(Debug)]
struct Line {
    /// Which files the line protects.
    protects: fn(&str) -> bool,
    /// The words, in lower case; parts of a longer name are joined by `_`.
    words: &'static [&'static str],
    /// What the line is, for the message.
    reason: &'static str,
    /// Lines of text that may hold the words all the same.
    excuses: fn(&str) -> bool,
}

const LINES: &[Line] = &[
    Line {
        protects: |path| {
            path.starts_with("crates/rma-core/src/") && path != "crates/rma-core/src/poller/internal.rs"
        },
        words: &["shm", "tcp", "socket"],
        reason: "the engine knows no transport",
        excuses: |_| false,
    },
    Line {
        protects: |path| path.starts_with("crates/rma-ch-") && path.contains("/src/"),
        words: &["epoch", "fence", "lock_queue"],
        reason: "a channel knows no synchronization of windows",
        // The memory ordering has its name from the language; an import gives it another one.
        excuses: |text| {
            text.starts_with("use ") && text.contains("sync::atomic::") && text.contains("fence as ")
        },
    },
];

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for line in LINES {
        for file in tree.rust_files().filter(|file| (line.protects)(&file.path)) {
            check_file(file, line, findings);
        }
    }
}

fn check_file(file: &File, line: &Line, findings: &mut Vec<Finding>) {
    for (index, text) in file.text.lines().enumerate().filter(|(_, text)| !(line.excuses)(text)) {
        let parts = parts(text);
        for word in line.words {
            if is_in_name(&parts, word) {
                let message = format!("the word {word} may not stand here: {}", line.reason);
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
}

/// Whether it is a word, or words of one name.
pub(super) fn is_in_name(parts: &[Part], word: &str) -> bool {
    let wanted: Vec<&str> = word.split('_').collect();
    parts.windows(wanted.len()).any(|window| {
        let is_one_name = window.iter().skip(1).all(|part| part.is_continued);
        is_one_name && window.iter().map(|part| part.text.as_str()).eq(wanted.iter().copied())
    })
}

/// A part of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// In lower case.
    pub(super) text: String,
    /// Whether it belongs to the same name as the part before it.
    is_continued: bool,
}

/// Splits at everything that is not a letter or digit, and where a capital follows a small letter or starts the last word
/// of capitals (`TCPStream`).
pub(super) fn parts(line: &str) -> Vec<Part> {
    let chars: Vec<char> = line.chars().collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut is_continued = false;
    let mut is_inside = false;
    for (at, c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            is_continued = *c == '_' && (is_inside || is_continued);
            is_inside = false;
            continue;
        }
        let before = at.checked_sub(1).map_or(' ', |at| chars[at]);
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        let is_hump = c.is_uppercase() && (!before.is_uppercase() || after.is_lowercase());
        match parts.last_mut() {
            Some(part) if is_inside && !is_hump => part.text.extend(c.to_lowercase()),
            _ => {
                parts
                    .push(Part { text: c.to_lowercase().collect(), is_continued: is_continued || is_inside });
                is_continued = false;
            }
        }
        is_inside = true;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::tree::messages_of;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        messages_of(check, &[(path, text)])
    }

    #[test]
    fn whole_words_are_found_in_every_spelling() {
        for text in [
            "tcp",
            "// over TCP.",
            "let tcp_channel = 1;",
            "fn connect_tcp() {}",
            "use std::net::TcpStream;",
            "\"shm\"",
            "SHM_SIZE",
            "a socket's end",
            "TCPStream",
        ] {
            assert_eq!(findings("crates/rma-core/src/window/mod.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn longer_words_are_not_the_word() {
        for text in ["sockets", "ashmem", "tcpdump", "Outcpx", "the wire", ""] {
            assert_eq!(findings("crates/rma-core/src/window/mod.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn lines_protect_their_own_files_only() {
        for path in [
            "crates/rma-core/src/poller/internal.rs",
            "crates/rma/src/lib.rs",
            "crates/rma-ch-tcp/src/lib.rs",
        ] {
            assert_eq!(findings(path, "tcp"), [""; 0], "{path}");
        }
        assert_eq!(findings("crates/rma-ch-tcp/tests/a.rs", "epoch"), [""; 0]);
        assert_eq!(findings("crates/rma-core/src/epoch/mod.rs", "epoch fence lock_queue"), [""; 0]);
    }

    #[test]
    fn channels_know_no_synchronization() {
        let path = "crates/rma-ch-shm/src/ring.rs";
        assert_eq!(
            findings(path, "\nlet epoch = 1;"),
            [
                "crates/rma-ch-shm/src/ring.rs:2: the word epoch may not stand here: a channel knows no synchronization of windows"
            ]
        );
        for text in [
            "win_fence()",
            "my_lock_queue",
            "LockQueue::new()",
            "LOCK_QUEUE_BYTES",
            "use std::sync::atomic::fence;",
        ] {
            assert_eq!(findings(path, text).len(), 1, "{text}");
        }
        for text in
            ["lock the queue", "lock, queue", "lock(queue)", "lock queue", "queue_lock", "block_queue"]
        {
            assert_eq!(findings(path, text), [""; 0], "{text}");
        }
    }
}
