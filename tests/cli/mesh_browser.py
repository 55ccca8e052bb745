#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shows what Chromium paints of a heat map: mesh_browser.py URL FOLDER.

Opens the page once, and then prints a line after each change of its heat map: "ROW>COLUMN TEXT #RRGGBB" for each cell,
with ", " between them. The colour is that of a painted pixel. The page as painted is in FOLDER/N.png, N = 1 for the
first line. Runs until SIGTERM. Chromium resolves no name, and so contacts nobody but the server of the URL."""
import base64
import json
import signal
import struct
import subprocess
import sys
import time
import zlib

CELLS = """JSON.stringify([performance.timeOrigin, document.readyState == "complete" && [...document.querySelectorAll("h2")]
    .filter(head => head.textContent.startsWith("Largest"))
    .flatMap(head => [...head.nextElementSibling.querySelectorAll("td")]).map(cell => {
        const box = cell.getBoundingClientRect(), table = cell.closest("table");
        return [cell.parentNode.cells[0].textContent + ">" + table.rows[0].cells[cell.cellIndex].textContent + " " +
            cell.textContent, box.left + 3, box.top + 3];
    })])"""


class Browser:
    def __init__(self, folder):
        # The DevTools protocol: JSON that ends with a NUL byte, in on descriptor 3 and out on 4.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >&2', "sh", "chromium", "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=900,700", "--force-device-scale-factor=1",
             f"--user-data-dir={folder}/profile", "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number, self.session = 0, None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def receive(self):
        text = bytearray()
        while (byte := self.process.stdout.read(1)) != b"\0":
            if not byte:
                sys.exit("chromium ended")
            text += byte
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        while (answer := self.receive()).get("id") != self.number:
            pass
        return answer.get("result", {}) # none of an evaluation while the page is replaced

    def cells(self):
        """The document's time of origin, and [text, x, y] of each cell, or false while it is loading."""
        value = self.call("Runtime.evaluate", expression=CELLS).get("result", {}).get("value")
        return json.loads(value) if value else [None, False]

    def screenshot(self, **clip):
        options = {"clip": dict(clip, width=1, height=1, scale=1)} if clip else {}
        return base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])

    def colour(self, x, y):
        """The only pixel of a PNG: all its filters leave the first pixel as it is."""
        png, at, data = self.screenshot(x=x, y=y), 8, b""
        while at < len(png):
            length, kind = struct.unpack_from(">I4s", png, at)
            data += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
            at += 12 + length
        return "#" + zlib.decompress(data)[1:4].hex()


def main(url, folder):
    browser = Browser(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    shown, count = None, 0
    try:
        browser.call("Page.navigate", url=url)
        while True:
            origin, cells = browser.cells()
            texts = cells and [text for text, _, _ in cells]
            if texts and texts != shown:
                colours = [browser.colour(x, y) for _, x, y in cells]
                png = browser.screenshot()
                if browser.cells()[0] == origin: # all of one document
                    shown, count = texts, count + 1
                    with open(f"{folder}/{count}.png", "wb") as out:
                        out.write(png)
                    print(", ".join(f"{text} {colour}" for text, colour in zip(texts, colours)), flush=True)
            time.sleep(0.1)
    finally:
        browser.process.stdin.close() # ends all of its processes
        browser.process.wait()


main(*sys.argv[1:])
