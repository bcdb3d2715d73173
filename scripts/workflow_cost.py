"""What the workflows cost on AWS, counted by running them: ``workflow_cost.py [--check FILE]``.

Fleets of few contexts run in moto's interpreter with the real functions; differences between them are what one context
and one observation add. Counts times list prices of us-east-1; how long functions run is assumed, and stands here.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from asl_kit import BUCKET, interpreter  # noqa: E402 -- the interpreter is the tests' own
from attribution_service import costs  # noqa: E402 -- below the two for the formatter
from run_kit import LINE  # noqa: E402 -- likewise

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "<!-- workflow cost: begin -->", "<!-- workflow cost: end -->"
OBSERVATIONS = 10
"""Of a typical job: 80 MiB of logs."""
PER_MILLION = {
    "state transitions": 25.0,
    "S3 writes and lists": 5.0,
    "S3 reads": 0.4,
    "DynamoDB writes": 0.625,
    "DynamoDB reads": 0.125,
    "Lambda invocations": 0.2,
    "Lambda seconds": 0.0,
    "Lambda GB-seconds": 16.6667,
    "log KB": 0.5,
}
"""Dollars. Deletes in S3 are free; items here are below 1 KB, reads below 4 KB."""
REQUESTS = {
    "PutObject": "S3 writes and lists",
    "ListObjectsV2": "S3 writes and lists",
    "GetObject": "S3 reads",
    "HeadObject": "S3 reads",
    "PutItem": "DynamoDB writes",
    "UpdateItem": "DynamoDB writes",
    "DeleteItem": "DynamoDB writes",
    "GetItem": "DynamoDB reads",
    "Query": "DynamoDB reads",
}
SECONDS = {
    "discover_fleet": (5.0, 1.0),
    "accept_job": (0.3, 1.0),
    "open": (0.3, 1.0),
    "collect": (3.0, 1.0),
    "gather": (0.2, 1.73),
    "ingest": (0.2, 1.73),
    "tally": (0.2, 1.73),
    "attribute": (1.0, 3.46),
    "enrich": (0.5, 1.73),
    "write": (0.5, 1.0),
    "cleanup": (0.5, 1.0),
    "record": (0.3, 1.0),
    "summarise": (1.0, 1.0),
}
"""{task: (seconds, GB)} of one invocation: assumed, with cold starts spread over many."""
OBSERVATION_SECONDS = (0.15, 1.73)
"""What each observation adds to ``ingest``."""
BETWEEN_STATES = 0.1
"""Seconds from one state to the next: assumed."""
LOG_KB = 1.5
"""Of one invocation: assumed."""
DAY, MONTH = 86_400, 30
VOLUMES = (10, 1_000, 100_000)
PER_FLEET = 1_000
TRANSITIONS_A_SECOND, LAMBDAS_AT_ONCE = 1_500, 1_000
"""What an account may do in us-east-1 unless it asks for more."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is to count, in units of ``PER_MILLION``."""

    fleet: Counter[str]
    context: Counter[str]
    """Without observations."""
    known: Counter[str]
    observation: Counter[str]


def main() -> int:
    """Print the tables, or compare them with those between the marks of a page, and with the product's figures."""
    parts = measure()
    tables = render(parts)
    if sys.argv[1:2] == ["--check"]:
        page = Path(sys.argv[2]).read_text(encoding="utf-8")
        faults = [] if f"{BEGIN}\n{tables}{END}" in page else [f"{sys.argv[2]}: put this there:\n{tables}"]
        faults += product_faults(parts)
        print("\n".join(faults), file=sys.stderr, end="")
        return 1 if faults else 0
    print(tables, end="")
    print("\n".join(product_faults(parts)))
    return 0


def measure() -> Parts:
    """Run the fleets and take their differences.

    A session counts its batches now and then, by their ids: shares of requests are rounded away.
    """
    one, nine, many = (_fleet(contexts, lines) for contexts, lines in ((1, 2), (9, 2), (1, 42)))
    observation = _share(many[0], one[0], 40)
    known = _share(nine[1], one[1], 8)
    bare = _minus(_share(nine[0], one[0], 8), Counter({name: 2 * count for name, count in observation.items()}))
    fleet = _minus(one[1], known)
    seconds, memory = OBSERVATION_SECONDS
    observation["Lambda seconds"] += seconds  # type: ignore[assignment]  # counts of seconds are no whole numbers
    observation["Lambda GB-seconds"] += seconds * memory  # type: ignore[assignment]  # likewise
    return Parts(fleet, bare, known, observation)


def _fleet(contexts: int, lines: int) -> tuple[Counter[str], Counter[str]]:
    """What a fleet of so many contexts asks for, and the same fleet again once every context has its verdict."""
    with tempfile.TemporaryDirectory() as folder, _environment(), interpreter(aws=True) as made:
        requests: Counter[str] = Counter()
        for client in (made.s3, made.dynamodb):
            client.meta.events.register("before-call", lambda model, **_: requests.update([model.name]))
        made.put("config/site.toml", _site(Path(folder), contexts, lines))
        found = []
        for run in ("first", "second"):
            requests.clear()
            made.trace.states.clear()
            made.trace.invocations.clear()
            ended = made.start("fleet", {"adapter": "static", "run_id": run})
            assert ended.status == "SUCCEEDED", ended  # noqa: S101 -- a script
            assert ended.output["attributed"] == contexts, ended.output  # noqa: S101 -- likewise
            found.append(_counted(made, requests))
    return found[0], found[1]


