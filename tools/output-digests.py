#!/usr/bin/env python3
"""Runs the suites that ship with the project and digests what they write.

A change that keeps behaviour keeps these digests: they cover `samples.jsonl` and `summary.json` of the tiny
suites, and of PIQA and GSM8K on a mock server whose answers depend on the question alone. Version and identity
fields (versions of scorers, prompts and formats, digests of components) are left out of the digests.

    tools/output-digests.py OUT_DIR                    run the suites, keep their run folders in OUT_DIR
    tools/output-digests.py OUT_DIR --program P        the same with another gage-host (default target/debug/gage-host)
    tools/output-digests.py OUT_DIR --against OLD_DIR  also list each JSON field that differs from an earlier OUT_DIR

LOCAL_DATASETS_ROOT names the folder with PIQA and GSM8K; without it those suites are skipped.
"""

import argparse
import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TINY = ["tiny", "tiny_choice", "tiny_perplexity", "tiny_pictures", "tiny_sums", "tiny_words"]
SERVED = ["piqa_openai_http", "gsm8k_openai_http", "gsm8k_judged"]
MAX_SAMPLES = "200"
# Members that name a version or an identity, at any depth.
VERSION_MEMBERS = {
    "digest",
    "format_version",
    "gage_host",
    "host_version",
    "prompt_version",
    "run_id",
    "schema_version",
    "scorer_version",
    "scoring_version",
    "version",
}


class MockServer(http.server.BaseHTTPRequestHandler):
    """Answers chat completions; the answer is a function of the request's messages."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(body["messages"], sort_keys=True)
        pick = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        if "SCORE:" in text:
            answer = ["CORRECT: YES\nSCORE: 1.0", "CORRECT: NO\nSCORE: 0.0", "I cannot say."][pick % 3]
        elif "####" in text:
            answer = f"First, {pick % 7} and {pick % 5}.\n#### {pick % 40}"
        else:
            answer = ["A", "B", "The answer is A.", "(B)", ""][pick % 5]
        reply = {
            "id": f"mock-{pick}",
            "object": "chat.completion",
            "model": "mock",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
            ],
            "usage": {"prompt_tokens": len(text), "completion_tokens": len(answer), "total_tokens": len(text) + len(answer)},
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def without_versions(value):
    if isinstance(value, dict):
        return {k: without_versions(v) for k, v in value.items() if k not in VERSION_MEMBERS}
    if isinstance(value, list):
        return [without_versions(v) for v in value]
    return value


def documents(path):
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def digest(path):
    kept = "\n".join(json.dumps(without_versions(document)) for document in documents(path))
    return hashlib.sha256(kept.encode()).hexdigest()[:16]


def leaves(value, path=""):
    """Yields each JSON path with its value; list positions are written as []."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for member in value:
            yield from leaves(member, f"{path}[]")
    else:
        yield path, value


def differing_fields(new, old):
    fields = set()
    new, old = documents(new), documents(old)
    if len(new) != len(old):
        fields.add(f"{len(old)} documents before, {len(new)} now")
    for a, b in zip(new, old):
        left, right = list(leaves(a)), list(leaves(b))
        if [path for path, _ in left] == [path for path, _ in right]:
            fields.update(path for (path, x), (_, y) in zip(left, right) if json.dumps(x) != json.dumps(y))
        else:
            paths = {path for path, _ in left} ^ {path for path, _ in right}
            fields.update(f"{path} (only on one side)" for path in paths)
            fields.update(path for path, x in set(map(repr_pair, left)) ^ set(map(repr_pair, right)) if path not in paths)
    return sorted(fields)


def repr_pair(pair):
    return pair[0], json.dumps(pair[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target/debug/gage-host")
    parser.add_argument("--against", type=pathlib.Path)
    options = parser.parse_args()
    out = options.out.resolve()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), MockServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "GAGE_HOST_OUTPUT_DIR": str(out)}
    environment["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_address[1]}/v1"
    suites = TINY + (SERVED if "LOCAL_DATASETS_ROOT" in os.environ else [])
    failures = 0
    for suite in suites:
        command = [options.program.resolve(), "run", f"config/custom/{suite}.yaml", "--run-id", suite, "--quiet"]
        if suite in SERVED:
            command += ["--max-samples", MAX_SAMPLES]
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            failures += 1
            print(f"{suite}: exit code {done.returncode}\n{done.stderr}", file=sys.stderr)
            continue
        for name in ["samples.jsonl", "summary.json"]:
            path = out / suite / name
            fields = []
            if options.against:
                fields = differing_fields(path, options.against / suite / name)
            print(f"{digest(path)}  {suite}/{name}" + "".join(f"\n    differs: {field}" for field in fields))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
