"""Lines of keys: right whatever strings, comments and brackets stand in between."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.rules.toml_lines import scan_lines

TEXT = """# [[extractor]] in a comment
author = "a # b [[x]]"
doc = '''
[[extractor]]
name = 1
'''

[[extractor]]   # first
name = "x"
match_re = '''a[[b]]"c''''''
list = [
  { id = "a", n = [1, 2] },
  # between
  { id = "b", text = \"\"\"
x = 3
\"\"\" }, { id = "c" },
]
"quoted key" = 1
emit.type = "bad_node"

[extractor.payload]
k = 1

[[extractor]]
name = "y"
"""


def test_keys_tables_and_elements_have_their_lines() -> None:
    lines = scan_lines(TEXT)
    first, second = lines.tables["extractor"]
    assert lines.root.keys == {"author": 2, "doc": 3}
    assert (first.line, second.line) == (8, 24)
    assert first.items["list"] == [12, 14, 16]
    assert first.of("match_re") == 10
    assert first.of("quoted key") == 18
    assert (first.of("emit"), first.of("emit.type"), first.of("payload")) == (19, 19, 21)
    assert second.of("name") == 25
    assert second.of("nowhere") == 24
    assert first.of("list", 1) == 14
    assert first.of("list", 9) == 11


_VALUE = st.one_of(
    st.integers().map(str),
    st.booleans().map(lambda flag: str(flag).lower()),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="'")).map(lambda text: f"'{text}'"),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="'\\")).map(
        lambda text: f"'''\n{text}\n'''"
    ),
    st.lists(st.sampled_from(["1", "'a]'", "[2, 3]", "{ x = '[' }"])).map(
        lambda items: "[\n" + ",\n".join(items) + "]"
    ),
)
_STATEMENT = st.one_of(
    st.just("# comment [[t]]\n"), st.just("\n"), st.just("[[t]]\n"), _VALUE.map(lambda value: f"KEY = {value}\n")
)


@given(st.lists(_STATEMENT, max_size=30))
def test_every_key_is_found_where_it_stands(statements: list[str]) -> None:
    text, wanted, line = "", [], 1
    for index, statement in enumerate(statements):
        key = f"k{index}"
        if statement.startswith("KEY"):
            wanted.append((key, line))
        text += statement.replace("KEY", key, 1) if statement.startswith("KEY") else statement
        line += statement.count("\n")
    tomllib.loads(text)
    lines = scan_lines(text)
    found = {**lines.root.keys}
    for table in lines.tables.get("t", []):
        found.update(table.keys)
    assert sorted(found.items(), key=lambda item: item[1]) == wanted
