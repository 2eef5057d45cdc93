#!/usr/bin/env python3
"""Servers for tools/test-s3.sh.

    tools/test-s3-servers.py model PORT_FILE
    tools/test-s3-servers.py proxy PORT_FILE S3_PORT STALL_FILE

`model` answers as a server of OpenAI's protocol. The answer depends on the question only, and every third one is wrong.
`proxy` passes requests on to a server of S3's protocol. While STALL_FILE exists, it passes one upload on, creates
STALL_FILE.reached, and gives no answer to any further upload.

Both listen at a free port of this machine, which they write to PORT_FILE.
"""

import http.client
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STALL_S = 600
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self, status: int, headers: dict, body: bytes):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "content-length" not in {name.lower() for name in headers}:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Model(Handler):
    def do_POST(self):
        question = json.loads(self.body())["messages"][-1]["content"]
        first, second = (int(number) for number in re.findall(r"\d+", question)[:2])
        answer = first + second + (first % 3 == 0)
        message = {"role": "assistant", "content": str(answer)}
        body = {
            "id": "1",
            "object": "chat.completion",
            "model": "sums",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
        }
        self.answer(200, {"content-type": "application/json"}, json.dumps(body).encode())

    def do_GET(self):
        body = {"object": "list", "data": [{"id": "sums", "object": "model"}]}
        self.answer(200, {"content-type": "application/json"}, json.dumps(body).encode())


class Proxy(Handler):
    port = 0
    stall_file = ""
    uploads = threading.Lock()

    def forward(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        connection.request(self.command, self.path, body=self.content, headers=headers)
        response = connection.getresponse()
        body = response.read()
        kept = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
        if self.command == "HEAD":
            kept["content-length"] = response.getheader("content-length") or "0"
        self.answer(response.status, kept, body)
        connection.close()

    def serve(self):
        self.content = self.body()
        if self.command != "PUT":
            return self.forward()
        reached = self.stall_file + ".reached"
        with self.uploads:
            is_stalled = os.path.exists(self.stall_file)
            is_first = is_stalled and not os.path.exists(reached)
            if is_first:
                self.forward()
                open(reached, "w").close()
        if not is_stalled:
            self.forward()
        elif not is_first:
            time.sleep(STALL_S)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve


def main():
    kind, port_file = sys.argv[1:3]
    if kind == "proxy":
        Proxy.port, Proxy.stall_file = int(sys.argv[3]), sys.argv[4]
    server = ThreadingHTTPServer(("127.0.0.1", 0), {"model": Model, "proxy": Proxy}[kind])
    server.daemon_threads = True
    with open(port_file + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


main()
