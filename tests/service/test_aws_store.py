"""What only the AWS store has to get right: S3's and DynamoDB's answers, and the client library's errors."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.stub import Stubber

from attribution_service.errors import StoreError
from attribution_service.ports import ObjectExistsError, ObjectMissingError
from attribution_service.records import INDEX_ATTRIBUTES, INDEXES
from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.stores.aws_errors import translated
from attribution_service.stores.aws_objects import S3Objects
from attribution_service.stores.aws_schema import SESSION_INDEXES, VERDICT_INDEXES, table_definition
from attribution_service.stores.aws_table import DynamoTable
from service_kit import REGION, make_aws_store

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "attributors/s/g/spill/x"


def stubbed(*answers: int | dict[str, Any], call: str = "put_object") -> tuple[S3Objects, list[float], Stubber]:
    """Objects over a client that answers a call as told: a status, or a good answer."""
    client, _ = aws_clients(region=REGION)
    stubber = Stubber(client)
    for answer in answers:
        if isinstance(answer, int):
            codes = {409: "ConditionalRequestConflict", 412: "PreconditionFailed", 404: "NoSuchKey"}
            stubber.add_client_error(call, codes.get(answer, "InternalError"), http_status_code=answer)
        else:
            stubber.add_response(call, answer)
    stubber.activate()
    pauses: list[float] = []
    return S3Objects(client, "bucket", sleep=pauses.append), pauses, stubber


def test_a_conflict_under_way_is_tried_again_with_growing_pauses() -> None:
    objects, pauses, stubber = stubbed(409, 409, {})
    objects.put(KEY, b"x", if_absent=True)
    assert pauses == [0.05, 0.1]
    stubber.assert_no_pending_responses()


def test_a_conflict_is_no_existing_object() -> None:
    objects, _, _ = stubbed(409, 412)
    with pytest.raises(ObjectExistsError):
        objects.put(KEY, b"x", if_absent=True)


def test_a_conflict_that_does_not_end_is_an_error_of_the_store() -> None:
    objects, pauses, _ = stubbed(*[409] * 6)
    with pytest.raises(StoreError, match="under way"):
        objects.put(KEY, b"x", if_absent=True)
    assert len(pauses) == 6


def test_a_file_is_sent_from_its_start_again_after_a_conflict() -> None:
    objects, _, _ = stubbed(409, {})
    file = io.BytesIO(b"skip body")
    file.seek(5)
    objects.put(KEY, file, if_absent=True)
    assert file.tell() == 5


@pytest.mark.parametrize("status", [400, 403, 500, 503])
def test_any_other_refusal_is_an_error_of_the_store(status: int) -> None:
    objects, _, _ = stubbed(status)
    with pytest.raises(StoreError) as caught:
        objects.put(KEY, b"x")
    assert isinstance(caught.value.__cause__, ClientError)


def test_a_missing_bucket_is_not_a_missing_object() -> None:
    client, _ = aws_clients(region=REGION)
    stubber = Stubber(client)
    stubber.add_client_error("get_object", "NoSuchBucket", http_status_code=404)
    stubber.add_client_error("get_object", "NoSuchKey", http_status_code=404)
    stubber.activate()
    objects = S3Objects(client, "bucket")
    with pytest.raises(StoreError):
        objects.get(KEY)
    with pytest.raises(ObjectMissingError):
        objects.get(KEY)


NEVER_RAISED_BY_A_CALL = {
    "ImminentRemovalWarning",
    "UnsupportedTLSVersionWarning",
    "MissingServiceIdError",  # the library's own service models are incomplete
    "UndefinedModelAttributeError",
}


def _botocore_errors() -> list[type[Exception]]:
    """Every exception class that the client library declares."""
    found = [value for value in vars(botocore.exceptions).values() if isinstance(value, type)]
    return [value for value in found if issubclass(value, Exception) and value.__module__.startswith("botocore")]


@pytest.mark.parametrize(
    "kind",
    [kind for kind in _botocore_errors() if kind.__name__ not in NEVER_RAISED_BY_A_CALL],
    ids=lambda kind: kind.__name__,
)
def test_no_error_of_the_client_library_passes(kind: type[Exception]) -> None:
    error = kind.__new__(kind)
    if isinstance(error, ClientError):
        error.response = {"Error": {"Code": "X"}, "ResponseMetadata": {}}  # type: ignore[typeddict-item]  # enough
    with pytest.raises(StoreError) as caught, translated("put", KEY):
        raise error
    assert caught.value.__cause__ is error


def test_the_tree_of_errors_is_the_known_one() -> None:
    strangers = {kind.__name__ for kind in _botocore_errors() if not issubclass(kind, (BotoCoreError, ClientError))}
    assert strangers == NEVER_RAISED_BY_A_CALL


def test_a_body_that_breaks_off_is_an_error_of_the_store() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise botocore.exceptions.ResponseStreamingError(error="connection broken")
            return super().read(3 if size is None or size < 0 else min(size, 3))

    objects, _, _ = stubbed({"Body": Broken(b"abcdef")}, call="get_object")
    with objects.open(KEY) as stream:
        assert stream.read(3) == b"abc"
        with pytest.raises(StoreError):
            stream.read(3)


def test_an_upload_url_signs_size_type_checksum_and_absence() -> None:
    objects, _, _ = stubbed()
    sha256 = hashlib.sha256(b"body").hexdigest()
    put = objects.presign_put(KEY, size=4, sha256=sha256, content_type="application/octet-stream", expires_in=60)
    signed = put.url.partition("X-Amz-SignedHeaders=")[2].partition("&")[0].split("%3B")
    assert signed == ["content-length", "content-type", "host", "if-none-match", "x-amz-checksum-sha256"]
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in put.url
    assert {name.lower() for name in put.headers} == {*signed} - {"host"}


def recorded(action: Callable[[DynamoTable], object]) -> dict[str, Any]:
    """The request that a call makes of DynamoDB."""
    _, client = aws_clients(region=REGION)
    seen: list[dict[str, Any]] = []

    class Stop(Exception):  # noqa: N818 -- ends the call before it leaves the process
        pass

    def look(request: Any, **_: Any) -> None:
        seen.append(json.loads(request.body))
        raise Stop

    client.meta.events.register("before-send.dynamodb", look)
    with pytest.raises(Stop):
        action(DynamoTable(client, "table"))
    return seen[0]


READS: list[Callable[[DynamoTable], object]] = [
    lambda table: table.get("p", "s"),
    lambda table: list(table.query("p", "x")),
    lambda table: table.count("p"),
    lambda table: table.query_page("p"),
]


@pytest.mark.parametrize("read", READS, ids=["get", "query", "count", "page"])
def test_every_read_that_can_be_is_consistent(read: Callable[[DynamoTable], object]) -> None:
    assert recorded(read)["ConsistentRead"] is True


WRITES: list[Callable[[DynamoTable], object]] = [
    lambda table: table.put({"pk": "p", "sk": "s", "state": 1}, if_absent=True, or_before=("ttl", 5)),
    lambda table: table.update("p", "s", {"state": 1, "size": None}, expect={"user": "x", "date": None}),
    lambda table: table.delete("p", "s", expect={"state": 1}),
    lambda table: table.count_once("p", "s", "token", ttl=1),
    lambda table: table.query_index("by_day", "x"),
]


@pytest.mark.parametrize("write", WRITES, ids=["put", "update", "delete", "count", "index"])
def test_no_expression_names_an_attribute_itself(write: Callable[[DynamoTable], object]) -> None:
    """Hundreds of words are reserved: ``state``, ``size``, ``user``, ``date``, ``ttl`` and so on."""
    request = recorded(write)
    for part in ("ConditionExpression", "UpdateExpression", "KeyConditionExpression"):
        words = request.get(part, "").replace("(", " ").replace(")", " ").replace(",", " ").split()
        names = [word for word in words if word[0] not in "#:=<" and not word.isupper() and "_" not in word]
        assert [word for word in names if word != "contains"] == []


def test_indexes_project_what_listings_show() -> None:
    for indexes in (SESSION_INDEXES, VERDICT_INDEXES):
        for made in table_definition("t", indexes)["GlobalSecondaryIndexes"]:
            keys = [key["AttributeName"] for key in made["KeySchema"]]
            assert tuple(keys) == INDEXES[made["IndexName"]]
            if made["IndexName"] in VERDICT_INDEXES:
                assert made["Projection"]["NonKeyAttributes"] == list(INDEX_ATTRIBUTES)


def test_nothing_is_made_without_names() -> None:
    s3, dynamodb = aws_clients(region=REGION)
    store = aws_store(AwsNames("b", "s", "v"), s3, dynamodb)
    assert store.objects is not None
    assert make_aws_store is not None
