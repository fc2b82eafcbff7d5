//! What a rank reports to its launcher: the facts, and the lines that carry them.
//!
//! ```text
//! launcher   cmd=report number=4
//! rank       cmd=wait report=4 wait=17 call=fence s=12 what=fence site=0.10001 name=window_%22forces%22 ranks=3
//!            cmd=hold report=4 site=0.10001 name=… ranks=2 holder=1 what=exclusive
//!            cmd=reported report=4 complete=1 blocked=1 moved=812 away=- joined=0,7
//! ```
//!
//! A wait has a line for each thing that it needs, all with its number. Every line is shorter than a launcher takes, and says
//! nothing of which more than [`MOST_LINES`] come. Reading is total: whatever a rank sends gives a fact or an error.

use super::ranks::Ranks;
use super::{Line, LineError};
use rma_core::host::{Instance, Way};

/// Waits and locks of one rank in one answer.
pub(crate) const MOST_LINES: usize = 256;
/// Bytes of a list of ranks in a line.
const RANKS_LEN: usize = 1200;
/// Bytes of a name or text, before it is written so that a line can carry it.
const TEXT_LEN: usize = 200;
/// Ways to meet, as lines have them.
const WAYS: [(Way, &str); 3] =
    [(Way::Messages, "messages"), (Way::Memory, "memory"), (Way::Packets, "packets")];
/// Groups that one line names.
const MOST_JOINED: usize = 64;

/// What a rank has told, in its answer to the report of this number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub(crate) report: u64,
    pub(crate) fact: Fact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Wait(Wait),
    Hold(Hold),
    /// The answer is over.
    End(AnswerSummary),
}

/// A wait, and one thing that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// No other wait of the rank has it.
    pub(crate) number: u64,
    pub(crate) call: String,
    pub(crate) seconds: u64,
    pub(crate) want: Option<Want>,
    /// What it says when there is nothing else to say.
    pub(crate) text: String,
}

/// What is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) what: WantKind,
    pub(crate) site: Option<Site>,
    /// What users call the site.
    pub(crate) name: String,
    /// Which of the calls of many there.
    pub(crate) instance: Option<Instance>,
    /// The owner of the lock, or the ranks that have to do something.
    pub(crate) ranks: Ranks,
    /// Whether that is all that is known of it.
    pub(crate) is_whole: bool,
}

/// A window, or a group of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Site {
    pub(crate) context: u64,
    pub(crate) window: Option<u32>,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) site: Site,
    pub(crate) name: String,
    pub(crate) target: u32,
    pub(crate) holder: u32,
    pub(crate) is_exclusive: bool,
}

/// The rest of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerSummary {
    /// Whether all waits and locks are in the answer.
    pub(crate) is_complete: bool,
    /// Whether no thread of the program can do anything before one of its waits ends.
    pub(crate) is_blocked: bool,
    /// Packets that have moved so far.
    pub(crate) moved: u64,
    /// Seconds since the program has last driven the engine, when it is known to be elsewhere.
    pub(crate) away: Option<u64>,
    /// Groups in whose collectives the rank takes part now.
    pub(crate) joined: Vec<u64>,
}

macro_rules! whats {
    ($($variant:ident $word:literal,)*) => {
        /// The kinds of needs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum WantKind { $($variant,)* }

        impl WantKind {
            const ALL: &[(Self, &str)] = &[$((Self::$variant, $word),)*];
        }
    };
}

whats! {
    ExclusiveLock "exclusive",
    SharedLock "shared",
    Fence "fence",
    Posts "posts",
    Completes "completes",
    Answers "answers",
    Free "free",
    Creation "creation",
    Collective "collective",
    Message "message",
    Receipt "receipt",
    Requests "requests",
}

impl WantKind {
    pub(crate) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(what, _)| *what == self).map_or("", |(_, word)| word)
    }

    fn parse(word: &str) -> Result<Self, LineError> {
        let found = Self::ALL.iter().find(|(_, known)| *known == word);
        found.map(|(what, _)| *what).ok_or_else(|| LineError::new(format!("unknown need {word:?}")))
    }

    pub(crate) fn is_lock(self) -> bool {
        matches!(self, Self::ExclusiveLock | Self::SharedLock)
    }

    /// Whether all ranks of the site make the same call.
    pub(crate) fn is_collective(self) -> bool {
        matches!(self, Self::Fence | Self::Free | Self::Creation | Self::Collective)
    }
}

