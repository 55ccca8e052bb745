# SPDX-License-Identifier: BSD-3-Clause
"""record.py PORT TARGET FOLDER: passes the requests of kube-scheduler to schedd's extender and writes each with its answer and time."""
import http.client, http.server, itertools, json, sys, time

port, target, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
numbers = itertools.count()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        began = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", target, timeout=10)
            passed = {name: self.headers[name] for name in ("Content-Type", "Authorization") if self.headers[name]}
            connection.request("POST", self.path, body, passed)
            answer = connection.getresponse()
            text, status = answer.read(), answer.status
        except OSError:
            text, status = b"", 503
        took = time.monotonic() - began
        verb = self.path.strip("/").split("/")[-1]
        name = f"{folder}/{next(numbers):05d}.{verb}"
        with open(name + ".request.json", "wb") as file:
            file.write(body)
        with open(name + ".answer.json", "wb") as file:
            file.write(text)
        with open(f"{folder}/times.csv", "a") as file:
            file.write(f"{verb},{len(body)},{took * 1e6:.0f}\n")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
