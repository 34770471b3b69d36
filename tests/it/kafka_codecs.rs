//! Codecs on the real broker: batches that Java compressed are read, and what the sink compresses Java reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::replica::Replica;
use crate::stack;
use crate::topic::{self, Writer};

/// `compression.type`, and its number in the attributes of a record batch.
const CODECS: &[(&str, u8)] = &[("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)];

/// Where the attributes of a batch are: behind offset, length, epoch, magic and checksum.
const ATTRIBUTES: usize = 8 + 4 + 4 + 1 + 4;
const CODEC_BITS: u8 = 0b111;

const ROWS: i32 = 50;

/// Codec of the first batch of a topic's partition 0, as it lies on the broker's disk.
fn codec_on_disk(topic: &str) -> u8 {
    let segment = PathBuf::from(stack::kafka_logs()).join(format!("{topic}-0/00000000000000000000.log"));
    let bytes = std::fs::read(&segment).unwrap_or_else(|error| panic!("{}: {error}", segment.display()));
    bytes[ATTRIBUTES + 1] & CODEC_BITS
}

/// The broker compresses what comes into the source topic; it reads what the sink wrote before it takes it.
fn is_read_and_written(codec: &str, number: u8) {
    let [source, sink] = ["", "-sink"].map(|part| topic::unique(&format!("codec-{codec}{part}")));
    topic::create_with(&source, 1, &[("compression.type", codec)]);
    topic::create(&sink, 1);
    let writer = Writer::new(&source);
    for id in 0..ROWS {
        writer.send(
            &format!("{{\"id\":{id}}}"),
            Some(&format!("{{\"id\":{id},\"s\":\"{}\"}}", "x".repeat(100))),
        );
    }
    writer.flush();
    assert_eq!(codec_on_disk(&source), number, "the broker compressed the source with {codec}");

    let kafka = stack::kafka();
    let columns = "[id INT NOT NULL, s STRING, PRIMARY KEY (id) NOT ENFORCED]";
    let definition = format!(
        "name: {source}
tables:
  src:
    connector: upsert-kafka
    topic: {source}
    properties.bootstrap.servers: {kafka}
    key.format: json
    value.format: json
    scan.bounded.mode: latest-offset
    columns: {columns}
  out:
    connector: upsert-kafka
    topic: {sink}
    properties.bootstrap.servers: {kafka}
    properties.compression.type: {codec}
    key.format: json
    value.format: json
    columns: {columns}
pipeline: {{from: src, into: out}}
"
    );
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("definition.yaml");
    std::fs::write(&path, definition).expect("definition");
    let mut replica = Replica::start(folder.path(), codec, &path);
    let status = replica.wait_exit(Duration::from_secs(60));
    assert_eq!(status.code(), Some(0), "{}", replica.log_text());
    let [read, written] = [&source, &sink].map(|topic| topic::compacted(&topic::read_all(topic)));
    assert_eq!(read.len(), usize::try_from(ROWS).expect("few rows"));
    assert!(read == written, "{codec}: other rows were written than read");
    assert_eq!(codec_on_disk(&sink), number, "the sink compressed with {codec}");
}

#[test]
fn every_codec_is_read_and_written() {
    for (codec, number) in CODECS {
        is_read_and_written(codec, *number);
    }
}
