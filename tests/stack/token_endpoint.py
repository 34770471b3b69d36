"""A token endpoint for tests: client credentials in, a token that nobody signed out.

Usage: token_endpoint.py CLIENT_ID CLIENT_SECRET [CERTIFICATE_AND_KEY.pem]

Prints its port on a line and answers until its standard input ends.
"""

import base64
import http.server
import json
import ssl
import sys
import threading
import time

client, secret = sys.argv[1:3]
expected = "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()


def part(claims):
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()


class Endpoint(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != expected:
            return self.answer(401, {"error": "invalid_client"})
        if b"grant_type=client_credentials" not in body:
            return self.answer(400, {"error": "unsupported_grant_type"})
        now = int(time.time())
        claims = {"sub": client, "iat": now, "exp": now + 3600}
        token = f'{part({"alg": "none"})}.{part(claims)}.'
        self.answer(200, {"access_token": token, "token_type": "bearer", "expires_in": 3600})

    def answer(self, code, document):
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