impl Said {
    /// Whether a line is one of these.
    pub(crate) fn is_one(command: &str) -> bool {
        matches!(command, "wait" | "hold" | "reported")
    }

    /// Reads a line of a rank of a job of `size`.
    ///
    /// # Errors
    /// When it is none that [`Said::line`] writes.
    pub(crate) fn parse(line: &Line, size: u32) -> Result<Self, LineError> {
        let fact = match line.command() {
            "wait" => Fact::Wait(wait(line, size)?),
            "hold" => Fact::Hold(hold(line, size)?),
            "reported" => Fact::End(summary(line)?),
            other => return Err(LineError::new(format!("{other:?} is no part of an answer"))),
        };
        Ok(Self { report: line.number("report")?, fact })
    }

    /// The line that tells it.
    pub(crate) fn line(&self) -> Line {
        let line = |command| Line::new(command).with("report", self.report);
        match &self.fact {
            Fact::Wait(wait) => {
                let line = line("wait")
                    .with("wait", wait.number)
                    .with("call", escaped(&wait.call))
                    .with("s", wait.seconds)
                    .with("text", escaped(&wait.text));
                let Some(want) = &wait.want else { return line };
                let (ranks, is_all) = want.ranks.within(RANKS_LEN);
                let line = line.with("what", want.what.word()).with("ranks", ranks);
                let line = line.with("whole", u8::from(want.is_whole && is_all));
                let line = match want.instance {
                    Some(instance) => line.with("nth", instance_text(instance)),
                    None => line,
                };
                match want.site {
                    Some(site) => line.with("site", site_text(site)).with("name", escaped(&want.name)),
                    None => line,
                }
            }
            Fact::Hold(hold) => {
                let what = if hold.is_exclusive { WantKind::ExclusiveLock } else { WantKind::SharedLock };
                line("hold")
                    .with("site", site_text(hold.site))
                    .with("name", escaped(&hold.name))
                    .with("target", hold.target)
                    .with("holder", hold.holder)
                    .with("what", what.word())
            }
            Fact::End(summary) => {
                let joined: Vec<_> =
                    summary.joined.iter().take(MOST_JOINED).map(|context| format!("{context:x}")).collect();
                let is_complete = summary.is_complete && summary.joined.len() <= MOST_JOINED;
                line("reported")
                    .with("complete", u8::from(is_complete))
                    .with("blocked", u8::from(summary.is_blocked))
                    .with("moved", summary.moved)
                    .with("away", summary.away.map_or_else(|| "-".to_owned(), |away| away.to_string()))
                    .with("joined", if joined.is_empty() { "-".to_owned() } else { joined.join(",") })
            }
        }
    }
}

fn wait(line: &Line, size: u32) -> Result<Wait, LineError> {
    let want = match line.get("what") {
        None => None,
        Some(what) => {
            let what = WantKind::parse(what)?;
            let ranks = Ranks::parse(line.require("ranks")?, size)?;
            let (site, name) = match line.get("site") {
                None => (None, String::new()),
                Some(site) => (Some(site_of(site)?), unescaped(line.require("name")?)?),
            };
            if what.is_lock() && ranks.len() != 1
                || site.is_none() && (what.is_lock() || what.is_collective())
            {
                return Err(LineError::new(format!("a lock or a call of many without its place: {line}")));
            }
            let instance = line.get("nth").map(instance_of).transpose()?;
            Some(Want { what, site, name, instance, ranks, is_whole: is(line, "whole")? })
        }
    };
    Ok(Wait {
        number: line.number("wait")?,
        call: unescaped(line.require("call")?)?,
        seconds: line.number("s")?,
        want,
        text: unescaped(line.require("text")?)?,
    })
}

fn hold(line: &Line, size: u32) -> Result<Hold, LineError> {
    let what = WantKind::parse(line.require("what")?)?;
    let rank = |key: &str| match line.number::<u32>(key)? {
        rank if rank < size => Ok(rank),
        rank => Err(LineError::new(format!("there is no rank {rank}"))),
    };
    if !what.is_lock() {
        return Err(LineError::new(format!("{what:?} is no lock")));
    }
    Ok(Hold {
        site: site_of(line.require("site")?)?,
        name: unescaped(line.require("name")?)?,
        target: rank("target")?,
        holder: rank("holder")?,
        is_exclusive: what == WantKind::ExclusiveLock,
    })
}

