"""``attribution rules test``: run the tests beside the rules."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

import click

from attribution_cli.rules_loading import FAILED, console, load_rules, need_samples, refuse, rules_option
from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.testing import SampleRunner, collect_samples
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from rich.console import Console

    from attribution_lib.rules.testing import SampleResult

__all__ = ["test"]

_STYLES = {"hit": "green", "quiet": "green", "noisy": "red", "missing": "red"}


@click.command()
@click.argument("only", default="")
@click.option("--verbose", "-v", is_flag=True, help="Print the samples that pass, too.")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the results as JUnit XML.")
@rules_option
def test(only: str, verbose: bool, junit: Path | None, folders: tuple[Path, ...]) -> None:  # noqa: FBT001 -- click passes flags by name
    """Run the tests beside the rules.

    That is every .test.toml, or those whose file or rule name contains ONLY, or those beside the rule file ONLY.

    Every sample ends in one word: hit, quiet, noisy or missing. Exit status 0 when all is as expected, 1 when a sample
    is not or ONLY names none, 3 when rules or samples are refused or no samples stand beside the rules.
    """
    engine = load_rules(folders)
    need_samples(folders)
    try:
        files = collect_samples(folders or None, engine)
    except RuleLoadError as error:
        refuse(error)
    out = console()
    results: list[SampleResult] = []
    for result in SampleRunner(engine).run(files, only=only):
        results.append(result)
        if verbose or not result.passed:
            _print(out, result)
    counts = Counter(result.word.value for result in results)
    failed = sum(not result.passed for result in results)
    todo = sum(result.todo for result in results)
    words = " ".join(f"{word} {counts[word]}" for word in _STYLES)
    out.print(f"{words} · todo {todo} · failed {failed} of {len(results)}", style="red" if failed else "green")
    if junit is not None:
        junit.write_text(as_junit(results), encoding="utf-8")
    if not results:
        out.print(f"no sample matches {only!r}" if only else "the files beside the rules are empty", style="yellow")
    sys.exit(FAILED if failed or (only and not results) else 0)


def _print(out: Console, result: SampleResult) -> None:
    todo = " (todo)" if result.todo else ""
    out.print(f"{result.word:<8}{result.location}{todo} {result.rule or ''}", style=_STYLES[result.word])
    if not result.passed:
        out.print(f"        {shown(result.line)}")
        for problem in result.problems:
            out.print(f"        - {shown(problem)}")


def as_junit(results: list[SampleResult]) -> str:
    """The results as one JUnit test suite."""
    suite = Element(
        "testsuite", name="rules", tests=str(len(results)), failures=str(sum(not r.passed for r in results))
    )
    for result in results:
        case = SubElement(suite, "testcase", classname=result.location.path, name=f"{result.location} {result.word}")
        if not result.passed:
            failure = SubElement(case, "failure", message="; ".join(result.problems))
            failure.text = result.line
    return tostring(suite, encoding="unicode")
