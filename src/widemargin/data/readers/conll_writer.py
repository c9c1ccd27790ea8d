"""Write sentences to files: as they were read except for replaced cells, or from scratch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from widemargin.data.readers.cells import Columns
from widemargin.data.readers.conll import CONLLU
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.formats import DOCUMENT
from widemargin.errors import DataError

_BLANKS = re.compile("([ \t]+)")
#: The cell of an empty column.
_NOTHING = {"conll": "O", "conllu": "_"}


def write_conll(
    corpus: Corpus,
    file: Any,
    replaced: Mapping[str, Sequence[str]] | None = None,
    format: str | None = None,
) -> None:
    """Write sentences.

    Parameters
    ----------
    corpus : Corpus
        The sentences. Those from a CoNLL file are written as they were read, byte for byte,
        except for the cells that are replaced.
    file : path or open text file
        Where to write.
    replaced : dict of str to list of str
        New content of columns, one string per token. In "conll", a new name appends a column.
    format : {"conll", "conllu"}
        The format for sentences from lists or plain text; by default conll, separated by tabs.

    Examples
    --------
    >>> from widemargin.structured import Corpus, write_conll
    >>> corpus = Corpus.of([["dogs", "bark"]], [["NOUN", "VERB"]])
    >>> write_conll(corpus, "out.conll")
    >>> print(open("out.conll").read().replace("\\t", " ").strip())
    dogs NOUN
    bark VERB
    """
    text = conll_text(corpus, replaced or {}, format)
    if hasattr(file, "write"):
        file.write(text)
        return
    with open(file, "w", encoding="utf-8", newline="") as out:
        out.write(text)


def conll_text(
    corpus: Corpus, replaced: Mapping[str, Sequence[str]], format: str | None = None
) -> str:
    """What `write_conll` writes, as one string."""
    columns = Columns.of(corpus.columns)
    replaced = {**columns.changed, **replaced}
    for name, cells in replaced.items():
        if len(cells) != corpus.tokens:
            raise DataError(f"column {name!r}: {len(cells)} cells for {corpus.tokens} tokens")
    if corpus.layout is None or format not in (None, corpus.format):
        return _made_anew(corpus, replaced, format or "conll")
    lines, layout = list(corpus.layout.text.lines), corpus.layout
    if replaced:
        _replace(lines, corpus, columns.in_file, replaced)
    return "\n".join(lines) + "\n" * (not layout.open_end and len(lines) > 0)


def _replace(
    lines: list[str],
    corpus: Corpus,
    in_file: Mapping[str, int],
    replaced: Mapping[str, Sequence[str]],
) -> None:
    """Replace cells in the lines of tokens."""
    places, added = {}, []
    for name, cells in replaced.items():
        if name == "word" and name not in in_file and "form" in in_file:
            name = "form"
        if name in in_file:
            places[in_file[name]] = cells
        elif corpus.format == "conllu":
            raise DataError(f"CoNLL-U has no column {name!r}; it has {', '.join(CONLLU)}")
        else:
            added.append(cells)
    assert corpus.layout is not None
    split = _BLANKS.split if corpus.format == "conll" else _split_tabs
    width = max(in_file.values()) + 1
    for token, row in enumerate(corpus.layout.rows.tolist()):
        line, end = lines[row], ""
        between = "\t" if "\t" in line else " "
        simple = line.split(between)
        if len(simple) == width and line[-1] not in "\r ":
            for place, cells in places.items():
                simple[place] = cells[token]
            lines[row] = between.join([*simple, *(cells[token] for cells in added)])
            continue
        if line.endswith(("\r", " ")):
            line = lines[row].rstrip("\r ")
            end = lines[row][len(line) :]
        pieces = split(line)
        first = 2 * (pieces[0] == "")  # blanks before the first column
        for place, cells in places.items():
            pieces[2 * place + first] = cells[token]
        for cells in added:
            pieces += [pieces[1 + first] if len(pieces) > 1 + first else " ", cells[token]]
        lines[row] = "".join(pieces) + end
    if added:
        for row, line in enumerate(lines):
            if line.startswith(DOCUMENT):
                body = line.rstrip("\r ")
                lines[row] = body + f" {_NOTHING['conll']}" * len(added) + line[len(body) :]


def _split_tabs(line: str) -> list[str]:
    """Cells, with the tabs between them."""
    pieces = ["\t"] * (2 * line.count("\t") + 1)
    pieces[::2] = line.split("\t")
    return pieces


def _made_anew(corpus: Corpus, replaced: Mapping[str, Sequence[str]], format: str) -> str:
    """Lines for sentences that were not read from a CoNLL file."""
    columns = {**corpus.columns, **replaced}
    if format == "conllu":
        nothing = ["_"] * corpus.tokens
        columns = {"form": columns.pop(corpus.names[0]), **columns}
        unknown = sorted(set(columns) - set(CONLLU))
        if unknown:
            raise DataError(f"CoNLL-U has no column {unknown[0]!r}; it has {', '.join(CONLLU)}")
        place = [i + 1 for length in corpus.lengths.tolist() for i in range(length)]
        made: list[Any] = [list(map(str, place)), *(columns.get(name, nothing) for name in CONLLU)]
    elif format == "conll":
        made = list(columns.values())
    else:
        raise DataError(f"format={format!r} cannot be written; choose conll or conllu")
    lines = list(map("\t".join, zip(*made, strict=True)))
    starts = corpus.starts.tolist()
    blocks = ["\n".join([*lines[a:b], "\n"]) for a, b in pairwise(starts)]
    return "".join(blocks)
