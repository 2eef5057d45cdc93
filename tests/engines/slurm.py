#!/usr/bin/env python3
"""Runs a suite in shards on a Slurm of three nodes on this machine, of which one dies: python3 slurm.py [PROGRAM].

It needs root, and Debian's packages slurmctld, slurmd, slurm-client and munge. All files are in a temporary folder, and
only processes that were started here are ended.

Exit codes: 0 if every check passes, 1 if one fails, 2 if the program is missing.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workload import RUN_ID, EngineFailure, Workload, done, main, wait_until

SHARDS = 12
NODES = 3
MUNGE_SOCKET = Path("/run/munge/munge.socket.2")
LIMIT_S = int(os.environ.get("LIMIT_S", "300"))
CONFIGURATION = """\
ClusterName=gage
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=8
InactiveLimit=0
KillWait=5
MinJobAge=600
Waittime=0
JobRequeue=1
{nodes}
PartitionName=all Nodes=n[1-{count}] Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    """Returns ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Slurm on this machine."""

    def __init__(self, folder, environment):
        self.folder, self.daemons = folder, {}
        self.environment = {**environment, "SLURM_CONF": str(folder / "slurm.conf")}
        for name in ["state", *(f"spool-n{number}" for number in range(1, NODES + 1))]:
            (folder / name).mkdir()
        for number in range(2):
            # A stand-in for a GPU.
            os.mknod(folder / f"nvidia{number}", 0o20666, os.makedev(1, 3))
        (folder / "gres.conf").write_text(f"NodeName=n[1-{NODES}] Name=gpu File={folder}/nvidia[0-1]\n")
        host, ports = socket.gethostname().split(".")[0], free_ports(NODES + 1)
        nodes = "\n".join(
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[number]} CPUs=2 RealMemory=1000 "
            "Gres=gpu:2 State=UNKNOWN"
            for number in range(1, NODES + 1)
        )
        text = CONFIGURATION.format(host=host, ports=ports, folder=folder, nodes=nodes, count=NODES)
        (folder / "slurm.conf").write_text(text)

    def start(self):
        """Starts munged, if it does not run, and the daemons of Slurm."""
        if not MUNGE_SOCKET.is_socket() or self.call("munge", "--no-input", check=False).returncode != 0:
            subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", "-m", "755", "/run/munge"], check=True)
            MUNGE_SOCKET.unlink(missing_ok=True)
            self.start_daemon("munged", ["runuser", "-u", "munge", "--", "munged", "--foreground"])
            wait_until(MUNGE_SOCKET.is_socket, "munged", 20)
        self.start_daemon("slurmctld", ["slurmctld", "-D", "-c"])
        for number in range(1, NODES + 1):
            self.start_daemon(f"n{number}", ["slurmd", "-D", "-N", f"n{number}"])
        wait_until(lambda: self.output("sinfo", "-h", "-t", "idle", "-o", "%D") == str(NODES), "idle nodes", 60)

    def start_daemon(self, name, command):
        """Starts a daemon in the foreground."""
        with open(self.folder / f"{name}.out", "wb") as output:
            self.daemons[name] = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def call(self, *command, check=True):
        """Runs a command of Slurm in the folder of the suite."""
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60}
        ended = subprocess.run(command, env=self.environment, cwd=self.folder.parent, check=False, **options)
        if check and ended.returncode != 0:
            raise EngineFailure(f"{command}: {ended.stdout}{ended.stderr}")
        return ended

    def output(self, *command):
        """Returns what a command of Slurm prints; nothing if it fails."""
        return self.call(*command, check=False).stdout.strip()

    def running(self, job, node=None):
        """Returns the running tasks of an array, each with its own job id."""
        on_node = ["-w", node] if node else []
        lines = self.output("squeue", "-h", "-r", "-t", "R", "-j", job, *on_node, "-o", "%A %K").splitlines()
        return {int(task): own for own, task in (line.split() for line in lines)}

    def field(self, job, name):
        """Returns a field of a job."""
        words = self.output("scontrol", "--oneliner", "show", "job", job).split()
        return next((word.split("=", 1)[1] for word in words if word.startswith(f"{name}=")), "")

    def kill_node(self, node, jobs):
        """Kills the daemon of a node and everything that runs there, as a loss of power does."""
        victims = [self.daemons[node].pid]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                title = (process / "cmdline").read_bytes().decode(errors="replace")
                is_own = self.environment["SLURM_CONF"].encode() in (process / "environ").read_bytes()
            except OSError:
                continue
            if is_own and any(title.startswith(f"slurmstepd: [{job}.") for job in jobs):
                victims.append(int(process.name))
        if len(victims) < 2:
            raise EngineFailure(f"no job step runs on {node}")
        for victim in with_descendants(victims):
            kill(victim, signal.SIGKILL)
        self.daemons[node].wait()

    def stop(self):
        """Cancels all jobs and ends the daemons."""
        if "slurmctld" in self.daemons:
            self.call("scancel", "--full", "--signal=KILL", "--state=RUNNING", "--user=root", check=False)
            self.call("scancel", "--user=root", check=False)
            time.sleep(1)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()


