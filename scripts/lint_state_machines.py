"""Two linters on state machines: cfn-lint's rule E3601 and the npm package asl-validator.

``python scripts/lint_state_machines.py CFN_LINT ASL_VALIDATOR FILE…``: the two programs, then files. cfn-lint looks at
definitions only where they stand inline in a template, so each file is put into one for the moment.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SUBSTITUTION = re.compile(r"\$\{(\w+)\}")


def main() -> int:
    """Print what each linter says of each file; 1 when one complains."""
    cfn_lint, asl_validator, *files = sys.argv[1:]
    complaints = [complaint for file in files for complaint in lint(cfn_lint, asl_validator, Path(file))]
    for complaint in complaints:
        print(complaint)
    if not complaints:
        print(f"state machines: {', '.join(files)}: no complaints")
    return 1 if complaints else 0


def lint(cfn_lint: str, asl_validator: str, file: Path) -> list[str]:
    """The complaints about one file."""
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder, "template.json")
        template.write_text(json.dumps(_template(file)))
        found = _run([cfn_lint, "--regions", "us-east-1", "--", str(template)])
        complaints = [] if found is None else [f"{file}: cfn-lint: {found.replace(str(template), file.name)}"]
    found = _run([asl_validator, "--json-path", str(file)])
    return complaints if found is None else [*complaints, f"{file}: asl-validator: {found}"]


def _template(file: Path) -> dict[str, object]:
    text = file.read_text(encoding="utf-8")
    properties = {
        "RoleArn": "arn:aws:iam::123456789012:role/any",
        "Definition": json.loads(text),
        "DefinitionSubstitutions": dict.fromkeys(sorted(set(SUBSTITUTION.findall(text))), "any"),
    }
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Machine": machine}}


def _run(command: list[str]) -> str | None:
    """What a program prints when it is not content."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own tools
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()


if __name__ == "__main__":
    sys.exit(main())
