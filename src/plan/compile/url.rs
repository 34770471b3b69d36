//! Addresses of databases: `mysql://host:port/database`, `sqlite:/path/to/file.db`, and the forms of the Java drivers.

/// What an address says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerUrl {
    pub host: String,
    pub port: u16,
    pub database: String,
    pub username: Option<String>,
    pub password: Option<String>,
    /// Whether to encrypt, where a parameter says so: `sslMode` counts before `useSSL`, as for the Java driver.
    pub tls: Option<bool>,
    /// Parameters of the Java driver that do nothing here.
    pub ignored: Vec<String>,
}

/// Port of the MySQL protocol.
const PORT: u16 = 3306;
const SQLITE_FORM: &str = "write sqlite:/path/to/file.db";
const FORM: &str = "write mysql://host:port/database or jdbc:mysql://host:port/database";

/// Reads an address.
///
/// # Errors
/// What is wrong, and what to do; neither holds any part of the address, which may be secret.
pub(super) fn parse(url: &str) -> Result<ServerUrl, (String, String)> {
    let wrong = |what: &str| (format!("the url {what}"), FORM.to_owned());
    let rest = url.trim();
    let rest = rest.strip_prefix("jdbc:").unwrap_or(rest);
    if rest.starts_with("sqlite:") {
        let help = "a SQLite file has a connector of its own: write connector: sqlite";
        return Err(("the url names a SQLite file".to_owned(), help.to_owned()));
    }
    let Some((scheme, rest)) = rest.split_once("://") else { return Err(wrong("has no '://'")) };
    match scheme {
        "mysql" | "mariadb" => {}
        "postgresql" | "postgres" | "oracle:thin" | "sqlserver" => {
            return Err((format!("databases of kind '{scheme}' are not supported yet"), FORM.to_owned()));
        }
        _ => return Err(wrong("does not begin with mysql:// or jdbc:mysql://")),
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (address, database) = place.split_once('/').unwrap_or((place, ""));
    if database.is_empty() || database.contains('/') {
        return Err(wrong("names no database"));
    }
    let (credentials, address) = match address.rsplit_once('@') {
        Some((credentials, address)) => (Some(credentials), address),
        None => (None, address),
    };
    if address.contains(',') {
        return Err((
            "the url names several hosts".to_owned(),
            "one host is asked; put a proxy in front of several".to_owned(),
        ));
    }
    let (host, port) = host_and_port(address).ok_or_else(|| wrong("has no usable host and port"))?;
    let (username, password) = match credentials {
        Some(credentials) => {
            let (user, password) =
                credentials.split_once(':').map_or((credentials, None), |(u, p)| (u, Some(p)));
            (Some(decoded(user)), password.map(decoded))
        }
        None => (None, None),
    };
    let database = decoded(database);
    let mut server = ServerUrl { host, port, database, username, password, tls: None, ignored: Vec::new() };
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        take_parameter(&mut server, name, value)?;
    }
    Ok(server)
}

/// Reads the address of a SQLite file: its path.
///
/// # Errors
/// What is wrong, and what to do.
pub(super) fn sqlite_path(url: &str) -> Result<String, (String, String)> {
    let wrong = |what: &str| Err((format!("the url {what}"), SQLITE_FORM.to_owned()));
    let rest = url.trim();
    let rest = rest.strip_prefix("jdbc:").unwrap_or(rest);
    let Some(path) = rest.strip_prefix("sqlite:") else { return wrong("does not begin with sqlite:") };
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.contains('?') {
        return wrong("has parameters, and a SQLite file takes none: it is opened for reading only");
    }
    if path.is_empty() || path.starts_with(":memory:") {
        return wrong("names no file: a database in memory is another one for each connection");
    }
    let path = decoded(path);
    if path.contains('\0') { wrong("names no usable path") } else { Ok(path) }
}

fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = match address.strip_prefix('[') {
        // [::1]:3306
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => PORT,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Parameters of the Java driver: most steer the driver itself; those that promise
/// something which is not kept here are refused.
fn take_parameter(server: &mut ServerUrl, name: &str, value: &str) -> Result<(), (String, String)> {
    let value_is = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    let refused = |what: String, help: &str| Err((what, help.to_owned()));
    match name {
        // Kept as they ask: text is UTF-8, and nothing is verified.
        "useUnicode" | "characterEncoding" | "charset" if value_is(&["true", "utf-8", "utf8", "utf8mb4"]) => {
        }
        "useSSL" if value_is(&["false"]) => server.tls = server.tls.or(Some(false)),
        "requireSSL" | "verifyServerCertificate" if value_is(&["false"]) => {}
        "sslMode" | "ssl-mode" if value_is(&["PREFERRED", "DISABLED"]) => {
            server.tls = Some(value_is(&["PREFERRED"]));
        }
        "user" => server.username = Some(decoded(value)),
        "password" => server.password = Some(decoded(value)),
        "characterEncoding" | "charset" => {
            return refused(format!("url parameter '{name}' must be utf-8"), "text is UTF-8 here");
        }
        "useSSL" | "requireSSL" | "verifyServerCertificate" if value_is(&["true"]) => {
            return refused(
                format!("url parameter '{name}' is not supported yet"),
                "without it an encrypted connection is used where the server offers one, unverified",
            );
        }
        "sslMode" | "ssl-mode" => {
            return refused(
                format!("url parameter '{name}' must be PREFERRED or DISABLED"),
                "verified connections are not supported yet",
            );
        }
        _ => server.ignored.push(name.to_owned()),
    }
    Ok(())
}

/// `%40` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = (first == b'%').then(|| tail.first_chunk::<2>()).flatten();
        let byte = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> (String, u16, String) {
        let server = parse(url).unwrap();
        (server.host, server.port, server.database)
    }

    #[test]
    fn a_sqlite_file_is_named_by_its_path() {
        let path = |url: &str| sqlite_path(url).unwrap();
        assert_eq!(path("sqlite:/data/shop.db"), "/data/shop.db");
        assert_eq!(path("sqlite:///data/shop.db"), "/data/shop.db");
        assert_eq!(path("jdbc:sqlite:shop%20two.db"), "shop two.db");
        assert_eq!(path("sqlite://shop.db"), "shop.db");
        for wrong in ["", "shop.db", "sqlite:", "sqlite::memory:", "mysql://h/d", "sqlite:a.db?mode=ro"] {
            assert!(sqlite_path(wrong).is_err(), "{wrong}");
        }
        assert!(parse("jdbc:sqlite:shop.db").unwrap_err().1.contains("connector: sqlite"));
    }

    #[test]
    fn both_forms_are_read() {
        let expected = ("localhost".to_owned(), 3306, "mqTest".to_owned());
        assert_eq!(place("mysql://localhost:3306/mqTest"), expected);
        assert_eq!(place("jdbc:mysql://localhost/mqTest"), expected);
        let server = parse(
            "jdbc:mysql://localhost:3306/mqTest?useUnicode=true&characterEncoding=utf-8&autoReconnect=true",
        )
        .unwrap();
        assert_eq!(server.ignored, ["autoReconnect"]);
        assert_eq!(place("mysql://[::1]:3307/db"), ("::1".to_owned(), 3307, "db".to_owned()));
    }

    #[test]
    fn encryption_is_what_the_parameters_say() {
        let tls = |parameters: &str| {
            let server = parse(&format!("jdbc:mysql://db/d?{parameters}")).unwrap();
            assert!(server.ignored.is_empty(), "{parameters} is kept, not ignored");
            server.tls
        };
        assert_eq!(tls(""), None);
        assert_eq!(tls("useSSL=false&verifyServerCertificate=false"), Some(false));
        assert_eq!(tls("sslMode=disabled"), Some(false));
        assert_eq!(tls("ssl-mode=PREFERRED"), Some(true));
        assert_eq!(tls("sslMode=PREFERRED&useSSL=false"), Some(true));
        assert_eq!(tls("useSSL=false&sslMode=PREFERRED"), Some(true));
        for refused in ["useSSL=true", "requireSSL=true", "sslMode=REQUIRED", "sslMode=VERIFY_CA"] {
            assert!(parse(&format!("jdbc:mysql://db/d?{refused}")).is_err(), "{refused}");
        }
    }

    #[test]
    fn credentials_are_taken_out() {
        let server = parse("mysql://root:p%40ss@db:1/d").unwrap();
        assert_eq!((server.username.as_deref(), server.password.as_deref()), (Some("root"), Some("p@ss")));
        let server = parse("jdbc:mysql://db/d?user=u&password=p").unwrap();
        assert_eq!((server.username.as_deref(), server.password.as_deref()), (Some("u"), Some("p")));
    }

    #[test]
    fn faults_do_not_repeat_the_address() {
        let faulty = [
            "canary",
            "mysql://canary",
            "mysql://u:canary@/db",
            "jdbc:postgresql://u:canary@h/db",
            "mysql://h:canary/db",
            "mysql://u:canary@h/db?sslMode=VERIFY_CA",
            "jdbc:mysql://u:canary@h/db?characterEncoding=latin1",
        ];
        for url in faulty {
            let (what, help) = parse(url).unwrap_err();
            assert!(!what.contains("canary") && !help.contains("canary"), "{what}");
        }
    }
}
