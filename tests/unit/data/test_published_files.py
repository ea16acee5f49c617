"""The registry of published files: all of them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from needlework.data.corpora.registry import CORPORA, languages_of
from needlework.data.published_files import load_registry
from needlework.errors import UserError


def test_the_registry_names_every_file_and_how_it_is_verified(root):
    registry = load_registry(root / "resources" / "sources.yaml")
    assert {name: len(source.files) for name, source in registry.items()} == {
        **{"mlqa": 1, "xquad": 12, "mmarco": 14, "lost-in-the-middle": 6, "wikipedia": 1},
        **{"oneruler": 104, "mlongrr": 12, "paul-graham-essays": 49},
        # A file a task, and the first release's archive.
        "m4le": 40,
    }
    files = [file for source in registry.values() for file in source.files]
    assert len({file.id for file in files}) == len({file.url for file in files}) == len(files)
    for file in files:
        assert file.url.startswith("https://") and unquote(file.url).endswith(Path(file.id).name)
        assert file.sha256 is None or (len(file.sha256) == 64 and int(file.sha256, 16))
        assert file.md5 is None or (len(file.md5) == 32 and int(file.md5, 16))
    for source in registry.values():
        assert source.revision and source.licence and source.citation and source.homepage
        assert source.revision == "V1" or any(source.revision in file.url for file in source.files)


def test_the_registry_has_the_languages_that_the_configuration_accepts(root):
    registry = load_registry(root / "resources" / "sources.yaml")
    for name, corpus in CORPORA.items():
        if corpus.source is not None and (corpus.part or not corpus.resources):
            files = [f for f in registry[corpus.source].files if f.part == corpus.part]
            held = {lang for file in files for lang in file.languages} | set(corpus.packaged)
            assert held == set(languages_of(name)), name
    assert registry["mmarco"].of("zh")[0].id == "mmarco/collections/chinese_collection.tsv"
    assert registry["mlqa"].of("hi") == registry["mlqa"].of("vi")
    with pytest.raises(UserError, match=r"xquad has no language 'fr': choose among ar, de, el"):
        registry["xquad"].of("fr")


ENTRY = """
a:
  {{title: t, homepage: h, revision: r, licence: l, citation: c,
   files: [{{id: {id}, url: u, languages: [en], {rest}}}]}}
"""


@pytest.mark.parametrize(
    "text",
    [
        *("a: [", "a: 1", "[]", "", "a: {files: []}"),
        *(ENTRY.format(id="a/b", rest=rest) for rest in ("sha: 1", "size: 1")),
        *(ENTRY.format(id=name, rest="sha256: x") for name in ("a/../b", "/a/b", "b/b")),
    ],
)
def test_a_malformed_registry_is_refused(tmp_path, text):
    path = tmp_path / "sources.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"sources\.yaml is not a valid registry"):
        load_registry(path)
    path.write_text(ENTRY.format(id="a/b.tsv", rest="sha256: x"))
    assert load_registry(path)["a"].of("en")[0].id == "a/b.tsv"
