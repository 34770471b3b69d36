//! What an option table says about one option.

/// What a table is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `from`.
    Source,
    /// `lookup`.
    Dimension,
    /// `into`.
    Sink,
}

impl Role {
    /// The word for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Dimension => "dimension",
            Self::Sink => "sink",
        }
    }
}

/// The type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// Any text, the empty one too.
    AnyText,
    /// A text that is never printed.
    Secret,
    /// `true` or `false`, quoted or not, in any case.
    Boolean,
    /// A whole number within bounds, both included.
    Integer(i64, i64),
    /// A duration, at least so many milliseconds.
    Duration(u64),
    /// One of the words of the list.
    Choice(&'static [Choice]),
    /// One character, `\t` and the like spelled as in Java.
    Character,
    /// `partition:0,offset:42;partition:1,offset:300`.
    PartitionOffsets,
}

/// One word that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub name: &'static str,
    /// Why it is refused, when it is.
    pub refused: Option<&'static str>,
}

impl Choice {
    /// A word that works.
    #[must_use]
    pub const fn of(name: &'static str) -> Self {
        Self { name, refused: None }
    }

    /// A word that Flink takes and Lookaside does not.
    #[must_use]
    pub const fn refused(name: &'static str, why: &'static str) -> Self {
        Self { name, refused: Some(why) }
    }
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It works.
    Yes,
    /// It is accepted, does nothing, and a note at start says why.
    Noted(&'static str),
    /// It is known and refused, with the reason.
    Refused(&'static str),
}

/// What Flink calls the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flink {
    /// By the same name.
    Same,
    /// By another name.
    As(&'static str),
    /// Flink has nothing of the kind.
    No,
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name, as written.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Value when it is absent.
    pub default: Option<&'static str>,
    /// One sentence about it.
    pub doc: &'static str,
    /// Where it applies.
    pub roles: &'static [Role],
    /// Where it must be given.
    pub required: &'static [Role],
    /// What becomes of it.
    pub support: Support,
    /// What Flink calls it.
    pub flink: Flink,
}

impl OptionSpec {
    /// An option that works.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, roles: &'static [Role], doc: &'static str) -> Self {
        let (required, support, flink): (&[Role], _, _) = (&[], Support::Yes, Flink::Same);
        Self { name, kind, default: None, doc, roles, required, support, flink }
    }

    /// An option that is accepted with a note.
    #[must_use]
    pub const fn noted(name: &'static str, roles: &'static [Role], why: &'static str) -> Self {
        Self { support: Support::Noted(why), ..Self::new(name, Kind::AnyText, roles, why) }
    }

    /// An option that is refused by name.
    #[must_use]
    pub const fn refused(name: &'static str, roles: &'static [Role], why: &'static str) -> Self {
        Self { support: Support::Refused(why), ..Self::new(name, Kind::AnyText, roles, why) }
    }

    /// Its value when it is absent.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Flink calls it `name`.
    #[must_use]
    pub const fn flink(self, name: &'static str) -> Self {
        Self { flink: Flink::As(name), ..self }
    }

    /// Flink has no such option.
    #[must_use]
    pub const fn own(self) -> Self {
        Self { flink: Flink::No, ..self }
    }

    /// It must be given wherever it applies.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: self.roles, ..self }
    }

    /// Whether it applies to a table that is used so.
    #[must_use]
    pub fn applies_to(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// One connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectorSpec {
    /// Its name.
    pub name: &'static str,
    /// One sentence about it.
    pub doc: &'static str,
    /// What its tables can be used as.
    pub roles: &'static [Role],
    /// Its options, without those of formats and of the Kafka client.
    pub options: &'static [OptionSpec],
    /// Prefixes under which the options of a format stand, each with the option that chooses the format.
    pub formats: &'static [(&'static str, &'static str)],
    /// Whether `properties.*` go to a Kafka client.
    pub has_properties: bool,
}

/// Lists one after the other, as one.
pub(super) const fn joined<const N: usize>(lists: &[&[OptionSpec]]) -> [OptionSpec; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut at) = (0, 0);
    while list < lists.len() {
        let mut i = 0;
        while i < lists[list].len() {
            all[at] = lists[list][i];
            at += 1;
            i += 1;
        }
        list += 1;
    }
    assert!(at == N, "the lists have as many options as the whole");
    all
}
