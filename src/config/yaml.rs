//! YAML text to a spanned tree, with bounds on everything that can grow.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span as YamlSpan};

use super::tree::Resolution;
use super::{Entry, Fault, Node, Span, Style, Text, Value};

/// A definition is written by hand; a larger file is a mistake.
const BYTES_MAX: usize = 4 << 20;
/// Nesting of a definition is 4; more is a mistake, and recursion over the tree stays shallow.
const DEPTH_MAX: usize = 32;
/// Nodes that aliases may add in all: a dozen tables that share their settings need a few hundred.
const ALIAS_NODES_MAX: usize = 10_000;

/// Reads one document.
///
/// # Errors
/// Syntax, duplicate keys, several documents, tags other than the core
/// schema's, and files beyond the bounds of this module.
pub fn parse_yaml(file: &str, text: &str) -> Result<Node, Vec<Fault>> {
    let mut faults = Vec::new();
    let root = read_yaml(file, text, &mut faults);
    root.filter(|_| faults.is_empty()).ok_or(faults)
}

/// Reads one document; `None` if it has no usable shape. Duplicate keys leave one: the first.
pub(super) fn read_yaml(file: &str, text: &str, faults: &mut Vec<Fault>) -> Option<Node> {
    let file: Arc<str> = file.into();
    let whole = Span { file: Arc::clone(&file), line: 0, column: 0 };
    if BYTES_MAX < text.len() {
        faults.push(Fault::new(&whole, format!("the file is larger than {BYTES_MAX} bytes")));
        return None;
    }
    let mut builder = Builder {
        file,
        stack: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        alias_nodes: 0,
        faults: Vec::new(),
    };
    for event in Parser::new_from_str(text) {
        let step = match event {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => {
                let span = builder.span(error.marker().line(), error.marker().col());
                let help = syntax_help(text, &span, error.info());
                Err(Fault::new(&span, format!("not YAML: {}", error.info())).help(help))
            }
        };
        if let Err(fault) = step {
            faults.append(&mut builder.faults);
            faults.push(fault);
            return None;
        }
    }
    faults.append(&mut builder.faults);
    if builder.root.is_none() {
        faults.push(Fault::new(&whole, "the file is empty"));
    }
    builder.root
}

/// Characters that people write bare in SQL text and that mean something to YAML at its start.
fn syntax_help(text: &str, span: &Span, info: &str) -> &'static str {
    let line = text.lines().nth((span.line as usize).saturating_sub(1)).unwrap_or_default();
    let item = line.trim_start().trim_start_matches("- ").trim_start();
    match item.chars().next() {
        Some('*' | '`' | '&' | '%' | '@' | '!' | '\'' | '"') => "put the whole text in quotes",
        _ if line.contains('{') || line.contains('[') => {
            "inside { } and [ ] a comma ends the text: put SQL in quotes, or write one key per line"
        }
        _ if line.contains('\t') || info.contains("tab") => "indent with blanks, not tabs",
        _ => {
            "look at the indentation: keys of one map begin in the same column, and what belongs to a key further right"
        }
    }
}

/// A list or map under construction.
struct Open {
    span: Span,
    anchor: usize,
    value: Value,
    /// The key whose value comes next.
    key: Option<Text>,
}

struct Builder {
    file: Arc<str>,
    stack: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, Node>,
    alias_nodes: usize,
    faults: Vec<Fault>,
}

impl Builder {
    fn span(&self, line: usize, column: usize) -> Span {
        Span {
            file: Arc::clone(&self.file),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
        }
    }

    fn take(&mut self, event: Event<'_>, at: YamlSpan) -> Result<(), Fault> {
        let span = self.span(at.start.line(), at.start.col());
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some_and(|tag| !tag.is_yaml_core_schema()) {
                    return Err(Fault::new(&span, "tags are not used in definitions"));
                }
                let one_line = at.start.line() == at.end.line();
                // Nothing at all comes as `~`.
                let is_nothing = style == ScalarStyle::Plain && at.start.index() == at.end.index();
                let text = if is_nothing { "".into() } else { text };
                let text = Text {
                    span: span.clone(),
                    written: text.into_owned(),
                    style: style_of(style),
                    one_line,
                    resolution: Resolution::AsWritten,
                };
                self.put(Node { span, value: Value::Scalar(text) }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.open(span, anchor, Value::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.open(span, anchor, Value::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(&span, anchor),
        }
    }

    fn open(&mut self, span: Span, anchor: usize, value: Value) -> Result<(), Fault> {
        if self.stack.len() == DEPTH_MAX {
            return Err(Fault::new(&span, format!("nested deeper than {DEPTH_MAX} levels")));
        }
        self.stack.push(Open { span, anchor, value, key: None });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let Some(open) = self.stack.pop() else { return Ok(()) };
        let value = match open.value {
            Value::Map(entries) => Value::Map(self.merged(entries)),
            other => other,
        };
        self.put(Node { span: open.span, value }, open.anchor)
    }

    fn alias(&mut self, span: &Span, anchor: usize) -> Result<(), Fault> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(Fault::new(span, "the alias refers to something that is not complete here"));
        };
        self.alias_nodes += node.count();
        if ALIAS_NODES_MAX < self.alias_nodes {
            return Err(Fault::new(span, format!("aliases add more than {ALIAS_NODES_MAX} values")));
        }
        self.put(node, 0)
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.stack.last_mut() else {
            if self.root.is_some() {
                return Err(Fault::new(&node.span, "a second document in the same file")
                    .help("one definition is one document; other tables go into files of their own"));
            }
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => {
                // A second one is reported; the first counts, so that what refers to it is not blamed as well.
                let is_second = entries.iter().any(|known| known.key.written == key.written);
                if !is_second || key.written == "<<" {
                    entries.push(Entry { key, value: node });
                }
            }
            (Value::Map(entries), None) => match node.value {
                Value::Scalar(text) => {
                    let earlier = entries.iter().find(|entry| entry.key.written == text.written);
                    if let Some(earlier) = earlier.filter(|_| text.written != "<<") {
                        let what =
                            format!("key '{}' is given twice, first at {}", text.written, earlier.key.span);
                        let help = "leave one out, or give it another name";
                        self.faults.push(Fault::new(&text.span, what).help(help));
                    }
                    open.key = Some(text);
                }
                Value::List(_) | Value::Map(_) => {
                    return Err(Fault::new(&node.span, "a key is a word, not a list or map")
                        .help("text that begins with [ or { is written in quotes"));
                }
            },
            (Value::Scalar(_), _) => {}
        }
        Ok(())
    }