fn summary(line: &Line) -> Result<AnswerSummary, LineError> {
    let joined = match line.require("joined")? {
        "-" => Vec::new(),
        text => text.split(',').map(hex).collect::<Result<_, _>>()?,
    };
    Ok(AnswerSummary {
        is_complete: is(line, "complete")?,
        is_blocked: is(line, "blocked")?,
        moved: line.number("moved")?,
        away: match line.require("away")? {
            "-" => None,
            _ => Some(line.number("away")?),
        },
        joined,
    })
}

fn is(line: &Line, key: &str) -> Result<bool, LineError> {
    match line.require(key)? {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(LineError::new(format!("{key}={other:?} is neither 0 nor 1"))),
    }
}

fn site_text(site: Site) -> String {
    match site.window {
        Some(window) => format!("{:x}.{window:x}", site.context),
        None => format!("{:x}", site.context),
    }
}

fn site_of(text: &str) -> Result<Site, LineError> {
    let (context, window) =
        text.split_once('.').map_or((text, None), |(context, window)| (context, Some(window)));
    let window = match window {
        None => None,
        Some(window) => Some(u32::try_from(hex(window)?).map_err(|_| LineError::new("no window"))?),
    };
    Ok(Site { context: hex(context)?, window })
}

/// How the ranks meet, and the number.
fn instance_text(Instance { way, number }: Instance) -> String {
    let (_, word) = WAYS.iter().find(|(known, _)| *known == way).copied().unwrap_or(WAYS[0]);
    format!("{word}.{number:x}")
}

fn instance_of(text: &str) -> Result<Instance, LineError> {
    let no = || LineError::new(format!("{text:?} is no number of a call"));
    let (word, number) = text.split_once('.').ok_or_else(no)?;
    let (way, _) = WAYS.iter().find(|(_, known)| *known == word).ok_or_else(no)?;
    Ok(Instance { way: *way, number: hex(number)? })
}

fn hex(text: &str) -> Result<u64, LineError> {
    u64::from_str_radix(text, 16)
        .map_err(|_| LineError::new(format!("{text:?} is no number of a group or window")))
}

