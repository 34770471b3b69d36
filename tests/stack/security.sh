# Sourced by stack.sh: certificates, users and listeners with which tests log in to the broker.
#
#   SASL_SSL        PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER (tokens that nobody signed) over TLS
#   SASL_PLAINTEXT  the same without TLS
#   SSL             TLS with a certificate of the client
#
# The folder that LOOKASIDE_TEST_SECURITY names holds what a client needs, and `listeners` with the addresses.

# A user of the broker for each mechanism, and its password.
kafka_user=app
kafka_password=app-secret

make_certificates() { # folder
  need openssl openssl
  mkdir -p "$1"
  (
    cd "$1"
    quiet() { "$@" >openssl.log 2>&1 || { cat openssl.log >&2; exit 1; }; }
    quiet openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=lookaside test CA' -keyout ca.key -out ca.pem
    certificate() { # name extension
      quiet openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
      printf '%s\n' "$2" >"$1.ext"
      quiet openssl x509 -req -days 2 -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -extfile "$1.ext" -out "$1.crt"
      # The broker reads PKCS#8 keys alone; librdkafka reads them too.
      cat "$1.key" "$1.crt" ca.pem >"$1.pem"
    }
    # Not for "localhost": a client that connects to that name must refuse.
    certificate broker 'subjectAltName=IP:127.0.0.1'
    certificate client 'extendedKeyUsage=clientAuth'
    quiet openssl pkcs12 -export -inkey client.key -in client.crt -certfile ca.pem -passout pass:store-secret -out client.p12
    quiet openssl pkcs8 -topk8 -in client.key -passout pass:key-secret -out client-encrypted.key
  ) || die 'the certificates for the broker could not be made'
}

# Settings of the broker, for server.properties; the PLAINTEXT and CONTROLLER listeners are stack.sh's.
security_settings() { # folder
  local listener jaas=org.apache.kafka.common.security
  cat <<CONF
ssl.keystore.type=PEM
ssl.keystore.location=$1/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location=$1/ca.pem
listener.name.ssl.ssl.client.auth=required
CONF
  for listener in sasl_ssl sasl_plaintext; do
    cat <<CONF
listener.name.$listener.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.$listener.plain.sasl.jaas.config=$jaas.plain.PlainLoginModule required user_$kafka_user="$kafka_password";
listener.name.$listener.scram-sha-256.sasl.jaas.config=$jaas.scram.ScramLoginModule required;
listener.name.$listener.scram-sha-512.sasl.jaas.config=$jaas.scram.ScramLoginModule required;
listener.name.$listener.oauthbearer.sasl.jaas.config=$jaas.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
CONF
  done
}
