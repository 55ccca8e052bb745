# SPDX-License-Identifier: BSD-3-Clause
"""k8s_api.py FOLDER: replays what a Kubernetes API server sends. Lists are FOLDER/{nodes,pods}.json, in pages of two items
as the real one cuts them; a watch sends the lines of FOLDER/{nodes,pods}.watch, also those that are appended later. While
FOLDER/expired is there, watches end with code 410, and lists are asked for again. The port goes to FOLDER/port; the requests
to FOLDER/requests."""
import http.server, json, os, sys, time, urllib.parse

folder = sys.argv[1]
PAGE = 2


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        self.wfile.flush()

    def watch(self, kind):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with open(f"{folder}/{kind}.watch", "rb") as file:
            while not os.path.exists(folder + "/expired"):
                line = file.readline()
                if line:
                    self.chunk(line[:7])  # the line arrives in two parts
                    self.chunk(line[7:])
                else:
                    time.sleep(0.02)
        self.chunk(b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n')
        self.chunk(b"")

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
        kind = url.path.split("/")[-1]
        with open(folder + "/requests", "a") as file:
            file.write(f"{self.path} {self.headers.get('Authorization')}\n")
        if url.path not in ("/api/v1/nodes", "/api/v1/pods"):
            return self.answer(404, {"kind": "Status", "code": 404})
        if "watch" in query:
            return self.watch(kind)
        whole = json.load(open(f"{folder}/{kind}.json"))
        first = int(query.get("continue", "0"))
        whole["metadata"]["continue"] = str(first + PAGE) if first + PAGE < len(whole["items"]) else ""
        whole["items"] = whole["items"][first : first + PAGE]
        self.answer(200, whole)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(folder + "/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(folder + "/port.new", folder + "/port")
try:
    server.serve_forever()
except (BrokenPipeError, ConnectionResetError):
    pass