def _site(folder: Path, contexts: int, lines: int) -> bytes:
    """Two collectors, one observation a line, and no line in two of them."""
    for number in range(contexts):
        case = folder / "cases" / f"job-{number}"
        case.mkdir(parents=True)
        (case / "job.toml").write_text(f'job_id = "{number}"\ncluster = "c"\nstate = "FAILED"\nnodes = ["n{number}"]\n')
        steps = [f"step {line}" for line in range(lines // 2 - 1)]
        (case / "applog.log").write_text("\n".join([*steps, LINE, ""]))
        (case / "syslog.log").write_text("".join(f"kernel: tick {line}\n" for line in range(lines // 2)))
    return (
        f'[eca.static]\ncases = ["{folder}/cases"]\n[log.app.file]\nbatch_bytes = 1\n'
        '[log.sys.file]\nsource = "syslog"\nbatch_bytes = 1\n'
    ).encode()


def _counted(made: Any, requests: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in requests.items():
        if name in REQUESTS:
            found[REQUESTS[name]] += count
    found["state transitions"] = len(made.trace.states)
    for task, count in made.trace.invocations.items():
        seconds, memory = SECONDS[task]
        found["Lambda invocations"] += count
        found["Lambda seconds"] += count * seconds
        found["Lambda GB-seconds"] += count * seconds * memory
        found["log KB"] += count * LOG_KB
    return found


@contextmanager
def _environment() -> Iterator[None]:
    """No real account, and the variables of a deployed function."""
    logging.disable(logging.WARNING)
    given = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    given |= {"ATTRIBUTION_BUCKET": BUCKET, "ATTRIBUTION_CONFIG": f"s3://{BUCKET}/config/site.toml"}
    before = dict(os.environ)
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        logging.disable(logging.NOTSET)


def _minus(one: Counter[str], other: Counter[str]) -> Counter[str]:
    return Counter({name: one[name] - other[name] for name in one})


def _share(more: Counter[str], less: Counter[str], times: int) -> Counter[str]:
    """What one of so many adds."""
    found = {name: (more[name] - less[name]) / times for name in more}
    whole = {name: round(share) for name, share in found.items() if name in REQUESTS.values()}
    return Counter(found | whole)  # type: ignore[arg-type]  # see above


def dollars(counts: Counter[str]) -> float:
    """Of these counts."""
    return sum(counts[name] * price for name, price in PER_MILLION.items()) / 1_000_000


def render(parts: Parts) -> str:
    """Both tables in Markdown."""
    return f"{_counts_table(parts)}\n{_volumes_table(parts)}"


def _counts_table(parts: Parts) -> str:
    columns = {
        "a context": parts.context,
        "an observation": parts.observation,
        "a context that has a verdict": parts.known,
        "a fleet": parts.fleet,
    }
    rows = [["", *columns, "$ a million"], ["---"] * (len(columns) + 2)]
    for name, price in PER_MILLION.items():
        rows.append([name, *(f"{found[name]:.3g}" for found in columns.values()), f"{price:g}"])
    rows.append(["**dollars**", *(f"**{dollars(found):.6f}**" for found in columns.values()), ""])
    return _markdown(rows)


def _volumes_table(parts: Parts) -> str:
    """One day's failed jobs, by triggers or fleets of ``PER_FLEET``; a job has ``OBSERVATIONS``."""
    job = dollars(parts.context) + OBSERVATIONS * dollars(parts.observation)
    busy = parts.context["Lambda seconds"] + OBSERVATIONS * parts.observation["Lambda seconds"]
    heads = ["failed jobs a day", "$ a day", "$ a month", "jobs at once", "functions at once"]
    rows = [[*heads, "state transitions a second"], ["---"] * (len(heads) + 1)]
    for volume in VOLUMES:
        day = volume * job + -(-volume // PER_FLEET) * dollars(parts.fleet)
        rate = volume / DAY
        rows.append(
            [
                f"{volume:,}",
                f"{day:,.2f}",
                f"{day * MONTH:,.2f}",
                f"{rate * (_job_seconds() + BETWEEN_STATES * parts.context['state transitions']):.2g}",
                f"{rate * busy:.2g} of {LAMBDAS_AT_ONCE:,}",
                f"{rate * parts.context['state transitions']:.2g} of {TRANSITIONS_A_SECOND:,}",
            ]
        )
    return _markdown(rows)


def _job_seconds() -> float:
    """What the functions of a job take one after the other."""
    names = ("accept_job", "open", "collect", "gather", "ingest", "tally", "attribute", "enrich", "write", "cleanup")
    return sum(SECONDS[name][0] for name in (*names, "record")) + OBSERVATIONS * OBSERVATION_SECONDS[0]


def product_faults(parts: Parts) -> list[str]:
    """Figures of ``attribution_service.costs`` that are off by more than a twentieth."""
    wanted = {"CONTEXT": parts.context, "KNOWN_CONTEXT": parts.known, "OBSERVATION": parts.observation}
    wanted |= {"FLEET": parts.fleet}
    told = {name: (getattr(costs, name), dollars(found)) for name, found in wanted.items()}
    return [
        f"attribution_service/costs.py: {name} = {stands}; counted: {counted:.7f}"
        for name, (stands, counted) in told.items()
        if abs(stands - counted) > counted / 20
    ]


def _markdown(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
