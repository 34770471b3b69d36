# The image of Lookaside: its program, the libraries that it needs and the certificates of public authorities,
# all from Debian, and nothing else: no shell, no package manager. It runs as an unprivileged user and writes
# nothing, so its root file system may be read-only.
#
#   docker build -t lookaside --build-arg REVISION=$(git rev-parse --short=12 HEAD) .

ARG RUST=docker.io/library/rust:1.95-bookworm
ARG DEBIAN=docker.io/library/debian:bookworm-slim

FROM ${RUST} AS build
RUN command -v cmake >/dev/null \
 || { apt-get update && apt-get install -y --no-install-recommends cmake && rm -rf /var/lib/apt/lists/*; }
WORKDIR /src
COPY . .
# What `lookaside version` says, and how cargo builds.
ARG REVISION=
ARG PROFILE=release
ARG TARGET_DIR=/target
RUN --mount=type=cache,target=/target \
    if [ -n "$REVISION" ]; then export LOOKASIDE_REVISION="$REVISION"; fi \
 && cargo build --locked --profile "$PROFILE" --bin lookaside --target-dir "$TARGET_DIR" \
 && strip -o /lookaside "$TARGET_DIR/$(if [ "$PROFILE" = dev ]; then echo debug; else echo "$PROFILE"; fi)/lookaside"

# The root of the image, put together from Debian's packages.
FROM ${DEBIAN} AS root
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libssl3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /lookaside /usr/bin/lookaside
COPY docker/root.sh /root.sh
RUN sh /root.sh /usr/bin/lookaside /image

FROM scratch
COPY --from=root /image/ /
USER 65532:65532
WORKDIR /
EXPOSE 8080
ENTRYPOINT ["/usr/bin/lookaside"]
CMD ["--help"]
LABEL org.opencontainers.image.title=lookaside \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.description="Enriches an upsert-kafka stream through cached MySQL lookups"
