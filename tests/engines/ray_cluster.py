#!/usr/bin/env python3
"""Runs a suite in shards on a Ray cluster of this machine, which loses a node: python3 ray_cluster.py [PROGRAM].

It needs the package `ray`; tools/test-engines.sh installs it in a virtual environment.

Exit codes: 0 if every check passes, 1 if one fails, 2 if the program is missing.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from workload import RUN_ID, EngineFailure, Workload, done, main, wait_until

SHARDS = 8
LIMIT_S = int(os.environ.get("LIMIT_S", "400"))
# Every machine of a cluster has the same; a token would be written to the home folder.
SETTINGS = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}


def start_cluster(environment):
    """Starts a head without room for tasks, and two nodes."""
    os.environ.update(environment)
    from ray.cluster_utils import Cluster

    common = {"include_dashboard": False, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **common})
    nodes = [cluster.add_node(num_cpus=2, num_gpus=2, **common) for _ in range(2)]
    cluster.wait_for_nodes(timeout=90)
    return cluster, nodes


def check_lost_node(workload, cluster, nodes):
    """Runs the driver, removes a node while shards run on it, and checks the end."""
    driver = workload.folder / f"{RUN_ID}.py"
    driver.write_text(workload.launch("ray", "--gpus", 1, "--parallel", 4))
    log = workload.folder / "driver.log"
    with open(log, "wb") as output:
        running = subprocess.Popen(
            [sys.executable, driver],
            env=workload.environment(RAY_ADDRESS=cluster.address),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: sum(workload.journal_of(shard) for shard in range(1, 5)) == 4, "records of four shards", 180)
        if running.poll() is not None:
            raise EngineFailure(f"the driver ended early\n{log.read_text()}")
        cluster.remove_node(nodes[0], allow_graceful=False)
        done("a node was removed while four shards ran")
        code = running.wait(timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        raise EngineFailure(f"the driver did not end\n{log.read_text()}") from late
    finally:
        if running.poll() is None:
            running.terminate()
            running.wait(timeout=150)
    text = log.read_text()
    if code != 0:
        raise EngineFailure(f"the driver ended with {code}\n{text}")
    missing = [shard for shard in range(1, SHARDS + 1) if f"shard {shard}/{SHARDS}: done" not in text]
    if missing:
        raise EngineFailure(f"the driver did not finish the shards {missing}\n{text}")
    done(f"the driver finished {SHARDS} shards and ended with 0")


def check_cancellation(workload, cluster):
    """Checks that the end of the driver ends the program with SIGTERM, and that the same driver continues."""
    text = (workload.folder / f"{RUN_ID}.py").read_text().replace(RUN_ID, "stopped")
    driver = workload.folder / "stopped.py"
    driver.write_text(text)
    command, environment = [sys.executable, driver], workload.environment(RAY_ADDRESS=cluster.address)
    shards = workload.folder / "runs" / "stopped" / "shards"
    with open(workload.folder / "stopped.log", "wb") as output:
        running = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(lambda: shards.is_dir() and any(shards.glob("*/*journal*")), "a shard to stop", 120)
        running.terminate()
        code = running.wait(timeout=150)
    if code != 130:
        raise EngineFailure(f"the stopped driver ended with {code}\n{(workload.folder / 'stopped.log').read_text()}")
    done("a driver that is stopped ends with 130")
    wait_until(lambda: not programs_of("stopped"), "the end of the programs", 60)
    done("no program is left behind")


def programs_of(run_id):
    """Returns the processes that run a shard of a run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--shard" in words and run_id.encode() in words:
            found.append(int(process.name))
    return found


def check(program):
    """Runs all checks."""
    with tempfile.TemporaryDirectory(prefix="gage-ray-") as folder:
        workload = Workload(folder, program, SHARDS, batches_of_shard=3)
        cluster = None
        try:
            workload.run_undivided()
            cluster, nodes = start_cluster(workload.environment(**SETTINGS))
            done("Ray runs with two nodes")
            check_lost_node(workload, cluster, nodes)
            workload.compare()
            check_cancellation(workload, cluster)
        finally:
            if cluster is not None:
                cluster.shutdown()
            workload.close()


if __name__ == "__main__":
    sys.exit(main("Ray", check))