    /// `<<: *defaults` takes the entries of other maps; what is written beside it wins.
    fn merged(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let (merges, mut own): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.key.written == "<<");
        for merge in merges {
            let sources = match &merge.value.value {
                Value::List(items) => items.clone(),
                _ => vec![merge.value.clone()],
            };
            for source in sources {
                let Value::Map(inherited) = source.value else {
                    self.faults.push(Fault::new(&merge.key.span, "'<<' takes a map or a list of maps"));
                    continue;
                };
                for entry in inherited {
                    if !own.iter().any(|known| known.key.written == entry.key.written) {
                        own.push(entry);
                    }
                }
            }
        }
        own
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(text: &str) -> Vec<String> {
        let faults = parse_yaml("t", text).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect()
    }

    fn text_of<'a>(root: &'a Node, key: &str) -> &'a Text {
        root.get(key).and_then(Node::as_text).unwrap()
    }

    #[test]
    fn scalars_stay_as_they_were_written() {
        let root = parse_yaml("t", "a: yes\nb: 0x1F\nc: 'true'\nd: \"x\\ty\"\ne:\nf: ~\n").unwrap();
        let written = |key| text_of(&root, key).written.clone();
        assert_eq!([written("a"), written("b"), written("c"), written("d")], ["yes", "0x1F", "true", "x\ty"]);
        assert!(text_of(&root, "e").is_missing());
        assert_eq!(written("f"), "~");
        assert_eq!(text_of(&root, "c").style, Style::Single);
    }

    #[test]
    fn places_count_from_one_and_go_into_the_text() {
        let root = parse_yaml("t", "list:\n- é = `x`\n- 'it''s b'\n").unwrap();
        let items = root.get("list").and_then(Node::as_list).unwrap();
        let place = |i: usize, offset| {
            let span = items[i].as_text().unwrap().place(Some(offset));
            (span.line, span.column)
        };
        assert_eq!(place(0, 0), (2, 3));
        assert_eq!(place(0, "é = ".len()), (2, 7));
        assert_eq!(place(1, "it's ".len()), (3, 10), "a quote within quotes is written twice");
    }

    #[test]
    fn duplicate_keys_name_both_places() {
        assert_eq!(
            whats("a: 1\nb: {c: 1, c: 2}\na: 2\n"),
            [
                "t:2:11: key 'c' is given twice, first at t:2:5; leave one out, or give it another name",
                "t:3:1: key 'a' is given twice, first at t:1:1; leave one out, or give it another name",
            ]
        );
    }

    #[test]
    fn aliases_and_merges_take_over_what_is_not_written() {
        let root = parse_yaml("t", "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\n").unwrap();
        let value = |key, field| {
            root.get(key).and_then(|map| map.get(field)).and_then(Node::as_text).unwrap().written.clone()
        };
        assert_eq!([value("b", "x"), value("b", "y"), value("c", "y")], ["1", "3", "2"]);
    }

    #[test]
    fn what_grows_without_bound_is_refused() {
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..6 {
            let items = vec![format!("*a{}", i - 1); 10].join(", ");
            laughs.push_str(&format!("a{i}: &a{i} [{items}]\n"));
        }
        assert!(whats(&laughs)[0].contains("aliases add more than"));
        let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
        assert!(whats(&deep)[0].contains("nested deeper"));
        assert!(whats(&format!("a: {}", "x".repeat(BYTES_MAX)))[0].contains("larger than"));
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        assert!(whats("")[0].contains("the file is empty"));
        assert!(whats("a: 1\n---\nb: 2\n")[0].contains("a second document"));
        assert!(whats("a: !secret b\n")[0].contains("tags"));
        assert!(whats("[a]: b\n")[0].contains("a key is a word"));
        assert!(whats("a:\n\t- b\n")[0].starts_with("t:2:"));
        assert!(!whats("a: *nowhere\n").is_empty());
    }
}
