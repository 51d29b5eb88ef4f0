"""A real Slurm of two nodes on this machine, with ports, folders and a key of its own. It needs slurm-wlm and munge."""

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

NODES = ("n1", "n2")

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=2
MaxArraySize={array}
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=2
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=8000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


class SlurmCluster:
    """munged, slurmctld and two slurmd; `environment` makes the commands of Slurm speak to them."""

    def __init__(self, folder: Path, array: int = 6) -> None:
        self.folder = folder
        ports = [_free_port() for _ in range(3)]
        text = CONFIGURATION.format(
            host=socket.gethostname(), user=getpass.getuser(), folder=folder, ports=ports, array=array
        )
        (folder / "slurm.conf").write_text(text)
        (folder / "state").mkdir()
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "SlurmCluster":
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        names = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "log-file": "munge.log"}
        names["seed-file"] = "munge.seed"
        options = [f"--{option}={self.folder / name}" for option, name in names.items()]
        self._start("munged", ["munged", "--foreground", "--force", *options])
        _until(lambda: (self.folder / "munge.socket").exists(), "munged")
        self._start("slurmctld", ["slurmctld", "-D", "-c"])
        for node in NODES:
            self.start_node(node)
        _until(lambda: self.said("sinfo", "-h", "-o", "%D %t") == "2 idle", "two idle nodes")
        return self

    def __exit__(self, *_: object) -> None:
        self.said("scancel", "--user", getpass.getuser())
        _until(lambda: not self.said("squeue", "-h"), "an empty queue", 30.0, required=False)
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10.0)
                continue
            process.kill()
            process.wait()

    def start_node(self, node: str) -> None:
        self._start(node, ["slurmd", "-D", "-N", node])

    def kill_node(self, node: str) -> None:
        """As a power failure would: first those who could tell of it, then all that runs there."""
        jobs = _with_environment(f"SLURMD_NODENAME={node}\0".encode(), str(self.folder))
        steps = {parent for pid in jobs if b"slurmstepd" in _read(parent := _parent(pid), "cmdline")}
        for pid in (self.processes[node].pid, *steps, *jobs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.processes.pop(node).wait()

    def said(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | self.environment)
        return done.stdout.strip()

    def _start(self, name: str, command: list[str]) -> None:
        program = shutil.which(command[0], path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        assert program is not None, f"{command[0]} is not installed: apt-get install slurm-wlm munge"
        with open(self.folder / f"{name}.out", "ab") as out:
            environment = os.environ | self.environment
            self.processes[name] = subprocess.Popen([program, *command[1:]], stdout=out, stderr=out, env=environment)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _until(happened, what: str, seconds: float = 60.0, required: bool = True) -> None:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            assert not required, f"no {what} within {seconds:g} s"
            return
        time.sleep(0.1)


def _with_environment(mark: bytes, also: str) -> list[int]:
    return [pid for pid in _processes() if mark in (found := _read(pid, "environ")) and also.encode() in found]


def _parent(pid: int) -> int:
    status = _read(pid, "stat").rpartition(b")")[2].split()
    return int(status[1]) if status else 0


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""
