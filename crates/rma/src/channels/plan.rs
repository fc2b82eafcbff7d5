//! What a preference comes to: the channel of each distance.

use super::kind::{ChannelKind, Distance};
use super::look_up::LookUp;
use super::preference::Preference;
use super::registry::{AUTO, kinds};
use std::fmt;

/// The channel of each distance.
#[derive(Clone, Copy)]
pub struct Plan {
    /// That of processes on one node.
    pub node: Option<&'static dyn ChannelKind>,
    /// That of processes on two nodes.
    pub remote: Option<&'static dyn ChannelKind>,
    /// Whether window memory of the node is mapped.
    pub is_direct: bool,
}

impl Plan {
    /// Chooses for each distance the first channel of the preference that reaches so far and can be had here. A channel that
    /// is forced is not asked whether it can be had: opening it says why not.
    pub fn choose(preference: &Preference, look_up: LookUp<'_>) -> Self {
        Self::choose_among(&kinds(), preference, look_up)
    }

    fn choose_among(
        kinds: &[&'static dyn ChannelKind],
        preference: &Preference,
        look_up: LookUp<'_>,
    ) -> Self {
        let forced = preference.forced();
        let pick = |distance| {
            let candidates = candidates(kinds, preference, distance, look_up);
            candidates.into_iter().find(|kind| forced.is_some() || kind.probe(look_up).is_ok())
        };
        let (node, remote) = (pick(Distance::Node), pick(Distance::Remote));
        let may_share = kinds.iter().any(|kind| kind.shares_memory() && is_named(preference, kind.name()));
        Self { node, remote, is_direct: forced.is_none() && may_share }
    }

    /// Why channels of the preference that reach so far cannot be had here, each in a clause.
    pub fn refusals(preference: &Preference, distance: Distance, look_up: LookUp<'_>) -> Vec<String> {
        let asked = candidates(&kinds(), preference, distance, look_up);
        let why = |kind: &&'static dyn ChannelKind| {
            Some(format!("{}: {}", kind.name(), kind.probe(look_up).err()?))
        };
        asked.iter().filter_map(why).collect()
    }

    /// Wishes for channels that come before the one of this distance and cannot be had here, each in a sentence.
    pub fn unmet(&self, preference: &Preference, distance: Distance, look_up: LookUp<'_>) -> Vec<String> {
        self.unmet_among(&kinds(), preference, distance, look_up)
    }

    fn unmet_among(
        &self,
        kinds: &[&'static dyn ChannelKind],
        preference: &Preference,
        distance: Distance,
        look_up: LookUp<'_>,
    ) -> Vec<String> {
        let Some(used) = self.of(distance).map(|kind| kind.name()) else { return Vec::new() };
        let asked = candidates(kinds, preference, distance, look_up);
        let before = asked.into_iter().take_while(|kind| kind.name() != used);
        let sentence = |kind: &'static dyn ChannelKind| {
            let (wish, why) = (kind.wish(look_up)?, kind.probe(look_up).err()?);
            Some(format!("{wish}, but {} cannot be had here and {used} is used instead: {why}", kind.name()))
        };
        before.filter_map(sentence).collect()
    }

    /// That of this distance.
    pub fn of(&self, distance: Distance) -> Option<&'static dyn ChannelKind> {
        match distance {
            Distance::Node => self.node,
            Distance::Remote => self.remote,
        }
    }

    /// One word for the whole plan; equal plans have equal words.
    pub fn word(&self) -> String {
        let name = |kind: Option<&'static dyn ChannelKind>| kind.map_or("none", |kind| kind.name());
        format!("{}/{}", name(self.node), name(self.remote))
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} direct {}", self.word(), self.is_direct)
    }
}

fn is_named(preference: &Preference, name: &str) -> bool {
    preference.names().iter().any(|named| named == AUTO || named == name)
}

