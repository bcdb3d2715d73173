"""``attribution rules new NAME --from-line LINE``: a rule and its test to start from."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import click

from attribution_cli.rules_loading import console
from attribution_cli.terminal import complain
from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.scaffold import PLACEHOLDERS, scaffold_rule

__all__ = ["new"]

BAD_INPUT = 2
_KINDS = ("extractor", "extractor_family", "extractor_catalog", "metric_extractor")


@click.command()
@click.argument("name")
@click.option("--from-line", "line", required=True, help="The log line, as printed; - reads it from standard input.")
@click.option(
    "--source",
    type=click.Choice([source.value for source in TEXT_SOURCES]),
    default=Source.APPLOG.value,
    show_default=True,
    help="Where the line comes from.",
)
@click.option(
    "--into", type=click.Path(path_type=Path), help="Append to this rule file and to the .test.toml beside it."
)
def new(name: str, line: str, source: str, into: Path | None) -> None:
    """Start a rule and its test from a log line.

    What varies in the line (times, hosts, addresses, numbers) becomes a wildcard or a group, the rest is escaped; the
    line is the first [[hit]]. The rule is staged: it runs and is counted, and decides nothing.
    """
    text = sys.stdin.readline().rstrip("\r\n") if line == "-" else line
    if not text.strip():
        complain("--from-line: empty; expected the log line that the rule is to match")
        sys.exit(BAD_INPUT)
    refusal = _refusal(name, into) if into is not None else ""
    if refusal:
        complain(refusal)
        sys.exit(BAD_INPUT)
    scaffold = scaffold_rule(name, text, Source(source))
    out = console()
    if into is None:
        out.print(
            f"# a rule file, like rules/example.toml{scaffold.rule}\n# the test file beside it{scaffold.test}", end=""
        )
        return
    for path, addition in ((into, scaffold.rule), (into.with_suffix(".test.toml"), scaffold.test)):
        head = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not head and path == into:
            head = f'author = "{PLACEHOLDERS.author}"\n'
        path.write_text(head + addition, encoding="utf-8")
        out.print(f"added to {path}")


def _refusal(name: str, into: Path) -> str:
    """Why the rule cannot be added there; empty when it can."""
    if not into.parent.is_dir():
        return f"--into {into}: there is no folder {into.parent}; expected a rule file in a rules folder"
    if into.suffix != ".toml" or into.name.endswith(".test.toml"):
        return f"--into {into}: is no rule file; expected a name such as {into.parent / 'mytool.toml'}"
    for path in sorted(into.parent.glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            if path == into:
                return f"--into {into}: cannot be added to ({error}); expected a rule file that is valid TOML"
            continue  # another file's fault; loading the rules names it
        if any(_declares(tables.get(kind), name) for kind in _KINDS):
            return f"{name}: {path} declares a rule of this name; expected a name of its own"
    return ""


def _declares(rules: object, name: str) -> bool:
    return isinstance(rules, list) and any(isinstance(rule, dict) and rule.get("name") == name for rule in rules)
