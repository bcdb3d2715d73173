"""Which secrets are masked, what is left alone, and that nothing else moves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.redaction import MASK, redact

_HEX40 = "0123456789abcdef0123456789abcdef01234567"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("authorization: bearer s3cr3t", "s3cr3t"),
        ("> Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("curl -H 'Authorization: token 0a1b2c3d' https://x", "0a1b2c3d"),
        ("headers={'Authorization': 'Bearer abc123'}", "abc123"),
        (f"using bearer {_JWT} for login", _JWT),
        (f"cookie session={_JWT}", _JWT),
        ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("role key ASIAIOSFODNN7EXAMPLE used", "ASIAIOSFODNN7EXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("export AWS_SESSION_TOKEN='FwoGZXIvYXdzE=='", "FwoGZXIvYXdzE=="),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh python train.py", "hf_abcdefghijklmnopqrstuvwxyzabcdefgh"),
        ("login with hf_abcdefghijklmnopqrstuvwxyzabcdefgh ok", "hf_abcdefghijklmnopqrstuvwxyzabcdefgh"),
        (f"WANDB_API_KEY={_HEX40}", _HEX40),
        (f"wandb login --relogin {_HEX40}", _HEX40),
        (f'wandb.login(key="{_HEX40}")', _HEX40),
        (f"  password {_HEX40}", _HEX40),
        ("OPENAI_API_KEY: sk-abcdefghijklmnopqrstuvwx", "sk-abcdefghijklmnopqrstuvwx"),
        ("got ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("docker login nvcr.io -p nvapi-abcdefghijklmnopqrstuvwxyz_0", "nvapi-abcdefghijklmnopqrstuvwxyz_0"),
        ("PASSWORD=hunter2 next", "hunter2"),
        ("MYSQL_PASSWORD='two words' x", "two words"),
        ('password: "s3cr3t"', "s3cr3t"),
        ("{'passwd': 'x y z'}", "x y z"),
        ("python t.py --api-key abc123 --lr 3", "abc123"),
        ("python t.py --hf_token=abc123 --lr 3", "abc123"),
        ("client_secret=abc123&scope=x", "abc123"),
        ("MY_KEY=v1", "v1"),
        ("postgres://user:p@ss@db.local:5432/x", "user:p@ss"),
        ("git clone https://oauth2:tok@github.com/x.git", "oauth2:tok"),
        ("GET https://b.s3.amazonaws.com/k?X-Amz-Signature=0a1b2c&x=1", "0a1b2c"),
        ("https://x.blob.core.windows.net/c?sv=1&sig=ab%2Bcd", "ab%2Bcd"),
    ],
)
def test_a_secret_is_masked_and_the_rest_of_its_line_kept(line: str, secret: str) -> None:
    text = f"before\n{line}\nafter\n"
    masked, count = redact(text.encode())
    assert masked.decode() == text.replace(secret, MASK.decode())
    assert count == 1


def test_a_secret_in_a_message_that_a_journal_wrote_as_bytes_is_masked() -> None:
    array = json.dumps(list(b"\x1b[1mPASSWORD=hunter2\x1b[0m next"))
    masked, count = redact(f'{{"MESSAGE":{array}}}'.encode())
    assert (masked, count) == (b'{"MESSAGE":"PASSWORD=[REDACTED] next"}', 1)


@pytest.mark.parametrize(
    "line",
    [
        "iteration 1200/100000 | tokens per second: 12000 | loss 2.3",
        "pad_token=<pad> eos_token: 2 tokenizer=llama",
        f"git commit {_HEX40}",
        f"wandb: run at sha256:{_HEX40}",
        "bearer authentication failed",
        "docker://nvcr.io/nvidia/pytorch:24.01-py3",
        "docker://ubuntu@sha256:0a1b2c3d",
        'MountVolume.SetUp failed for volume "hf-token" : secret "hf-token" not found',
        "s3://bucket/key@2026 http://10.0.0.1:29500/x",
        "KeyError: 'password'",
        "api_key=None token=None",
        "sort_key=loss cache_key=abc",
        "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>",
        "task-force risk-averse-and-very-long-word-indeed",
        'PASSWORD=""',
        "",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(line: str) -> None:
    assert redact(line.encode()) == (line.encode(), 0)


def test_the_body_of_a_private_key_is_masked_line_by_line() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabcdefghijkl+/==\n-----END RSA PRIVATE KEY-----\nafter\n"
    masked, count = redact(key.encode())
    assert count == 1
    assert masked.decode().splitlines() == [
        "-----BEGIN RSA PRIVATE KEY-----",
        "[REDACTED]",
        "[REDACTED]",
        "-----END RSA PRIVATE KEY-----",
        "after",
    ]


@pytest.mark.parametrize(
    "line",
    [
        'export PASSWORD="two words" x',
        "PASSWORD=",
        "PASSWORD='",
        'password: "',
        "HF_TOKEN=abc\\",
        "Authorization: Bearer ",
        "postgres://u:p@h/x",
        "-----BEGIN PRIVATE KEY-----\nabcdefghijkl\n-----END PRIVATE KEY-----",
    ],
)
def test_a_json_body_stays_json_with_the_same_entries(line: str) -> None:
    body = {"source": "applog", "entry_timeseries": [{"line": line, "ts": "2026-06-01T00:00:00Z"}, "next"]}
    for text in (json.dumps(body), json.dumps(body, indent=1), json.dumps(body, separators=(",", ":"))):
        masked = json.loads(redact(text.encode())[0])
        assert masked["entry_timeseries"][1:] == ["next"]
        assert masked["entry_timeseries"][0]["ts"] == "2026-06-01T00:00:00Z"
        assert masked["entry_timeseries"][0]["line"].count("\n") == line.count("\n")


_PIECES = st.sampled_from(
    [
        "PASSWORD=",
        "_KEY=",
        '"',
        "'",
        "\\",
        "\\u0041",
        "\n",
        "\r",
        " ",
        ":",
        "=",
        "@",
        "://",
        "Bearer ",
        "Authorization",
        "hf_abcdefghijklmnopqrstuv",
        "[REDACTED]",
        "AKIAIOSFODNN7EXAMPLE",
        _HEX40,
        "wandb",
        "-----BEGIN PRIVATE KEY-----",
        "abc123",
        "é",
        "{",
        "}",
        ",",
    ]
)


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_lines_keep_their_number_and_masking_twice_changes_nothing(text: str) -> None:
    masked, _ = redact(text.encode())
    assert masked.count(b"\n") == text.count("\n")
    assert masked.count(b"\r") == text.count("\r")
    assert redact(masked) == (masked, 0)


@given(st.lists(_PIECES, max_size=20).map("".join))
def test_no_text_in_an_entry_can_break_the_json_around_it(line: str) -> None:
    body = json.dumps({"entry_timeseries": [line, {"line": line}, "end"]}, ensure_ascii=False).encode()
    masked = json.loads(redact(body)[0])
    assert masked["entry_timeseries"][2] == "end"
    assert len(masked["entry_timeseries"]) == 3


@given(st.binary(max_size=300))
def test_any_bytes_are_taken(data: bytes) -> None:
    masked, count = redact(data)
    assert (count == 0) == (masked == data)


def test_text_without_secrets_is_returned_as_it_is() -> None:
    data = b"nothing to see\n" * 100
    assert redact(data)[0] is data
