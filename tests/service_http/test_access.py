"""Whose clusters a caller may use: by IAM principal or by a token's claim, on every route."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from attribution_service.errors import InvalidRequestError
from attribution_service.http.access import Access, caller_of, read_access
from attribution_service.http.host import Host
from http_kit import ROOT, invoke, local_host

if TYPE_CHECKING:
    from pathlib import Path

ACCESS = Access({"arn:aws:sts::*:assumed-role/ops/*": ("*",), "arn:aws:sts::1:assumed-role/a-*/*": ("a", "shared")})


def signed(arn: str) -> dict[str, Any]:
    return {"requestContext": {"identity": {"userArn": arn}}}


def with_claims(**claims: str) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"claims": claims}}}


def test_principals_map_to_clusters_by_pattern() -> None:
    assert caller_of(signed("arn:aws:sts::1:assumed-role/ops/ada"), ACCESS).clusters is None
    assert caller_of(signed("arn:aws:sts::1:assumed-role/a-agent/i"), ACCESS).clusters == {"a", "shared"}
    assert caller_of(signed("arn:aws:sts::2:assumed-role/a-agent/i"), ACCESS).clusters == set()
    assert caller_of({}, ACCESS).clusters == set()


def test_without_a_mapping_whoever_iam_lets_in_may_use_every_cluster() -> None:
    assert caller_of(signed("arn:aws:iam::1:user/x"), Access()).clusters is None


def test_claims_list_clusters_and_no_claim_is_no_cluster() -> None:
    assert caller_of(with_claims(**{"custom:clusters": "a, b"}), Access()).clusters == {"a", "b"}
    assert caller_of(with_claims(sub="u"), Access()).clusters == set()
    assert caller_of(with_claims(clusters="*"), Access(claim="clusters")).clusters is None


def test_the_mapping_is_read_from_the_environment() -> None:
    read = read_access({"ATTRIBUTION_CALLERS": '{"arn:*": ["a"]}', "ATTRIBUTION_CLUSTERS_CLAIM": "scope"})
    assert (dict(read.principals), read.claim) == ({"arn:*": ("a",)}, "scope")
    assert read_access({}) == Access()


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', '{"a": 1}'])
def test_a_mapping_that_cannot_be_read_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_access({"ATTRIBUTION_CALLERS": text})
    assert caught.value.extras["faults"][0]["field"] == "ATTRIBUTION_CALLERS"


def event(name: str, arn: str) -> tuple[str, dict[str, Any]]:
    (file,) = (ROOT / "events").glob(f"*/{name}.json")
    made = json.loads(file.read_text())
    made["requestContext"]["identity"]["userArn"] = arn
    return file.parent.name, made


def test_a_session_of_another_cluster_does_not_exist_for_a_caller(folder: Path) -> None:
    """The events are about cluster prod."""
    access = Access({"arn:prod": ("prod",), "arn:dev": ("dev",)})
    with local_host(folder) as (made, _):
        host = Host(made.service, access, write_metrics=lambda _: None)
        assert invoke(*event("open_attributor", "arn:dev"), host)["statusCode"] == 403
        assert invoke(*event("open_attributor", "arn:prod"), host)["statusCode"] == 201
        names = ("describe_attributor", "post_observation", "post_upload", "put_job", "get_attribution")
        for name in names:
            assert invoke(*event(name, "arn:dev"), host)["statusCode"] == 404, name
            assert invoke(*event(name, "arn:prod"), host)["statusCode"] // 100 == 2, name
        assert invoke(*event("list_attributors", "arn:dev"), host)["statusCode"] == 403
        assert invoke(*event("list_verdicts", "arn:dev"), host)["statusCode"] == 403
        assert invoke(*event("show_latest_verdict", "arn:dev"), host)["statusCode"] == 404
        assert invoke(*event("delete_attributor", "arn:dev"), host)["statusCode"] == 404
        assert invoke(*event("delete_attributor", "arn:prod"), host)["statusCode"] == 204