/// A text as a line can carry it, cut when it is long: a space is `_`, and what is neither a letter nor a digit `%` and two digits.
fn escaped(text: &str) -> String {
    let end = (0..=TEXT_LEN.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut out = String::new();
    for byte in text[..end].bytes() {
        match byte {
            b' ' => out.push('_'),
            b if b.is_ascii_alphanumeric() => out.push(char::from(b)),
            b => out += &format!("%{b:02x}"),
        }
    }
    out
}

/// The inverse; what is no text, or would move a terminal's cursor, has other characters in its place.
fn unescaped(text: &str) -> Result<String, LineError> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => break,
            [b'%', high, low, rest @ ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok().and_then(|d| u8::from_str_radix(d, 16).ok());
                bytes.push(digits.ok_or_else(|| LineError::new(format!("{text:?} is no written text")))?);
                rest
            }
            [b'_', rest @ ..] => {
                bytes.push(b' ');
                rest
            }
            [b, rest @ ..] if b.is_ascii_alphanumeric() => {
                bytes.push(*b);
                rest
            }
            _ => return Err(LineError::new(format!("{text:?} is no written text"))),
        };
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(fact: Fact) -> Said {
        Said { report: 7, fact }
    }

    fn facts() -> Vec<Said> {
        let site = Site { context: 0x1_0000_0002, window: Some(0x1_0003) };
        let want = |what, site, ranks: &[u32]| Want {
            what,
            site,
            name: if site.is_some() { "window \"fö_r%ces\"".to_owned() } else { String::new() },
            instance: ranks.first().map(|number| Instance { way: WAYS[*number as usize % 3].0, number: 17 }),
            ranks: ranks.iter().copied().collect(),
            is_whole: true,
        };
        let wait = |want| {
            let text = "the locks, and more".to_owned();
            said(Fact::Wait(Wait { number: 3, call: "lock_all".to_owned(), seconds: 12, want, text }))
        };
        let mut all: Vec<_> =
            WantKind::ALL.iter().map(|(what, _)| wait(Some(want(*what, Some(site), &[2])))).collect();
        all.push(wait(Some(want(WantKind::Message, None, &[]))));
        all.push(wait(Some(want(
            WantKind::Creation,
            Some(Site { context: u64::MAX, window: None }),
            &[0, 1, 2, 5],
        ))));
        all.push(wait(None));
        let name = "x".to_owned();
        all.push(said(Fact::Hold(Hold { site, name, target: 1, holder: 0, is_exclusive: true })));
        all.push(said(Fact::End(AnswerSummary::default())));
        let joined = vec![0, u64::MAX];
        all.push(said(Fact::End(AnswerSummary {
            is_complete: true,
            is_blocked: true,
            moved: 9,
            away: Some(8),
            joined,
        })));
        all
    }

    #[test]
    fn facts_survive_their_lines() {
        for said in facts() {
            let bytes = said.line().to_bytes();
            let line = Line::parse(&bytes[..bytes.len() - 1]).unwrap();
            assert!(Said::is_one(line.command()));
            assert_eq!(Said::parse(&line, 6).unwrap(), said, "{line}");
        }
    }

    #[test]
    fn a_line_is_never_too_long_and_says_what_it_leaves_out() {
        let ranks: Ranks = (0..65_536).filter(|rank| rank % 3 != 0).collect();
        let name = "\u{1f980}".repeat(500);
        let site = Some(Site { context: u64::MAX, window: Some(u32::MAX) });
        let instance = Some(Instance { way: Way::Messages, number: u64::MAX });
        let want =
            Want { what: WantKind::Completes, site, name: name.clone(), instance, ranks, is_whole: true };
        let text = name.clone();
        let wait = Wait { number: u64::MAX, call: name, seconds: u64::MAX, want: Some(want), text };
        let line = said(Fact::Wait(wait)).line();
        assert!(line.to_bytes().len() <= 4096, "{}", line.to_bytes().len());
        let Fact::Wait(Wait { want: Some(want), .. }) = Said::parse(&line, 65_536).unwrap().fact else {
            panic!()
        };
        assert!(!want.is_whole && want.ranks.len() == 200);
        let joined = (0..1000).map(|context| u64::MAX - context).collect();
        let line =
            said(Fact::End(AnswerSummary { is_complete: true, joined, ..AnswerSummary::default() })).line();
        assert!(line.to_bytes().len() <= 4096);
        let Fact::End(summary) = Said::parse(&line, 1).unwrap().fact else { panic!() };
        assert!(!summary.is_complete && summary.joined.len() == MOST_JOINED);
    }

    #[test]
    fn hostile_lines_are_errors() {
        for line in [
            "cmd=wait",
            "cmd=wait report=1 wait=1 call=a s=1",
            "cmd=wait report=x wait=1 call=a s=1 text=",
            "cmd=wait report=1 wait=1 call=a-b s=1 text=",
            "cmd=wait report=1 wait=1 call=a s=1 text=%",
            "cmd=wait report=1 wait=1 call=a s=1 text=%zz",
            "cmd=wait report=1 wait=1 call=a s=1 text= what=door ranks=1 whole=1",
            "cmd=wait report=1 wait=1 call=a s=1 text= what=posts ranks=6 whole=1",
            "cmd=wait report=1 wait=1 call=a s=1 text= what=posts ranks=1 whole=2",
            "cmd=wait report=1 wait=1 call=a s=1 text= what=fence ranks=1 whole=1",
            "cmd=wait report=1 wait=1 call=a s=1 text= what=shared ranks=1,2 whole=1 site=0.1 name=",
            "cmd=wait report=1 wait=1 call=a s=1 text= what=fence ranks=1 whole=1 site=0.100000000 name=",
            "cmd=hold report=1 site=0.1 name=a target=6 holder=1 what=shared",
            "cmd=hold report=1 site=0.1 name=a target=1 holder=6 what=shared",
            "cmd=hold report=1 site=x name=a target=1 holder=1 what=shared",
            "cmd=hold report=1 site=0.1 name=a target=1 holder=1 what=fence",
            "cmd=reported report=1 complete=1 blocked=1 moved=1 away=x joined=-",
            "cmd=reported report=1 complete=1 blocked=1 moved=1 away=- joined=",
            "cmd=report report=1",
        ] {
            let line = Line::parse(line.as_bytes()).unwrap();
            assert!(Said::parse(&line, 6).is_err(), "{line}");
        }
    }

    #[test]
    fn texts_of_others_move_no_cursor() {
        assert_eq!(unescaped(&escaped("a\x1b[2Jb\nc")).unwrap(), "a\u{fffd}[2Jb\u{fffd}c");
        assert_eq!(unescaped("%ff%41").unwrap(), "\u{fffd}A");
    }
}
