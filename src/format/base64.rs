//! BYTES as text. Jackson: the MIME alphabet without line feeds; blanks between groups are skipped,
//! padding is required.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bumpalo::Bump;

use super::misfit::Misfit;

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// The bytes of a text, in `arena`.
pub(super) fn decode<'a>(text: &str, arena: &'a Bump) -> Result<&'a [u8], Misfit> {
    let compact: Vec<u8>;
    let bytes = if text.bytes().any(|b| b <= b' ') {
        compact = text.bytes().filter(|b| *b > b' ').collect();
        &compact
    } else {
        text.as_bytes()
    };
    let decoded = ENGINE.decode(bytes).map_err(|_| Misfit::malformed("is not base64"))?;
    Ok(arena.alloc_slice_copy(&decoded))
}

/// Appends the text of bytes.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let room = base64::encoded_len(bytes.len(), true).unwrap_or(0);
    out.resize(start + room, 0);
    let written = out.get_mut(start..).and_then(|room| ENGINE.encode_slice(bytes, room).ok());
    out.truncate(start + written.unwrap_or(0));
}
