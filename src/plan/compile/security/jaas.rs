//! `sasl.jaas.config`: `package.Class required name="value" …;`.

/// One login module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Jaas {
    /// The class, without its package: Flink's shaded copies have other packages.
    pub module: String,
    options: Vec<(String, String)>,
}

impl Jaas {
    /// Reads a configuration of one login module; `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().strip_suffix(';')?;
        let (class, rest) = text.trim().split_once(char::is_whitespace)?;
        let (flag, rest) = match rest.trim().split_once(char::is_whitespace) {
            Some((flag, rest)) => (flag, rest),
            None => (rest.trim(), ""),
        };
        let flags = ["required", "requisite", "sufficient", "optional"];
        if !flags.iter().any(|known| flag.eq_ignore_ascii_case(known)) {
            return None;
        }
        let module = class.rsplit('.').next().unwrap_or(class).to_owned();
        Some(Self { module, options: options(rest)? })
    }

    /// The value of an option.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All options.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// `name="value" name='value' name=value`, blanks around each part.
fn options(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = value(after.trim_start())?;
        found.push((name.trim().to_owned(), value));
        rest = after.trim_start();
    }
    found.iter().all(|(name, _)| is_name(name)).then_some(found)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// One value, quoted (`\"` and `\\` unescaped) or up to the next blank, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some(quote) = quote else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (!value.is_empty() && !value.contains(';')).then(|| (value.to_owned(), rest));
    };
    let mut out = String::new();
    let mut rest = text.get(1..)?.char_indices();
    loop {
        match rest.next()?.1 {
            '\\' => out.push(rest.next()?.1),
            c if c == quote => return Some((out, rest.as_str())),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_and_its_options_are_read() {
        let text = r#"org.apache.kafka.common.security.plain.PlainLoginModule required
            username="app" password="a\"b;c=d" other=x;"#;
        let jaas = Jaas::parse(text).unwrap();
        assert_eq!(jaas.module, "PlainLoginModule");
        assert_eq!((jaas.get("username"), jaas.get("password")), (Some("app"), Some("a\"b;c=d")));
        assert_eq!((jaas.get("other"), jaas.get("token")), (Some("x"), None));
        assert_eq!(Jaas::parse("a.B required;").map(|jaas| jaas.module), Some("B".to_owned()));
    }

    #[test]
    fn what_is_no_configuration_of_one_module_is_refused() {
        for text in [
            "",
            ";",
            "a.B;",
            "a.B username=\"u\";",
            "a.B required username=\"u\"",
            "a.B required username=\"u;",
            "a.B required username;",
            "a.B required u=\"v\"; a.C required u=\"v\";",
            "a.B required u=;",
        ] {
            assert_eq!(Jaas::parse(text), None, "{text}");
        }
    }
}
