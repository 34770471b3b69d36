//! MD5 and SHA256: digests of the UTF-8 form, as lower-case hexadecimal text.

use bumpalo::Bump;
use sha2::Digest;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// MD5: 32 hexadecimal digits.
pub fn md5<'a>(text: &str, arena: &'a Bump) -> &'a str {
    hex(&md5::Md5::digest(text.as_bytes()), arena)
}

/// SHA256: 64 hexadecimal digits.
pub fn sha256<'a>(text: &str, arena: &'a Bump) -> &'a str {
    hex(&sha2::Sha256::digest(text.as_bytes()), arena)
}

fn hex<'a>(bytes: &[u8], arena: &'a Bump) -> &'a str {
    let mut out = bumpalo::collections::String::with_capacity_in(bytes.len() * 2, arena);
    for byte in bytes {
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 0xf)]));
    }
    out.into_bump_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_abc() {
        let arena = Bump::new();
        assert_eq!(md5("abc", &arena), "900150983cd24fb0d6963f7d28e17f72");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256("abc", &arena), expected);
    }
}
