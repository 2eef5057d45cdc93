"""A server of completions whose figures are a function of the text, and which records what it is asked.

Each character is a token. The log-probability of a character is a function of the text before it and of itself.
Generated answers come from a table by the digest of the prompt.
"""

import itertools
import json
import threading
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GREEDY_SHARE = 0.9


def fraction(*parts):
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def by_text(text):
    """Returns the log-probability of each character but the first, and that of the most likely one in its place."""
    found = []
    for place in range(1, len(text)):
        before, character = text[max(0, place - 40) : place], text[place]
        logprob = -0.01 - 3.0 * fraction(before, character)
        best = logprob if fraction(before, character, "greedy") < GREEDY_SHARE else logprob / 2
        found.append((logprob, best))
    return found


def echo(text, logprobs):
    """Returns the log-probabilities of a text in the format of the completions API."""
    token_logprobs, top_logprobs = [None], [None]
    for character, (logprob, best) in zip(text[1:], logprobs):
        token_logprobs.append(logprob)
        top_logprobs.append({character: logprob} if best == logprob else {character: logprob, "\0": best})
    return {
        "tokens": list(text),
        "token_logprobs": token_logprobs[: len(text)],
        "top_logprobs": top_logprobs[: len(text)],
        "text_offset": list(range(len(text))),
    }


def cut(text, stops):
    for stop in stops or []:
        if stop:
            text = text.split(stop)[0]
    return text


def between(text, start, end):
    """Returns the lines between the last line with one mark and that with the other."""
    return text.rsplit(start, 1)[1].split("\n", 1)[1].split(end)[0].strip()


def verdict(prompt):
    """Returns what the judge says about an answer, or about two, which say themselves how good they are."""
    if prompt.endswith("WINNER: <A, B or TIE>"):
        answers = [between(prompt, f"[BEGIN ANSWER {name}", f"[END ANSWER {name}") for name in "AB"]
        first, second = (("usual" in answer) + 2 * ("better" in answer) for answer in answers)
        return "WINNER: A" if first > second else "WINNER: B"
    reference, answer = (between(prompt, f"[BEGIN {part}", f"[END {part}") for part in ("REFERENCE", "ANSWER"))
    return "GRADE: CORRECT" if reference == answer else "GRADE: INCORRECT"


class Listener(ThreadingHTTPServer):
    # As many connections wait as gage-host opens at once.
    request_queue_size = 64


class Server:
    """The server, on a free port of this machine."""

    def __init__(self):
        self.requests = []
        self.ids = itertools.count(1)
        self.answers, self.logprobs = lambda prompt: "none", by_text
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # An answer leaves in one piece.
            wbufsize = 1 << 16

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = json.dumps(outer.reply(self.path, body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.http = Listener(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def reply(self, path, body):
        self.requests.append((path, body))
        if path.endswith("/chat/completions"):
            parts = [message["content"] for message in body["messages"]]
            texts = [
                part if isinstance(part, str) else "".join(item.get("text", "") for item in part) for part in parts
            ]
            answers = {"judge": verdict, "baseline": lambda _: "a usual answer"}.get(body["model"], self.answers)
            message = {"role": "assistant", "content": cut(answers("".join(texts)), body.get("stop"))}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            return self.answer(choices)
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        if prompts and isinstance(prompts[0], int):
            prompts = [prompts]
        texts = [prompt if isinstance(prompt, str) else "".join(map(chr, prompt)) for prompt in prompts]
        choices = []
        for index, text in enumerate(texts):
            if body.get("echo"):
                logprobs = echo(text, self.logprobs(text))
                for name, last in (
                    ("tokens", "x"),
                    ("token_logprobs", -1.0),
                    ("top_logprobs", {"x": -1.0}),
                    ("text_offset", len(text)),
                ):
                    logprobs[name].append(last)
                choices.append({"index": index, "text": text + "x", "logprobs": logprobs, "finish_reason": "length"})
            else:
                stop = body.get("stop")
                choices.append({"index": index, "text": cut(self.answers(text), stop), "finish_reason": "stop"})
        return self.answer(choices)

    def answer(self, choices):
        """Returns a body with an id of its own: gage-host asks again if two answers have the same."""
        return {"id": str(next(self.ids)), "choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}

    def take(self):
        """Returns the requests since the last call."""
        found, self.requests = self.requests, []
        return found
