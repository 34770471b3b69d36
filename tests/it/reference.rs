//! Pages that are generated: the options of `docs/definition.md` from the option tables, `docs/cli.md` from the
//! command line. What stands between `<!-- generated: NAME -->` and `<!-- end -->` is compared with what the
//! program says now; `make docs` (`UPDATE_EXPECTED=1`) writes it anew.

use std::fmt::Write as _;
use std::fs;

use lookaside::config::json_schema;
use lookaside::config::options::client::{Side, Treatment, property, property_names};
use lookaside::config::options::{
    CONNECTORS, ConnectorSpec, FORMATS, Flink, JOB_OPTIONS, Kind, OptionSpec, Role, Support,
    UNSUPPORTED_CONNECTORS, UNSUPPORTED_FORMATS,
};

const END: &str = "<!-- end -->";

/// Compares every generated part of a page, or writes it.
fn check(path: &str, generate: impl Fn(&str) -> String) {
    let page = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut made, mut rest) = (String::new(), page.as_str());
    while let Some(at) = rest.find("<!-- generated: ") {
        let head = &rest[at..];
        let line_end = head.find('\n').expect("a line");
        let name = head[..line_end].trim_start_matches("<!-- generated: ").trim_end_matches(" -->");
        let end = head.find(END).unwrap_or_else(|| panic!("{path}: {name} has no {END}"));
        write!(made, "{}{}\n{}\n{END}", &rest[..at], &head[..line_end], generate(name).trim_end())
            .expect("text");
        rest = &head[end + END.len()..];
    }
    made.push_str(rest);
    if std::env::var("UPDATE_EXPECTED").is_ok() {
        fs::write(path, &made).expect("write");
        return;
    }
    let first = page.lines().zip(made.lines()).enumerate().find(|(_, (old, new))| old != new);
    assert!(
        page == made,
        "{path} is not what the program says (first difference: {first:#?}): run make docs"
    );
}

#[test]
fn the_definition_reference_is_that_of_the_option_tables() {
    check("docs/definition.md", |name| match name {
        "pipeline" => pipeline(),
        "options" => table(JOB_OPTIONS.iter().collect(), &[]),
        "connectors" => CONNECTORS.iter().map(connector).collect(),
        "formats" => formats(),
        "client" => client(),
        "unsupported" => unsupported(),
        other => panic!("nothing generates {other}"),
    });
}

#[test]
fn the_command_reference_is_that_of_the_program() {
    check("docs/cli.md", |name| match name {
        "commands" => commands(),
        other => panic!("nothing generates {other}"),
    });
}

#[test]
fn help_texts_have_one_voice() {
    let mut program = lookaside::cli::command();
    program.build();
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = command.get_name();
        let about = command.get_about().unwrap_or_else(|| panic!("{name}: no help")).to_string();
        assert!(about.starts_with(char::is_uppercase) && !about.ends_with('.'), "{name}: {about}");
        let verb = about.split(' ').next().unwrap_or_default();
        assert!(!verb.ends_with('s'), "{name}: '{verb}' is not how the others begin: Run, Check, Print");
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Exit codes:\n  0 "), "{name} does not say how it ends: {after}");
        assert!(command.get_arguments().any(|argument| argument.get_id() == "output"), "{name}: no --output");
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let id = argument.get_id();
            assert!(help.starts_with(|c: char| c.is_uppercase()), "{name} {id}: '{help}'");
            assert!(!help.ends_with('.'), "{name} {id}: '{help}' ends with a full stop");
        }
    }
}

