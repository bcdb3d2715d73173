"""One tree of settings from three surfaces, and errors that say where, what and what instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from attribution_blueprint.errors import ConfigError
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.surfaces import SurfaceReader
from attribution_cli.main import main

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_blueprint.settings import Configuration


def read(
    *words: str, toml: Path | None = None, environment: dict[str, str] | None = None, extra: Sequence[str] = ()
) -> Configuration:
    reader = SurfaceReader()
    arguments = [part for word in words for part in ("--connector", *word.split(" "))]
    assert reader.read_arguments([*arguments, *extra]) == []
    if reader.faults:
        raise ConfigError(reader.faults)
    return read_configuration(toml, environment or {}, reader.given)


def test_the_command_line_wins_over_the_environment_over_toml_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[run]\nconcurrency = 2\nretry_conflicts = 2\n[attribution]\ntries = 2\n")
    found = read(
        "run concurrency 8", toml=file, environment={"NVAB_RUN_CONCURRENCY": "4", "NVAB_RUN_RETRY_CONFLICTS": "4"}
    )
    assert (found.run.concurrency, found.run.retry_conflicts) == (8, 4)
    assert (found.attribution.tries, found.attribution.timeout_seconds) == (2, 300)


@pytest.mark.parametrize("surface", ["cli", "env", "toml"])
def test_the_three_surfaces_say_the_same(surface: str, tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text(
        "[eca.static]\ncases = ['/a', '/b']\n[output.db.sqlite]\npath = '/x/v.db'\n[attribution]\nservice_url = 'http://s'\n"
    )
    found = {
        "cli": lambda: read(
            "eca static cases /a,/b", "output db sqlite path /x/v.db", "attribution service_url http://s"
        ),
        "env": lambda: read(
            environment={
                "NVAB_ECA_STATIC_CASES": "/a,/b",
                "NVAB_OUTPUT_DB_SQLITE_PATH": "/x/v.db",
                "NVAB_ATTRIBUTION_SERVICE_URL": "http://s",
            }
        ),
        "toml": lambda: read(toml=file),
    }[surface]()
    assert [group.slot.section for group in found.groups] == ["attribution", "eca.static", "output.db.sqlite", "run"]
    settings = {group.slot.section: group.settings.model_dump() for group in found.groups}
    assert settings["eca.static"]["cases"] == ("/a", "/b")
    assert settings["output.db.sqlite"]["path"] == "/x/v.db"
    assert found.attribution.service_url == "http://s"


def test_without_an_output_verdicts_go_to_standard_output() -> None:
    assert [group.slot.section for group in read("eca static job_id 1").of("output")] == ["output.stdout"]


def test_an_instance_can_be_left_out_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[log.app.file]\n[log.sys.file]\nsource = 'syslog'\n")
    found = read("log sys file enabled false", toml=file)
    assert [group.slot.instance for group in found.of("log")] == ["app"]


def test_relative_paths_begin_at_the_file_that_names_them(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[log.app.file]\npaths = 'a.log, /b.log'\n[output.db.sqlite]\npath = 'v.db'\n")
    found = read(toml=file)
    assert found.of("log")[0].settings.model_dump()["paths"] == (f"{tmp_path}/a.log", "/b.log")
    assert found.of("output")[0].settings.model_dump()["path"] == f"{tmp_path}/v.db"
    assert read("output db sqlite path v.db").of("output")[0].settings.model_dump()["path"] == "v.db"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("eca static job_idd 1", "CLI --connector eca static job_idd: unknown key; accepted: .*did you mean job_id"),
        (
            "run concurrency many",
            r"CLI --connector run concurrency: 'many' given .*; accepted: a whole number, 1 to 256",
        ),
        ("run strict perhaps", "CLI --connector run strict: 'perhaps' given .*; accepted: true or false"),
        ("log file timeout_seconds soon", "CLI --connector log file timeout_seconds: 'soon' given .*2h"),
        ("log file source printer", "'printer' given .*accepted: one of applog, syslog, scheduler"),
        ("eca static", "CLI --connector eca static: value missing|no component"),
        (
            "eca static job_id",
            "CLI --connector eca static job_id: value missing; accepted: --connector eca COMPONENT KEY VALUE",
        ),
        ("output db nosuch path x", "no component; accepted: one of the components of output: stdout, sqlite"),
        ("printer x y", "CLI --connector printer: no such framework; accepted: one of run, eca, log"),
        ("output db sqlite", "value missing|unknown|no component"),
        ("output Db sqlite path x", r"instance 'Db'; accepted: a name of the form"),
    ],
)
def test_faults_of_the_command_line_say_what_is_accepted(word: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read(word)


def test_an_unfinished_setting_does_not_swallow_the_next_option() -> None:
    reader = SurfaceReader()
    rest = reader.read_arguments(["--connector", "nosuch", "x", "--strict", "--connector", "run", "strict", "true"])
    assert rest == ["--strict"]
    assert len(reader.faults) == 1
    assert [given.key for given in reader.given] == ["strict"]


def test_a_required_setting_that_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"\[output.db.sqlite\] path: missing; accepted: a path"):
        read("output db sqlite enabled true")


def test_a_variable_that_names_no_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match="env NVAB_ECA_STATIC_JOBID: names no setting"):
        read(environment={"NVAB_ECA_STATIC_JOBID": "1", "OTHER": "x"})


def test_faults_of_toml_name_the_file_and_all_are_told(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[ecx]\n[eca.slurmm]\nids = 1\n[run]\nconcurrency = 'x'\nnope = 1\n[log.a.file]\n[log.b]\n")
    with pytest.raises(ConfigError) as refused:
        read(toml=file)
    text = str(refused.value)
    assert f"TOML {file} [ecx]: no such framework" in text
    assert "no such component" in text
    assert f"TOML {file} [run] concurrency: 'x' given" in text
    assert f"TOML {file} [run] nope: unknown key" in text


def test_one_instance_is_of_one_component() -> None:
    with pytest.raises(ConfigError, match="instance 'db' is a sqlite already"):
        read("output db sqlite path x", "output db stdout format json")


def test_the_effective_tree_shows_origins_and_hides_secrets(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[attribution]\ntoken = 'very-secret-value'\nservice_url = 'http://me:pass-word-x@h'\n")
    found = CliRunner().invoke(
        main,
        ["config", "--show", "--configs", str(file), "--connector", "run", "strict", "true"],
        env={"NVAB_RUN_CONCURRENCY": "3"},
    )
    assert found.exit_code == 0, found.output
    assert "very-secret-value" not in found.output
    assert "pass-word-x" not in found.output
    assert "strict = true  # CLI --connector run strict" in found.output
    assert "concurrency = 3  # env NVAB_RUN_CONCURRENCY" in found.output
    assert f"# TOML {file} [attribution] token" in found.output
    assert "retry_conflicts = 0  # default" in found.output


def test_every_setting_is_documented() -> None:
    listed = CliRunner().invoke(main, ["connectors"])
    assert listed.exit_code == 0
    one = CliRunner().invoke(main, ["connectors", "output.sqlite"])
    assert "path" in one.output
    assert "(required)" in one.output
    unknown = CliRunner().invoke(main, ["connectors", "nosuch"])
    assert unknown.exit_code == 2
    assert "log.file" in unknown.output


def test_a_refused_value_of_a_secret_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text("[attribution]\ntoken = ['hush-hush']\n")
    with pytest.raises(ConfigError) as refused:
        read(toml=file)
    assert "hush" not in str(refused.value)
