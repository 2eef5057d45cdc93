#!/usr/bin/env python3
"""Measures memory and speed of a model on a GPU, beside estimates and llama-batched-bench. tools/gpu-check.sh calls it.

    tools/gpu-speed.py MODEL.gguf [--gage-host bin/gage-host] [--batched-bench bench/bin/llama-batched-bench]

Prints two tables, and exits with 1 if a figure is missing. Memory: the estimate of `model inspect`, and what nvidia-smi shows of a run with the same settings beyond
what was used before. Speed: tokens a second of prompts and of answers, 1, 8 and 64 at once. gage-host has two runs of the
same prompts, with one new token and with many; what they differ in is the speed of answers. llama-batched-bench decodes
random tokens and looks at no logits.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

AT_ONCE, PROMPT_TOKENS, NEW_TOKENS = [1, 8, 64], 256, 128
STEP_SECONDS = 120


class MemoryWatch:
    """The largest memory in use, in MiB, while the block runs."""

    def __enter__(self):
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-lms", "100"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.most = 0
        self.thread = threading.Thread(target=self._read)
        self.thread.start()
        return self

    def _read(self):
        # With several GPUs, each has a line; the model is on the first.
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.most = max(self.most, int(line))

    def __exit__(self, *_):
        self.process.terminate()
        self.thread.join()


def memory_used() -> int:
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return max(int(line) for line in subprocess.check_output(command, text=True).split())


def run(program: str, model: str, texts: list[str], folder: Path, new_tokens: int, settings: dict) -> dict:
    """A run of these prompts without a chat template. Returns its timings and the facts about the model."""
    rows = [{"id": str(number), "messages": [{"role": "user", "content": text}]} for number, text in enumerate(texts)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = {"model_path": model, "chat_template": "none", **settings}
    suite = {
        "api_version": "gage/v1alpha1",
        "kind": "PipelineConfig",
        "metadata": {"name": "gpu-speed"},
        "datasets": [{"dataset_id": "prompts", "loader": "jsonl", "params": {"path": str(folder / "prompts.jsonl")}}],
        "backends": [{"backend_id": "model", "type": "llama_cpp", "config": config}],
        "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "model"}],
        "custom": {
            "score_outcomes": ["truncated", "empty_output"],
            "steps": [{"step": "inference"}, {"step": "auto_eval"}],
            "sampling_params": {"temperature": 0, "max_new_tokens": new_tokens},
        },
        "metrics": ["text_length"],
        "tasks": [{"task_id": "prompts", "dataset_id": "prompts"}],
    }
    (folder / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")
    shutil.rmtree(folder / "runs", ignore_errors=True)
    command = [program, "run", "suite.yaml", "--run-id", "r", "--quiet", "--concurrency", str(max(len(texts), 1))]
    subprocess.run(command, cwd=folder, check=True, timeout=STEP_SECONDS)
    return json.loads((folder / "runs/r/timings.json").read_text())


def prompts(count: int) -> list[str]:
    """Texts of about PROMPT_TOKENS tokens that share no beginning."""
    return [f"{number * 7919} " + f"What is {number + 3} plus {number + 5}? " * (PROMPT_TOKENS // 10) for number in range(count)]


def own_speed(program: str, model: str, at_once: int, folder: Path) -> tuple[float, float]:
    settings = {"slots": at_once, "context_length": 1024}
    run(program, model, prompts(at_once), folder, 2, settings)  # the first call on a GPU prepares kernels
    short = run(program, model, prompts(at_once), folder, 1, settings)
    long = run(program, model, prompts(at_once), folder, NEW_TOKENS, settings)
    tokens = long["completion_tokens"] - short["completion_tokens"]
    seconds = max(long["inference_s"] - short["inference_s"], 1e-9)
    return short["prompt_tokens"] / short["inference_s"], tokens / seconds


def bare_speed(program: str, model: str, at_once: int) -> tuple[float, float]:
    cells = at_once * (PROMPT_TOKENS + NEW_TOKENS)
    command = [program, "-m", model, "-c", str(cells), "-b", "512", "-ub", "512", "-ngl", "999", "-npp", str(PROMPT_TOKENS)]
    command += ["-ntg", str(NEW_TOKENS), "-npl", str(at_once), "--output-format", "jsonl"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=STEP_SECONDS)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    [found] = [line for line in lines if line.get("pl") == at_once]
    return found["speed_pp"], found["speed_tg"]


def show_memory(program: str, model: str, folder: Path) -> None:
    inspected = json.loads(subprocess.check_output([program, "model", "inspect", model, "--json"], text=True))
    estimate = inspected["memory"]
    settings = {"slots": estimate["slots"], "context_length": estimate["context_length"]}
    before = memory_used()
    with MemoryWatch() as watch:
        run(program, model, prompts(8), folder, 16, settings)
    mebibytes = estimate["total_bytes"] / 2**20
    used = watch.most - before
    print("| memory | estimate, MiB | nvidia-smi, MiB | ratio |\n| --- | ---: | ---: | ---: |")
    print(f"| {estimate['slots']} slots of {estimate['context_length']} tokens | {mebibytes:.0f} | {used} | {used / mebibytes:.2f} |")
    print("nvidia-smi also counts the context of CUDA and its kernels, about 500 MiB.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--gage-host", default="bin/gage-host")
    parser.add_argument("--batched-bench")
    arguments = parser.parse_args()
    model, program = str(Path(arguments.model).resolve()), str(Path(arguments.gage_host).resolve())
    complete = arguments.batched_bench is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            show_memory(program, model, folder)
        except Exception as error:  # the other table is still of use
            complete = False
            print("memory was not measured:", repr(error), file=sys.stderr)
        print("\n| at once | prompts, tokens/s | llama-batched-bench | answers, tokens/s | llama-batched-bench |")
        print("| ---: | ---: | ---: | ---: | ---: |", flush=True)
        for at_once in AT_ONCE:
            cells = ["-"] * 4
            try:
                cells[0], cells[2] = (f"{rate:.0f}" for rate in own_speed(program, model, at_once, folder))
                if arguments.batched_bench:
                    cells[1], cells[3] = (f"{rate:.0f}" for rate in bare_speed(arguments.batched_bench, model, at_once))
            except Exception as error:
                complete = False
                print(f"{at_once} at once:", repr(error), file=sys.stderr)
            print(f"| {at_once} | {' | '.join(cells)} |", flush=True)
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
