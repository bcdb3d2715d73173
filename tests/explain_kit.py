"""``attribution explain`` run in this process, and lines to run it on."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from attribution_blueprint.local import LocalAttribution, load_engine
from attribution_cli.main import main

if TYPE_CHECKING:
    from click.testing import Result


XID = "Jul  1 09:02:41 node07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB."
WATCHDOG = (
    "[rank3]:[E701 09:12:55.100000000 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=48112, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds "
    "before timing out."
)
HOSTILE = (
    f"\x1b]0;title\x07\x1b[2J{OOM} \u202eevil\u202c <script>alert(1)</script> [bold red]no markup[/] \x9b31m :smiley:\n"
)
INTERPRETED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
KEYS = {
    *("case", "schema_version", "job", "outcome", "outcomes", "confidence", "failed", "root_cause", "alternatives"),
    "confidence_reason",
    *("needed_evidence", "bad_nodes", "bad_nodes_total", "interesting_nodes", "symptoms", "chain", "collections"),
    *("notes", "evidence", "based_on", "diagnostics", "engine", "attributor_id", "run_id", "attributed_at"),
    *("terminal_state", "sub_domain", "connector_reports", "ingestion_reports", "evidence_status", "history"),
}


engine_of = functools.cache(load_engine)
"""Loading the rules takes a second; no test changes them."""


SHARED = LocalAttribution(engine_of)


def explain(
    *arguments: object, stdin: str | bytes | None = None, columns: int = 100, parts: LocalAttribution = SHARED
) -> Result:
    """What the command prints for these arguments, with an engine that all tests share."""
    command = ["explain", *map(str, arguments)]
    environment = {"COLUMNS": str(columns)}
    return CliRunner().invoke(main, command, input=stdin, env=environment, catch_exceptions=False, obj=parts)


def verdicts(*arguments: object, status: int = 0, stdin: str | bytes | None = None) -> list[dict[str, Any]]:
    """The verdicts that ``--json`` prints, and that it ended with this status."""
    result = explain("--json", *arguments, stdin=stdin)
    assert result.exit_code == status, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def verdict(*arguments: object, status: int = 0, stdin: str | bytes | None = None) -> dict[str, Any]:
    """The only one."""
    (found,) = verdicts(*arguments, status=status, stdin=stdin)
    return found