def with_descendants(processes):
    """Returns processes and all that they started."""
    children = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(process.name))
    found, waiting = [], list(processes)
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting.extend(children.get(process, []))
    return found


def kill(process, number):
    """Sends a signal to a process that may have ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def check_restarts(cluster, workload):
    """Submits the script, loses a node and requeues a task. Returns the job that merges."""
    script = workload.folder / f"{RUN_ID}.sh"
    script.write_text(workload.launch("slurm", "--gpus", 1, "--cpus", 1, "--parallel", 5))
    submitted = cluster.call("bash", str(script), "--comment=both jobs").stdout
    job, merge_job = (line.split()[2].rstrip(",") for line in submitted.splitlines()[:2])
    done(f"the script submits {submitted.splitlines()[0]}")
    lost_node = "n2"
    lost = wait_until(lambda: cluster.running(job, lost_node), f"a shard on {lost_node}", 60)
    wait_until(lambda: all(workload.journal_of(shard) for shard in lost), "the records of the shards", 60)
    cluster.kill_node(lost_node, lost.values())
    done(f"the node {lost_node} died with the shards {sorted(lost)}")

    def other_tasks():
        """Returns a task on a node that lives, if one has records."""
        tasks = cluster.running(job).items()
        return next((task for task in tasks if task[0] not in lost and workload.journal_of(task[0])), None)

    requeued, own_job = wait_until(other_tasks, "a shard to requeue", 60)
    cluster.call("scontrol", "requeue", own_job)
    done(f"the shard {requeued} was queued again")
    unfinished = ("", "PENDING", "RUNNING", "COMPLETING")
    wait_until(lambda: cluster.field(merge_job, "JobState") not in unfinished, "the merge", LIMIT_S)
    for shard in [requeued, *lost]:
        restarts = cluster.field(f"{job}_{shard}", "Restarts")
        if restarts in ("", "0"):
            raise EngineFailure(f"the shard {shard} was not started again")
        done(f"the shard {shard} was started {int(restarts) + 1} times")
    return merge_job


def check_cancellation(cluster, workload):
    """Checks that a cancelled task is not queued again by its own script."""
    script = workload.folder / "cancelled.sh"
    script.write_text((workload.folder / f"{RUN_ID}.sh").read_text().replace(RUN_ID, "cancelled"))
    job = cluster.call("bash", str(script)).stdout.split()[2].rstrip(",")
    shard = min(wait_until(lambda: cluster.running(job), "a shard to cancel", 60))
    log = workload.folder / f"cancelled-{shard}.log"
    folder = workload.folder / "runs" / "cancelled" / "shards"
    wait_until(lambda: folder.is_dir() and any(folder.glob(f"{shard:02}-*/*journal*")), "its records", 60)
    cluster.call("scancel", f"{job}_{shard}")
    wait_until(lambda: cluster.field(f"{job}_{shard}", "JobState") == "CANCELLED", "the end of the shard", 60)
    cluster.call("scancel", "--user=root")
    if cluster.field(f"{job}_{shard}", "Restarts") != "0":
        raise EngineFailure(f"the cancelled shard {shard} was started again\n{log.read_text()}")
    done(f"the cancelled shard {shard} stays cancelled")


def check(program):
    """Runs all checks."""
    with tempfile.TemporaryDirectory(prefix="gage-slurm-") as folder:
        workload = Workload(folder, program, SHARDS)
        slurm = Path(folder) / "slurm"
        slurm.mkdir()
        cluster = Cluster(slurm, workload.environment())
        try:
            workload.run_undivided()
            cluster.start()
            done(f"Slurm runs with {NODES} nodes")
            merge_job = check_restarts(cluster, workload)
            code = cluster.field(merge_job, "ExitCode")
            if code != "0:0":
                log = (workload.folder / f"{RUN_ID}-merge.log").read_text()
                raise EngineFailure(f"the merge ended with {code}\n{log}")
            done("the merge ended with 0:0")
            workload.compare()
            check_cancellation(cluster, workload)
        except EngineFailure:
            logs = Path(tempfile.mkdtemp(prefix="gage-slurm-logs-"))
            for file in [*slurm.glob("*.log"), *slurm.glob("*.out"), *Path(folder).glob("*.log")]:
                shutil.copy(file, logs)
            print(f"logs: {logs}", file=sys.stderr)
            raise
        finally:
            cluster.stop()
            workload.close()


if __name__ == "__main__":
    sys.exit(main("Slurm", check))
