"""Answers prompts with xllamacpp, the core of llama-server as a library. Reads a task as JSON from the standard input, and
prints what it took; called by compare.py."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import xllamacpp

task = json.load(sys.stdin)
parameters = xllamacpp.CommonParams()
parameters.model.path = task["model"]
parameters.n_parallel = task["sequences"]
parameters.n_ctx = task["sequences"] * task["cells"]
parameters.cpuparams.n_threads = task["threads"]
parameters.cpuparams_batch.n_threads = task["threads"]
parameters.n_gpu_layers = 0
parameters.verbosity = -1
server = xllamacpp.Server(parameters)


def answer(prompt):
    request = {
        "prompt": prompt,
        "n_predict": task["new_tokens"],
        "temperature": 0,
        "cache_prompt": False,
        "stream": False,
    }
    return server.handle_completions(request)


answer("Before the clock runs")
began = time.monotonic()
with ThreadPoolExecutor(2 * task["sequences"]) as threads:
    replies = list(threads.map(answer, task["prompts"]))
seconds = time.monotonic() - began


def tokens(reply, own, usage):
    return reply[own] if own in reply else reply["usage"][usage]


print(
    json.dumps(
        {
            "seconds": seconds,
            "prompt_tokens": sum(tokens(reply, "tokens_evaluated", "prompt_tokens") for reply in replies),
            "new_tokens": sum(tokens(reply, "tokens_predicted", "completion_tokens") for reply in replies),
        }
    )
)
