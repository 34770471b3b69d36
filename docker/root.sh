#!/bin/sh
# Puts the root of the image together: root.sh PROGRAM FOLDER
set -eu
program=$1 out=$2

copy() { # path: the file where it is, links followed, as the loader and OpenSSL look for it
  mkdir -p "$out$(dirname "$1")"
  cp -L "$1" "$out$1"
}

# Debian's /bin and /lib are links into /usr.
mkdir -p "$out/usr/bin" "$out/usr/lib" "$out/usr/lib64" "$out/etc/ssl" "$out/usr/lib/ssl" "$out/tmp"
ln -s usr/bin "$out/bin"
ln -s usr/lib "$out/lib"
ln -s usr/lib64 "$out/lib64"
chmod 1777 "$out/tmp"

copy "$program"
# The libraries and the loader: every path that ldd names.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do copy "$library"; done

# OpenSSL: its configuration, the certificates of public authorities, ciphers of old PKCS12 stores (ssl.providers).
copy /etc/ssl/openssl.cnf
copy /etc/ssl/certs/ca-certificates.crt
ln -s /etc/ssl/openssl.cnf "$out/usr/lib/ssl/openssl.cnf"
ln -s /etc/ssl/certs "$out/usr/lib/ssl/certs"
ln -s certs/ca-certificates.crt "$out/etc/ssl/cert.pem"
ln -s /etc/ssl/cert.pem "$out/usr/lib/ssl/cert.pem"
for legacy in /usr/lib/*/ossl-modules/legacy.so; do copy "$legacy"; done

# Names: /etc/hosts first, as everywhere.
echo 'hosts: files dns' >"$out/etc/nsswitch.conf"
echo 'lookaside:x:65532:65532:lookaside:/:/usr/sbin/nologin' >"$out/etc/passwd"
echo 'lookaside:x:65532:' >"$out/etc/group"
copy /etc/os-release
# What is in the image, for scanners: the packages that its files come from.
mkdir -p "$out/var/lib/dpkg/status.d"
for package in libc6 libgcc-s1 libssl3 ca-certificates base-files; do
  dpkg-query -s "$package" >"$out/var/lib/dpkg/status.d/$package"
done