/// The channels of a preference that reach so far, in order. Those that `auto` stands for follow by cost, without those that
/// are named.
fn candidates(
    kinds: &[&'static dyn ChannelKind],
    preference: &Preference,
    distance: Distance,
    look_up: LookUp<'_>,
) -> Vec<&'static dyn ChannelKind> {
    let cost = |kind: &&'static dyn ChannelKind| kind.cost_ns(distance, look_up);
    let mut found = Vec::new();
    for name in preference.names() {
        let mut fitting: Vec<_> = kinds.iter().copied().filter(|kind| cost(kind).is_some()).collect();
        match name == AUTO {
            true => fitting.retain(|kind| !preference.names().iter().any(|named| named == kind.name())),
            false => fitting.retain(|kind| kind.name() == name),
        }
        fitting.sort_by_key(|kind| cost(kind));
        found.extend(fitting);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::kind::Opening;
    use super::*;
    use rma_core::Result;
    use rma_core::channel::Channel;

    struct Fake(&'static str, Option<u32>, Option<u32>, bool);

    impl ChannelKind for Fake {
        fn name(&self) -> &'static str {
            self.0
        }

        fn text(&self) -> &'static str {
            ""
        }

        fn cost_ns(&self, distance: Distance, _: LookUp<'_>) -> Option<u32> {
            if distance == Distance::Node { self.1 } else { self.2 }
        }

        fn shares_memory(&self) -> bool {
            self.0 == "shm"
        }

        fn wish(&self, look_up: LookUp<'_>) -> Option<String> {
            look_up.text(self.0).map(|value| format!("{} is {value}", self.0))
        }

        fn probe(&self, _: LookUp<'_>) -> Result<String, String> {
            if self.3 { Ok(String::new()) } else { Err("missing".to_owned()) }
        }

        fn open(&self, _: &Opening<'_>) -> Result<Box<dyn Channel>> {
            unreachable!("nothing is opened")
        }
    }

    static KINDS: &[&dyn ChannelKind] = &[
        &Fake("dear", Some(90), Some(90), true),
        &Fake("shm", Some(1), None, true),
        &Fake("tcp", Some(20), Some(20), true),
        &Fake("absent", Some(2), Some(2), false),
    ];

    #[test]
    fn each_distance_gets_the_first_that_reaches_and_is_there() {
        for (preference, word, is_direct) in [
            ("auto", "shm/tcp", true),
            ("shm", "shm/none", false),
            ("tcp", "tcp/tcp", false),
            ("absent", "absent/absent", false),
            ("absent,tcp", "tcp/tcp", false),
            ("shm,dear", "shm/dear", true),
            ("dear,auto", "dear/dear", true),
            ("absent,auto", "shm/tcp", true),
            ("dear,shm", "dear/dear", true),
        ] {
            let plan = Plan::choose_among(KINDS, &Preference::from(preference), LookUp::new(&|_| None));
            assert_eq!((plan.word().as_str(), plan.is_direct), (word, is_direct), "{preference}");
        }
    }

    #[test]
    fn a_wish_that_cannot_be_had_is_told_and_others_are_not() {
        let unmet = |preference: &str, wished: &'static str| {
            let (preference, look_up) =
                (Preference::from(preference), move |name: &str| (name == wished).then(|| "1".to_owned()));
            let look_up = LookUp::new(&look_up);
            let plan = Plan::choose_among(KINDS, &preference, look_up);
            plan.unmet_among(KINDS, &preference, Distance::Remote, look_up)
        };
        let told = "absent is 1, but absent cannot be had here and tcp is used instead: missing";
        assert_eq!(unmet("auto", "absent"), [told]);
        assert_eq!(unmet("shm,absent,tcp", "absent"), [told]);
        for (preference, wished) in
            [("auto", "dear"), ("auto", "none"), ("tcp,absent", "absent"), ("absent", "absent")]
        {
            assert_eq!(unmet(preference, wished), [""; 0], "{preference} {wished}");
        }
    }
}
