#!/usr/bin/env python3
"""Checks the manifests for Kubernetes, and runs the commands of their pods: python3 kubernetes.py [PROGRAM].

It needs the package `kubernetes-validate`, which tools/test-engines.sh installs. It needs no cluster.

Exit codes: 0 if every check passes, 1 if one fails, 2 if the program is missing.
"""

import itertools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from workload import RUN_ID, SUITE, EngineFailure, Workload, done, main

SHARDS = 3
VERSIONS = ["1.33", "1.37"]
IMAGE = ["--image", "registry.example/gage-host:0.1.0"]
CLAIM = ["--storage", "evals"]
BUCKET = ["--storage", "s3://evals/team", "--output-dir", "/runs"]
OPTIONS = [["--parallel", 2], ["--gpus", 1], ["--cpus", 4], ["--locked"]]


def expanded(word, variables):
    """Returns a word of a container's command as Kubernetes passes it on."""

    def value(match):
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", value, word)


def combinations():
    """Returns every combination of options."""
    for storage in [CLAIM, BUCKET]:
        for count in range(len(OPTIONS) + 1):
            for chosen in itertools.combinations(OPTIONS, count):
                yield [*IMAGE, *storage, *itertools.chain(*chosen)]


def validate(manifest, options):
    """Validates a manifest against the schemas of Kubernetes."""
    tool = Path(sys.executable).with_name("kubernetes-validate")
    for version in VERSIONS:
        ended = subprocess.run([tool, "-k", version, "--strict", manifest], capture_output=True, text=True, timeout=60)
        if ended.returncode != 0:
            reason = f"{ended.stdout}{ended.stderr}\n{manifest.read_text()}"
            raise EngineFailure(f"{options}: Kubernetes {version}: {reason}")


def check_misspelled(text, folder):
    """Checks that the validation would find a misspelled field."""
    manifest = folder / "misspelled.yaml"
    manifest.write_text(text.replace("completionMode", "completionMod"))
    try:
        validate(manifest, "misspelled")
    except EngineFailure:
        return done("a misspelled field is found")
    raise EngineFailure("the validation accepts a misspelled field")


def run_pods(workload, text):
    """Runs the commands of all pods, and then that of the merge."""
    shards, merge = yaml.safe_load_all(text)
    command = container(shards)["command"]
    for index in range(shards["spec"]["completions"]):
        run_pod(workload, command, {"JOB_COMPLETION_INDEX": str(index)})
        done(f"the pod with the index {index} ends with 0")
    if merge["spec"]["suspend"] is not True:
        raise EngineFailure("the merge does not wait")
    run_pod(workload, container(merge)["command"], {})
    done("the pod of the merge ends with 0")


def container(job):
    """Returns the container of a Job."""
    [only] = job["spec"]["template"]["spec"]["containers"]
    return only


def run_pod(workload, command, variables):
    """Runs the command of a pod in the folder of the claim."""
    program, *arguments = [expanded(word, variables) for word in command]
    if program != "gage-host":
        raise EngineFailure(f"the pod runs {program}")
    workload.run(*arguments)


def check(program):
    """Runs all checks."""
    with tempfile.TemporaryDirectory(prefix="gage-kubernetes-") as folder:
        workload = Workload(folder, program, SHARDS)
        try:
            manifest = workload.folder / f"{RUN_ID}.yaml"
            workload.run("lock", SUITE)
            count = 0
            for options in combinations():
                manifest.write_text(workload.launch("kubernetes", *options))
                validate(manifest, options)
                count += 1
            done(f"{count} manifests are valid for Kubernetes {' and '.join(VERSIONS)}")
            text = workload.launch("kubernetes", *IMAGE, *CLAIM)
            check_misspelled(text, workload.folder)
            workload.run_undivided()
            run_pods(workload, text)
            workload.compare()
        finally:
            workload.close()


if __name__ == "__main__":
    sys.exit(main("Kubernetes", check))
