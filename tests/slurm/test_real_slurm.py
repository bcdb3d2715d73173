"""Jobs that really fail on a real Slurm, found by their time and attributed by ``attribution run``.

``make slurm`` starts Slurm and runs these; without it they are skipped. ``ATTRIBUTION_SLURM_KINDS`` picks some kinds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("ATTRIBUTION_REAL_SLURM") != "1", reason="needs the Slurm that `make slurm` starts"
)
NODE = "node1"
WHOLE = 240
AGAIN = """if [ -n "$SLURM_RESTART_COUNT" ]; then
    exec python3 -c 'raise FileNotFoundError("checkpoint of the first attempt")'
fi
scontrol requeue $SLURM_JOB_ID
sleep 60"""


@dataclass(frozen=True)
class Kind:
    """A way to fail, and what is expected of its verdict: written down before the jobs run."""

    script: str
    state: str
    terminal_state: str
    sub_domain: str
    nodes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    element: str = ""
    """The part of an array that fails: ``_2``."""
    attempt: int = 0
    output: str = "%x-%j.out"


KINDS = {
    "exitcode": Kind(
        "srun python3 -c 'raise ValueError(\"learning rate is negative\")'", "FAILED", "fail", "application"
    ),
    # The kernel kills what the batch script runs: Slurm's own state says so.
    "oom": Kind("python3 {folder}/oom.py", "OUT_OF_MEMORY", "fail", "application", options=("--mem=100",)),
    # The same in a step: the step is OUT_OF_MEMORY, the job only failed.
    "oomstep": Kind("srun python3 {folder}/oom.py", "FAILED", "fail", "application", options=("--mem=100",)),
    "timelimit": Kind("srun sleep 600", "TIMEOUT", "timeout", "none", options=("--time=1",)),
    "scancel": Kind("srun sleep 600", "CANCELLED by 0", "cancelled", "none"),
    # A segmentation fault without a stack names nobody's code.
    "segfault": Kind("srun python3 -c 'import ctypes; ctypes.string_at(0)'", "FAILED", "fail", "ambiguous"),
    # One element of three fails; the others are no failures.
    "array": Kind(
        "[ $SLURM_ARRAY_TASK_ID != 2 ] || python3 -c 'raise IndexError(\"shard 2 has no samples\")'",
        "FAILED",
        "fail",
        "application",
        options=("--array=1-3",),
        element="_2",
        output="%x-%A_%a.out",
    ),
    # The second component fails; both are one job.
    "het": Kind(
        "#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --ntasks=1\n"
        "srun --het-group=0 true\nsrun --het-group=1 python3 -c 'raise KeyError(\"reward model\")'",
        "FAILED",
        "fail",
        "application",
    ),
    # It is requeued by its own script, and fails when it runs again.
    "requeued": Kind(AGAIN, "CANCELLED", "cancelled", "none"),
    "again": Kind(AGAIN, "FAILED", "fail", "application", attempt=1),
    # A node that is down is a fault of that node (node_down is hardware in the taxonomy), whatever took it down.
    "nodedown": Kind(
        "srun sleep 600", "NODE_FAIL", "fail", "hardware", (NODE,), ("--no-requeue", f"--nodelist={NODE}")
    ),
}
if ONLY := os.environ.get("ATTRIBUTION_SLURM_KINDS"):
    KINDS = {name: kind for name, kind in KINDS.items() if name in ONLY.split(",")}
HOG = "held = []\nwhile True:\n    held.append(b'x' * (20 << 20))\n    import time; time.sleep(0.1)\n"


def command(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 -- the tests' own words
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout.strip()


def attribution(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "attribution_cli", *words]
    environment = os.environ | {"XDG_DATA_HOME": str(folder / "data")}
    return subprocess.run(whole, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 -- ours


def limited_by_the_kernel() -> bool:
    """Whether memory is; else no job ends as OUT_OF_MEMORY."""
    return "task/cgroup" in command("scontrol", "show", "config")


def submit(folder: Path, name: str, kind: Kind) -> str:
    script = folder / f"{name}.sh"
    output = f"#SBATCH --output={folder}/{kind.output}\n"
    script.write_text("#!/bin/bash\n" + output + kind.script.replace("{folder}", str(folder)) + "\n")
    return command("sbatch", "--parsable", f"--job-name={name}", *kind.options, f"--chdir={folder}", str(script))


def state_of(job: str) -> str:
    lines = command("sacct", "-X", "-n", "-P", "-D", "-j", job, "-o", "State").splitlines()
    return lines[-1] if lines else ""


def wait_for(job: str, *states: str, seconds: float = WHOLE) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        state = state_of(job)
        if state.startswith(states):
            return state
        time.sleep(0.5)
    pytest.fail(f"job {job} is {state_of(job)}, not {states}")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The id of one failed job of each kind; the slow one runs beside the others."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "oom.py").write_text(HOG)
    alone = ("nodedown", "again", "scancel", *(() if limited_by_the_kernel() else ("oom",)))
    started = {name: submit(folder, name, kind) for name, kind in KINDS.items() if name not in alone}
    if "scancel" in KINDS:
        started["scancel"] = submit(folder, "scancel", KINDS["scancel"])
        wait_for(started["scancel"], "RUNNING")
        command("scancel", started["scancel"])
    if "again" in KINDS:
        again = started["again"] = started["requeued"]
        # Slurm lets a requeued job wait for two minutes.
        wait_for(again, "PENDING")
        command("scontrol", "update", f"jobid={again}", "StartTime=now")
    started = {name: job + KINDS[name].element for name, job in started.items()}
    for name, job in started.items():
        if name != "requeued":
            wait_for(job, KINDS[name].state)
    if "nodedown" in KINDS:
        started["nodedown"] = take_the_node_away(folder)
    return started


def take_the_node_away(folder: Path) -> str:
    """A job whose node is set down while it runs."""
    job = submit(folder, "nodedown", KINDS["nodedown"])
    wait_for(job, "RUNNING")
    command("scontrol", "update", f"nodename={NODE}", "state=down", "reason=fan 3 failed")
    wait_for(job, "NODE_FAIL")
    # The node comes back when it registers again (ReturnToService); until then resuming it helps.
    subprocess.run(["scontrol", "update", f"nodename={NODE}", "state=resume"], check=False, capture_output=True)  # noqa: S603, S607 -- ours
    return job


@pytest.fixture(scope="module")
def verdicts(jobs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Any]:
    """What ``attribution run`` says of each kind, found by the time alone."""
    assert jobs
    folder = tmp_path_factory.mktemp("run")
    config = folder / "site.toml"
    config.write_text('[eca.slurm]\nsince = "30m"\n[log.file]\n[output.stdout]\nformat = "json"\n')
    done = attribution("run", "--configs", str(config), folder=folder)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(verdict["job"]["job_id"], verdict["job"]["attempt"]): verdict for verdict in lines}


@pytest.mark.parametrize("name", KINDS)
def test_a_really_failed_job_gets_the_verdict_that_was_expected(
    name: str, jobs: dict[str, str], verdicts: dict[tuple[str, int], Any]
) -> None:
    if name not in jobs:
        pytest.skip("the kernel's memory controller cannot be had here")
    kind, verdict = KINDS[name], verdicts[jobs[name], KINDS[name].attempt]
    found = (verdict["terminal_state"], verdict["sub_domain"], tuple(node["node"] for node in verdict["bad_nodes"]))
    print(f"{name}: job {jobs[name]}: {found} root {(verdict['root_cause'] or {}).get('symptom')}")  # noqa: T201 -- what make slurm shows
    assert found == (kind.terminal_state, kind.sub_domain, kind.nodes)
    assert verdict["job"]["state"] == kind.state
    if name != "requeued":  # its output was overwritten by the next attempt's
        assert verdict["evidence_status"] == "complete", verdict["connector_reports"]


def test_what_did_not_fail_is_left_alone(jobs: dict[str, str], verdicts: dict[tuple[str, int], Any]) -> None:
    """The elements of the array that completed, and the components of the heterogeneous job as jobs of their own."""
    array, het = jobs["array"].partition("_")[0], jobs["het"]
    assert [job for job, _ in verdicts if job.startswith(f"{array}_")] == [f"{array}_2"]
    assert [job for job, _ in verdicts if job.partition("+")[0] == het] == [het]


@pytest.mark.parametrize("form", ["parsable2", "json"])
def test_both_forms_of_sacct_find_the_same_jobs(form: str, jobs: dict[str, str], tmp_path: Path) -> None:
    words = [word for key, value in (("since", "30m"), ("format", form)) for word in ("eca", "slurm", key, value)]
    given = [part for at in range(0, len(words), 4) for part in ("--connector", *words[at : at + 4])]
    done = attribution("run", "--dry-run", *given, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(f"test:{job}:{KINDS[name].attempt}" in done.stdout for name, job in jobs.items())


def test_one_job_is_explained_by_its_number(jobs: dict[str, str], tmp_path: Path) -> None:
    done = attribution("explain", "--job", jobs["exitcode"], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "learning rate is negative" in done.stdout


def test_the_epilog_attributes_a_failed_job(jobs: dict[str, str], tmp_path: Path) -> None:
    """As EpilogSlurmctld runs it; a job that did not fail costs nothing."""
    epilog = Path(__file__).parents[2] / "examples" / "slurm" / "epilog.sh"
    config, log = tmp_path / "job.toml", tmp_path / "log"
    config.write_text('[log.file]\n[output.stdout]\nformat = "table"\n')
    program = epilog.read_text().replace("/opt/attribution/bin", str(Path(sys.executable).parent))
    (tmp_path / "epilog.sh").write_text(program)
    given = os.environ | {
        "SLURM_JOB_ID": jobs["oomstep"],
        "SLURM_JOB_EXIT_CODE2": "9:0",
        "ATTRIBUTION_CONFIG": str(config),
        "ATTRIBUTION_LOG": str(log),
        "ATTRIBUTION_DELAY": "0",
        "XDG_DATA_HOME": str(tmp_path),
    }
    subprocess.run(["/bin/sh", str(tmp_path / "epilog.sh")], env=given, check=True, timeout=10)  # noqa: S603 -- ours
    until = time.monotonic() + 60
    while "Attribution complete" not in (log.read_text() if log.exists() else "") and time.monotonic() < until:
        time.sleep(0.5)
    assert "Memory limit of the job exceeded" in log.read_text()


def test_the_rest_api_finds_the_same_jobs_with_a_token(jobs: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "rest.toml"
    lines = ['url = "http://127.0.0.1:26820"', 'api = "v0.0.38"', 'token_command = "scontrol,token,username=root"']
    config.write_text('[eca.slurmrestd]\nsince = "30m"\n' + "\n".join(lines) + "\n")
    done = attribution("run", "--dry-run", "--configs", str(config), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(f"test:{job}:{KINDS[name].attempt}" in done.stdout for name, job in jobs.items())


def test_the_readme_leads_a_new_user_from_pip_to_the_verdict(tmp_path: Path) -> None:
    """The three commands of the README as they stand there, in a home without anything, of a clean checkout."""
    root = Path(__file__).parents[2]
    text = (root / "README.md").read_text().partition("## Your own failed Slurm job")[2]
    block = text.partition("```console\n")[2].partition("```")[0]
    commands = [line.removeprefix("$ ") for line in block.splitlines()]
    assert len(commands) <= 3
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    for folder in (checkout, home):
        folder.mkdir()
    files = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout  # noqa: S607 -- the developer's git
    packed = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=root, input=files, capture_output=True, check=True)  # noqa: S607 -- likewise
    subprocess.run(["tar", "-x"], cwd=checkout, input=packed.stdout, check=True)  # noqa: S607 -- likewise
    path = f"{Path(sys.base_prefix) / 'bin'}:{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment |= {"HOME": str(home), "PATH": path}
    *install, explain = commands
    for words in install:
        as_typed(words, checkout, environment)
    # Slurm before 24.05 forgets where a job wrote some minutes after its end: it fails now.
    job = submit(tmp_path, "mine", KINDS["exitcode"])
    wait_for(job, "FAILED")
    said = as_typed(explain.replace("4711", job), home, environment)
    print(said)  # noqa: T201 -- what make slurm shows
    assert "FAIL · application" in said
    assert "learning rate is negative" in said


def as_typed(words: str, folder: Path, environment: dict[str, str]) -> str:
    """What a command prints that somebody types in a shell."""
    done = subprocess.run(words, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S602 -- as the reader types it
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout
