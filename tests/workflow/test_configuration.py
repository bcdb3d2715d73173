"""The site's configuration in the cloud: from S3 or SSM, secrets by reference; the same file as on a machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import boto3
import pytest
from click.testing import CliRunner
from moto import mock_aws

from attribution_blueprint.errors import ConfigError
from attribution_blueprint.local import load_engine
from attribution_blueprint.settings import read_configuration
from attribution_blueprint.workflow.deployed import ConfigurationSource
from attribution_blueprint.workflow.host import WorkflowHost
from attribution_blueprint.workflow.writing import WriteTask, write
from attribution_cli.main import main
from attribution_service.enrichment import EnrichRequest, enrich
from attribution_service.model import VerdictQuery
from attribution_service.service import EVERYTHING
from attribution_service.verdicts import query_verdicts
from service_kit import World, local_folder_store, moto_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_blueprint.settings import Configuration

TOML = """[log.sys.loki]
url = "https://loki.example"
query = '{host=~"{nodes}"}'
auth = "bearer"
token = "aws:secretsmanager:loki#token"
[output.hook.webhook]
url = "https://hook.example/x"
secret = "aws:ssm:/site/hook"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(TOML)
    return path


@pytest.fixture
def secrets() -> Iterator[None]:
    with mock_aws():
        boto3.client("secretsmanager").create_secret(Name="loki", SecretString=json.dumps({"token": "t0p", "n": 1}))
        boto3.client("ssm").put_parameter(Name="/site/hook", Value="h00k", Type="SecureString")
        yield


def revealed(configuration: Configuration) -> tuple[str, str]:
    (loki,), (hook,) = configuration.of("log"), configuration.of("output")
    return loki.settings.token.get_secret_value(), hook.settings.secret.get_secret_value()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("secrets")
def test_secrets_are_looked_up_where_the_configuration_names_them(file: Path) -> None:
    assert revealed(read_configuration(file, {})) == ("t0p", "h00k")


@pytest.mark.usefixtures("secrets")
def test_a_whole_secret_needs_no_key(file: Path) -> None:
    boto3.client("secretsmanager").create_secret(Name="plain", SecretString="all of it")
    file.write_text(TOML.replace("loki#token", "plain"))
    assert revealed(read_configuration(file, {}))[0] == "all of it"


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("aws:secretsmanager:nothing#token", "ResourceNotFoundException"),
        ("aws:secretsmanager:loki#other", "no JSON object with this key"),
        ("aws:secretsmanager:loki#n", "no text"),
        ("aws:ssm:/nothing", "ParameterNotFound"),
    ],
)
def test_a_reference_that_leads_nowhere_refuses_the_configuration_by_address(
    file: Path, reference: str, reason: str
) -> None:
    file.write_text(TOML.replace("aws:secretsmanager:loki#token", reference))
    with pytest.raises(ConfigError) as refused:
        read_configuration(file, {})
    (fault,) = refused.value.faults
    assert "log.sys.loki" in fault
    assert reference in fault
    assert reason in fault
    assert "t0p" not in fault


def test_checking_and_showing_a_configuration_asks_nobody(file: Path) -> None:
    done = CliRunner().invoke(main, ["config", "--show", "--configs", str(file)])
    assert done.exit_code == 0, done.output
    assert 'token = "aws:secretsmanager:loki#token"' in done.output


def test_the_deployment_reads_it_from_its_bucket_and_again_after_a_minute(file: Path) -> None:
    with moto_store() as store:
        now = [0.0]
        store.objects.put("config/site.toml", b"[eca.static]\njob_id = '1'\n")
        source = ConfigurationSource("s3://any/config/site.toml", store.objects, lambda: now[0])
        assert [group.slot.instance for group in source().of("eca")] == ["static"]
        store.objects.put("config/site.toml", b"[eca.other.static]\njob_id = '1'\n")
        assert [group.slot.instance for group in source().of("eca")] == ["static"]
        now[0] = 61.0
        assert [group.slot.instance for group in source().of("eca")] == ["other"]
    assert file.is_file()


@pytest.mark.usefixtures("secrets")
def test_the_deployment_reads_it_from_a_parameter(file: Path) -> None:
    boto3.client("ssm").put_parameter(Name="site", Value=file.read_text(), Type="String")
    with moto_store() as store:
        assert revealed(ConfigurationSource("ssm:site", store.objects)()) == ("t0p", "h00k")


@pytest.mark.parametrize("address", ["", "s3://any/config/nothing.toml"])
def test_a_deployment_without_a_configuration_says_what_is_missing(address: str) -> None:
    with moto_store() as store, pytest.raises(ConfigError, match="ATTRIBUTION_CONFIG"):
        ConfigurationSource(address, store.objects)()


def test_on_one_machine_the_configuration_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('[output.terminal.stdout]\nformat = "json"\n')
    with local_folder_store(tmp_path / "data") as store:
        (sink,) = ConfigurationSource(str(path), store.objects)().of("output")
        assert sink.slot.instance == "terminal"
        for address, reason in ((f"{path}x", "No such file"), ("", "is not set")):
            with pytest.raises(ConfigError, match=f"{reason}.*or the path of a TOML file"):
                ConfigurationSource(address, store.objects)()


def test_a_configuration_that_is_wrong_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with local_folder_store(tmp_path / "data") as store:
        world = World(store, load_engine())
        world.open()
        stored = enrich(world.service, EVERYTHING, EnrichRequest(attributor_id="s", run_id="r"))
        host = WorkflowHost(world.service, ConfigurationSource("", store.objects))
        with pytest.raises(ConfigError, match="is not set"):
            write(host, WriteTask(verdict_key=stored.verdict_key))
        assert query_verdicts(world.service, EVERYTHING, VerdictQuery()).verdicts == []
