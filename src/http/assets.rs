//! The files of the page, built into the program.

use std::sync::LazyLock;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// One file.
pub(super) struct Asset {
    /// Where it is served.
    pub path: &'static str,
    content_type: &'static str,
    text: &'static str,
}

/// Every file of the page.
pub(super) const ASSETS: &[Asset] = &[
    Asset { path: "/", content_type: "text/html; charset=utf-8", text: include_str!("page/index.html") },
    Asset { path: "/page.css", content_type: "text/css; charset=utf-8", text: include_str!("page/page.css") },
    Asset { path: "/page.js", content_type: JAVASCRIPT, text: include_str!("page/page.js") },
    Asset { path: "/draw.js", content_type: JAVASCRIPT, text: include_str!("page/draw.js") },
    Asset { path: "/format.js", content_type: JAVASCRIPT, text: include_str!("page/format.js") },
    Asset { path: "/icon.svg", content_type: "image/svg+xml", text: include_str!("page/icon.svg") },
];

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// A tag of all files together: they belong to each other, and change with the program.
static TAG: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    ASSETS.iter().for_each(|asset| hash.update(asset.text));
    let bytes = hash.finalize();
    format!("\"{}\"", bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>())
});

/// Answers with a file, or that the client has it.
pub(super) fn answer(asset: &'static Asset, request: &HeaderMap) -> Response {
    // Asked again each time, so that a new program is never seen through an old page.
    let headers = [(header::ETAG, TAG.as_str()), (header::CACHE_CONTROL, "no-cache")];
    let known = request.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    if known.is_some_and(|tags| tags.contains(TAG.as_str())) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(header::CONTENT_TYPE, asset.content_type)], asset.text).into_response()
}
