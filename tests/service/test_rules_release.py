"""Rules as releases: published, activated, rolled back, fetched and verified."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import RuleLoadError
from attribution_service.engine_source import EngineSource
from attribution_service.errors import InvalidRequestError, NotFoundError, StoreError
from attribution_service.rules_release import (
    CURRENT,
    activate,
    active_release,
    fetch_rules,
    publish_rules,
    roll_back,
)
from engine_kit import engine_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_service.ports import Store


@pytest.fixture
def versions(folder: Path) -> list[Path]:
    """Three folders of rules that differ."""
    for number in range(3):
        engine_of(folder / f"v{number}" / "rules", toml=f"# version {number}")
    return [folder / f"v{number}" / "rules" for number in range(3)]


def test_a_release_is_fetched_as_it_was_published(store: Store, versions: list[Path], folder: Path) -> None:
    digest = publish_rules(store.objects, versions[0])
    assert publish_rules(store.objects, versions[0]) == digest
    fetched = fetch_rules(store.objects, digest, folder / "cache")
    assert sorted(path.name for path in fetched.iterdir()) == ["base.toml", "extra.toml"]
    store.objects.delete(f"rules/{digest}/rules.zip")
    assert fetch_rules(store.objects, digest, folder / "cache") == fetched


def test_rules_that_do_not_load_are_not_published(store: Store, folder: Path) -> None:
    (folder / "bad").mkdir()
    (folder / "bad" / "x.toml").write_text("[[extractor]]\n", encoding="utf-8")
    with pytest.raises(RuleLoadError):
        publish_rules(store.objects, folder / "bad")
    assert list(store.objects.list("")) == []


def test_the_release_before_comes_back(store: Store, versions: list[Path]) -> None:
    digests = [publish_rules(store.objects, path) for path in versions]
    assert active_release(store.objects) is None
    with pytest.raises(InvalidRequestError):
        roll_back(store.objects, at=1)
    for at, digest in enumerate(digests):
        activate(store.objects, digest, at=at)
    assert roll_back(store.objects, at=10).digest == digests[1]
    found = active_release(store.objects)
    assert found is not None
    assert (found.digest, found.at, found.previous) == (digests[1], 10, (digests[2], digests[0]))


@pytest.mark.parametrize("digest", ["0" * 64, "", "../../etc", "current"])
def test_what_was_never_published_is_neither_activated_nor_fetched(store: Store, folder: Path, digest: str) -> None:
    with pytest.raises(NotFoundError):
        activate(store.objects, digest, at=1)
    with pytest.raises(NotFoundError):
        fetch_rules(store.objects, digest, folder / "cache")


def test_other_rules_than_the_name_says_are_refused(store: Store, versions: list[Path], folder: Path) -> None:
    first, second = (publish_rules(store.objects, path) for path in versions[:2])
    store.objects.put(f"rules/{first}/rules.zip", store.objects.get(f"rules/{second}/rules.zip"))
    with pytest.raises(StoreError, match="digest"):
        fetch_rules(store.objects, first, folder / "cache")
    assert not (folder / "cache" / first).exists()


def test_no_file_is_written_outside(store: Store, folder: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../escaped.toml", "x")
    store.objects.put(f"rules/{'a' * 64}/rules.zip", packed.getvalue())
    with pytest.raises(StoreError, match="escaped"):
        fetch_rules(store.objects, "a" * 64, folder / "cache")
    assert not list(folder.rglob("escaped.toml"))


class TestEngineSource:
    """Which engine a service gets."""

    def source(self, store: Store, folder: Path, release: str, bundled: Path) -> EngineSource:
        self.now = 1000.0
        return EngineSource(
            store.objects, release, folder=folder / "cache", cache=None, clock=lambda: self.now, bundled=bundled
        )

    def test_the_bundled_rules_unless_told_otherwise(self, store: Store, versions: list[Path], folder: Path) -> None:
        source = self.source(store, folder, "", versions[0])
        assert source() is source()
        assert source().digest == publish_rules(store.objects, versions[0])

    def test_the_release_that_the_setting_names(self, store: Store, versions: list[Path], folder: Path) -> None:
        digest = publish_rules(store.objects, versions[1])
        assert self.source(store, folder, digest, versions[0])().digest == digest

    def test_the_current_release_is_noticed_within_a_minute(
        self, store: Store, versions: list[Path], folder: Path
    ) -> None:
        first, second = (publish_rules(store.objects, path) for path in versions[1:])
        source = self.source(store, folder, CURRENT, versions[0])
        bundled = source().digest
        activate(store.objects, first, at=1)
        assert source().digest == bundled
        self.now += 60
        assert source().digest == first
        activate(store.objects, second, at=2)
        self.now += 60
        assert source().digest == second
        roll_back(store.objects, at=3)
        self.now += 60
        assert source().digest == first
