//! What the operating system said, in words for people: without error numbers.

use std::io;

/// Why a file or folder cannot be read or written.
#[must_use]
pub fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is no folder".to_owned(),
        io::ErrorKind::AlreadyExists => "it exists already".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        io::ErrorKind::AddrInUse => "another program uses it".to_owned(),
        io::ErrorKind::AddrNotAvailable => "it is no address of this machine".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_numbers() {
        assert_eq!(io_reason(&io::Error::from_raw_os_error(13)), "permission denied");
        assert_eq!(io_reason(&io::Error::from_raw_os_error(28)), "no space left on device");
    }
}
