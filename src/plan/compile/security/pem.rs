//! PEM texts that were folded onto one line, as they come out of environment variables and secrets.

/// The text with each block on lines of its own, as OpenSSL reads it. A block whose lines are whole stays
/// as it is: its headers, if it has any, need them.
pub(super) fn unfolded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, label, body, after)) = block(rest) {
        out.push_str(before);
        if body.starts_with(['\n', '\r']) {
            out.push_str(&format!("-----BEGIN {label}-----{body}-----END {label}-----"));
        } else {
            let lines: Vec<&str> = body.split_whitespace().collect();
            out.push_str(&format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The first block: what is before it, its label, what is between its marks, what is after it.
fn block(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (body, after) = rest.split_once(&format!("-----END {label}-----"))?;
    Some((before, label, body, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_blocks_get_their_lines_back() {
        let folded = "-----BEGIN CERTIFICATE----- AAAA BBBB -----END CERTIFICATE----- -----BEGIN CERTIFICATE----- CCCC -----END CERTIFICATE-----";
        let expected = "-----BEGIN CERTIFICATE-----\nAAAA\nBBBB\n-----END CERTIFICATE-----\n -----BEGIN CERTIFICATE-----\nCCCC\n-----END CERTIFICATE-----\n";
        assert_eq!(unfolded(folded), expected);
        let whole = "# mine\n-----BEGIN KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END KEY-----\n";
        assert_eq!(unfolded(whole), whole);
        assert_eq!(unfolded("no PEM"), "no PEM");
    }
}