fn commands() -> String {
    let mut program = lookaside::cli::command().term_width(100);
    program.build();
    let mut out = String::new();
    let help = |command: &mut clap::Command| {
        let text = command.clone().term_width(100).render_long_help().to_string();
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    writeln!(out, "```text\n{}\n```\n", help(&mut program).trim_end()).expect("text");
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names.iter().filter(|name| *name != "help") {
        let command = program.find_subcommand_mut(name).expect("a command");
        writeln!(out, "## lookaside {name}\n\n```text\n{}\n```\n", help(command).trim_end()).expect("text");
    }
    out
}

fn pipeline() -> String {
    let schema = json_schema();
    let mut out = "| key | meaning |\n|---|---|\n".to_owned();
    let mut rows = |prefix: &str, properties: &serde_json::Value| {
        for (name, property) in properties.as_object().expect("properties") {
            let meaning = property["description"].as_str().unwrap_or_default();
            writeln!(out, "| `{prefix}{name}` | {meaning} |").expect("text");
        }
    };
    let properties = &schema["$defs"]["pipeline"]["properties"];
    rows("", properties);
    rows("lookup[].", &properties["lookup"]["items"]["properties"]);
    out
}

fn connector(connector: &ConnectorSpec) -> String {
    let roles: Vec<&str> = connector.roles.iter().map(|role| role.name()).collect();
    let mut out = format!("### `{}`: {}\n\n{}\n\n", connector.name, roles.join(" and "), connector.doc);
    let twin = CONNECTORS.iter().take_while(|other| other.name != connector.name);
    if let Some(twin) = twin.clone().find(|other| other.options == connector.options)
        && !connector.options.is_empty()
    {
        write!(out, "Its options are those of `{}`.\n\n", twin.name).expect("text");
        return out;
    }
    if connector.options.is_empty() {
        out.push_str("It has no options.\n\n");
        return out;
    }
    out.push_str(&table(connector.options.iter().collect(), connector.roles));
    let prefixes: Vec<String> =
        connector.formats.iter().map(|(prefix, _)| format!("`{prefix}<format>.*`")).collect();
    if !prefixes.is_empty() {
        write!(out, "\nOptions of the [formats](#formats) stand behind {}.", prefixes.join(", "))
            .expect("text");
    }
    if connector.has_properties {
        out.push_str(" Settings of the client are [`properties.*`](#kafka-clients).");
    }
    out.push_str("\n\n");
    out
}

/// What works as a table, what does nothing or is refused as lists behind.
fn table(specs: Vec<&OptionSpec>, roles: &[Role]) -> String {
    let with_role = 1 < roles.len();
    let (head, line) = if with_role { ("| for ", "|---") } else { ("", "") };
    let mut out =
        format!("| option {head}| type | default | meaning | Flink |\n|---{line}|---|---|---|---|\n");
    for spec in specs.iter().filter(|spec| spec.support == Support::Yes) {
        let names: Vec<&str> = spec.roles.iter().map(|role| role.name()).collect();
        let role = match with_role {
            true if spec.roles.len() == roles.len() => "| all ".to_owned(),
            true => format!("| {} ", names.join(", ")),
            false => String::new(),
        };
        let default = match spec.default {
            _ if !spec.required.is_empty() => "required".to_owned(),
            Some("") => "empty".to_owned(),
            Some(default) => code(default),
            None => "–".to_owned(),
        };
        let flink = match spec.flink {
            Flink::Same => "same".to_owned(),
            Flink::As(name) => code(name),
            Flink::No => "–".to_owned(),
        };
        let (name, ty, doc) = (code(spec.name), kind(spec.kind), escaped(spec.doc));
        writeln!(out, "| {name} {role}| {ty} | {default} | {doc} | {flink} |").expect("text");
    }
    let listed = |wanted: &dyn Fn(Support) -> Option<&'static str>| {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for (spec, why) in specs.iter().filter_map(|spec| Some((spec, wanted(spec.support)?))) {
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(code(spec.name)),
                None => reasons.push((why, vec![code(spec.name)])),
            }
        }
        reasons.iter().map(|(why, names)| format!("- {}: {why}.\n", names.join(", "))).collect::<String>()
    };
    let noted = listed(&|support| if let Support::Noted(why) = support { Some(why) } else { None });
    let refused = listed(&|support| if let Support::Refused(why) = support { Some(why) } else { None });
    if !noted.is_empty() {
        write!(out, "\nAccepted, does nothing, and is said once at start:\n\n{noted}").expect("text");
    }
    if !refused.is_empty() {
        write!(out, "\nRefused by name:\n\n{refused}").expect("text");
    }
    out
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::AnyText => "text".to_owned(),
        Kind::Secret => "text, never printed".to_owned(),
        Kind::Boolean => "true, false".to_owned(),
        Kind::Integer(least, i64::MAX) => format!("number ≥ {least}"),
        Kind::Integer(least, most) => format!("number {least} to {most}"),
        Kind::Duration(0) => "duration".to_owned(),
        Kind::Duration(least) => format!("duration ≥ {least} ms"),
        Kind::Choice(words) => {
            let taken = words.iter().filter(|word| word.refused.is_none());
            taken.map(|word| code(word.name)).collect::<Vec<_>>().join(", ")
        }
        Kind::Character => "one character".to_owned(),
        Kind::PartitionOffsets => "`partition:0,offset:42;…`".to_owned(),
    }
}

fn formats() -> String {
    let mut out = String::new();
    for format in FORMATS {
        write!(out, "### `{}`\n\n", format.name).expect("text");
        out.push_str(&table(format.options.iter().collect(), &[Role::Source, Role::Sink]));
        out.push('\n');
    }
    out
}

fn client() -> String {
    let mut names: Vec<&str> = property_names().collect();
    names.sort_unstable();
    let found = || names.iter().filter_map(|name| property(name));
    let (mut same, mut translated, mut security) = (Vec::new(), Vec::new(), Vec::new());
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for found in found() {
        let name = code(found.name);
        match found.treatment {
            Treatment::As(own) if own == found.name => same.push(name),
            Treatment::As(own) => translated.push(format!("{name} as {}", code(own))),
            Treatment::AsKibibytes(own) => translated.push(format!("{name} as {} (KiB)", code(own))),
            Treatment::Security => security.push(name),
            Treatment::Noted(why) | Treatment::Refused(why) => {
                let verb =
                    if matches!(found.treatment, Treatment::Noted(_)) { "does nothing" } else { "refused" };
                match reasons.iter_mut().find(|(known, names)| *known == why && names[0] == verb) {
                    Some((_, names)) => names.push(name),
                    None => reasons.push((why, vec![verb.to_owned(), name])),
                }
            }
        }
        assert!(matches!(found.side, Side::Both | Side::Consumer | Side::Producer));
    }
    let mut out = format!("Taken as they are: {}.\n\n", same.join(", "));
    write!(
        out,
        "Translated: {}.\n\nTranslated together, as Java's clients read them: {}.\n\n| setting | what becomes of it | why |\n|---|---|---|\n",
        translated.join(", "),
        security.join(", ")
    )
    .expect("text");
    for (why, names) in reasons {
        writeln!(out, "| {} | {} | {} |", names[1..].join(", "), names[0], escaped(why)).expect("text");
    }
    out
}

fn unsupported() -> String {
    let mut out = String::new();
    for (what, list) in [("Connectors", UNSUPPORTED_CONNECTORS), ("Formats", UNSUPPORTED_FORMATS)] {
        let names: Vec<String> = list.iter().map(|(name, why)| format!("{} ({why})", code(name))).collect();
        write!(out, "{what}: {}.\n\n", names.join(", ")).expect("text");
    }
    out
}

fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{}`", escaped(text)) }
}

/// A text inside a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
