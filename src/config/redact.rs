//! What was written, without what nobody may read.
//!
//! A reference is shown as a reference; what it stands for is not known here.
//! Passwords that stand in the definition itself become `***`, as a whole value
//! or inside an address.

/// What is shown instead.
const HIDDEN: &str = "***";

/// Pieces of names whose values are secret, whichever connector or client they belong to.
const SECRET_NAMES: [&str; 10] = [
    "password",
    "passphrase",
    "secret",
    "jaas",
    "token",
    "credential",
    "user-info",
    "private.key",
    "key.pem",
    "keystore.key",
];

/// Whether the value of an option or setting of this name is secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|piece| name.contains(piece)) && !name.contains("token.endpoint")
}

/// A value as it may be shown: `written` with its references unresolved.
#[must_use]
pub fn redacted(written: &str, secret: bool) -> String {
    match (secret, sole_reference(written)) {
        (true, Some((reference, _))) if reference.starts_with("file:") => format!("${{{reference}}}"),
        (true, Some((name, None))) => format!("${{{name}}}"),
        (true, Some((name, Some(_)))) => format!("${{{name}:-{HIDDEN}}}"),
        (true, None) => HIDDEN.to_owned(),
        (false, _) => without_credentials(written),
    }
}

/// The name and the default of `${name:-default}`, if the text is that and nothing else.
fn sole_reference(written: &str) -> Option<(&str, Option<&str>)> {
    let inner = written.trim().strip_prefix("${")?.strip_suffix('}')?;
    if inner.contains('}') {
        return None;
    }
    Some(inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default))))
}

/// `scheme://user:***@host/…?password=***`.
fn without_credentials(written: &str) -> String {
    let Some(begin) = written.find("://").map(|at| at + "://".len()) else { return written.to_owned() };
    let (scheme, rest) = written.split_at(begin);
    // To the last @, so that a password that holds one does not get out.
    let rest = match rest.rsplit_once('@') {
        Some((login, address)) => {
            let user = login.split_once(':').map_or(login, |(user, _)| user);
            let password = if login.contains(':') { format!(":{HIDDEN}") } else { String::new() };
            format!("{user}{password}@{address}")
        }
        None => rest.to_owned(),
    };
    format!("{scheme}{}", without_parameter_values(&rest))
}

/// The values of parameters behind `?` whose names are secret.
fn without_parameter_values(rest: &str) -> String {
    let Some((place, query)) = rest.split_once('?') else { return rest.to_owned() };
    let shown = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) if is_secret_name(name) => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    });
    format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_references_shown() {
        assert_eq!(redacted("canary", true), "***");
        assert_eq!(redacted("${file:/run/secrets/p}", true), "${file:/run/secrets/p}");
        assert_eq!(redacted("${env:P}", true), "${env:P}");
        assert_eq!(redacted("${env:P:-canary}", true), "${env:P:-***}");
        assert_eq!(redacted("a${env:P}b", true), "***");
        assert_eq!(redacted("${env:P}canary${env:Q}", true), "***");
        assert_eq!(redacted("${env:TOPIC:-orders}", false), "${env:TOPIC:-orders}");
    }

    #[test]
    fn addresses_lose_their_passwords() {
        let cases = [
            ("mysql://root:canary@h:1/d", "mysql://root:***@h:1/d"),
            ("mysql://root:can@ary/x@h/d", "mysql://root:***@h/d"),
            ("jdbc:mysql://h/d?user=u&password=canary&a=b", "jdbc:mysql://h/d?user=u&password=***&a=b"),
            ("mysql://root@h/d", "mysql://root@h/d"),
            ("mysql://u:${env:P:-canary}@${env:HOST}/d", "mysql://u:***@${env:HOST}/d"),
            ("plain text", "plain text"),
        ];
        for (written, shown) in cases {
            assert_eq!(redacted(written, false), shown);
        }
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "sasl.password",
            "properties.sasl.jaas.config",
            "ssl.key.pem",
            "x.basic-auth.user-info",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["topic", "username", "sasl.oauthbearer.token.endpoint.url", "key.format"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
