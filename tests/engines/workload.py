"""The suite that the engines run in shards, and the checks that they share."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Rows of a scoring batch: the unit that shards get.
BATCH_ROWS = 32
RUN_ID = "sharded"
# Requests in flight of each shard, and the time of an answer: a shard of two batches runs for some seconds.
CONCURRENCY = 2
ANSWER_S = 0.2
# A suite whose name a script could misread.
SUITE = "it's a $(suite).yaml"
RESULTS = ["samples.jsonl", "summary.json"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).resolve().parents[2] / "target"))


class EngineFailure(Exception):
    """A check failed."""


class ModelServer(BaseHTTPRequestHandler):
    """Answers `question 7` with `answer 7`, after a while."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = request["messages"][-1]["content"]
        text = question if isinstance(question, str) else question[0]["text"]
        time.sleep(self.server.answer_s)
        message = {"role": "assistant", "content": text.replace("question", "answer")}
        reply = {
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Prints nothing."""


class QuietServer(ThreadingHTTPServer):
    """A server whose clients are killed."""

    daemon_threads = True

    def handle_error(self, *_):
        """Prints nothing."""


class Workload:
    """A folder with a suite, a model server on loopback, and the program."""

    def __init__(self, folder, program, shards, batches_of_shard=2):
        self.folder, self.program, self.shards = Path(folder), Path(program).resolve(), shards
        self.server = QuietServer(("127.0.0.1", 0), ModelServer)
        self.server.answer_s = 0.0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        rows = shards * batches_of_shard * BATCH_ROWS
        lines = [
            json.dumps({"id": f"q{number}", "question": f"question {number}", "answer": f"answer {number}"}) + "\n"
            for number in range(rows)
        ]
        (self.folder / "rows.jsonl").write_text("".join(lines))
        address = f"http://127.0.0.1:{self.server.server_port}/v1"
        model = f"model: {{name: 'openai:small', base_url: '{address}'}}"
        suite = f"datasets: [rows.jsonl]\nmetrics: [exact_match]\n{model}\n"
        (self.folder / SUITE).write_text(suite)

    def environment(self, **variables):
        """Returns an environment in which `gage-host` is the program."""
        path = f"{self.program.parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "NO_PROXY": "127.0.0.1", **variables}

    def run(self, *arguments, code=0):
        """Runs the program to its end, and returns its standard output."""
        ended = subprocess.run(
            [self.program, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if ended.returncode != code:
            raise EngineFailure(f"{arguments}: code {ended.returncode}, expected {code}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def run_undivided(self):
        """Runs the suite in one process; its run is in `undivided`."""
        self.run("run", SUITE, "--run-id", RUN_ID, "--output-dir", "undivided", "--quiet")
        self.server.answer_s = ANSWER_S
        done("the undivided run is complete")

    def launch(self, engine, *arguments):
        """Returns what `launch` prints."""
        common = ["--shards", self.shards, "--run-id", RUN_ID, "--concurrency", CONCURRENCY]
        return self.run("launch", engine, SUITE, *common, *arguments)

    def journal_of(self, shard):
        """Returns whether a shard has recorded something."""
        width = max(2, len(str(self.shards)))
        folder = self.folder / "runs" / RUN_ID / "shards" / f"{shard:0{width}}-of-{self.shards:0{width}}"
        files = [*folder.glob("journal*"), *folder.glob("journal/*")]
        return any(file.is_file() and file.stat().st_size for file in files)

    def compare(self):
        """Checks that the merged run has the bytes of the undivided one."""
        for name in RESULTS:
            merged = self.folder / "runs" / RUN_ID / name
            if not merged.is_file():
                raise EngineFailure(f"the merged run has no {name}")
            if merged.read_bytes() != (self.folder / "undivided" / RUN_ID / name).read_bytes():
                raise EngineFailure(f"{name} of the merged run differs from the undivided one")
            done(f"{name} has the bytes of the undivided run")

    def close(self):
        """Ends the server."""
        self.server.shutdown()
        self.server.server_close()


def done(text):
    """Prints a check that passed."""
    print(f"ok: {text}", flush=True)


def wait_until(is_true, what, limit_s):
    """Waits for a condition, and returns its value."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        value = is_true()
        if value:
            return value
        time.sleep(0.2)
    raise EngineFailure(f"{what} did not happen within {limit_s} s")


def main(engine, check):
    """Runs the check of an engine with the program of the command line. Returns the exit code."""
    program = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GAGE_HOST", TARGET / "debug" / "gage-host"))
    if not program.is_file():
        print(f"error: there is no program {program}; `make build` builds it", file=sys.stderr)
        return 2
    # `timeout` stops this script with SIGTERM. What it started must then end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check(program)
    except (EngineFailure, subprocess.TimeoutExpired) as failure:
        print(f"FAILED: {engine}: {failure}", file=sys.stderr)
        return 1
    done(f"{engine}: all checks passed")
    return 0
