"""The tags that a parser uses: which columns, and the parser's own taggers for them.

The column feats of CoNLL-U has hundreds of values such as Case=Nom|Number=Sing, most of them rare.
They are not learned whole. Instead, attributes are grouped so that each group has few distinct
values, one tagger learns each group, and the predictions of the taggers are joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from widemargin.data.encode.tokens import Tokens
from widemargin.data.readers.cells import Columns
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.evaluate.folds import consecutive_folds
from widemargin.structured.parser.stages import Stages
from widemargin.structured.parser.treebank import MOST_COLUMNS, hash_tags
from widemargin.structured.tagger.model import TaggerModel

#: The column whose values consist of attributes.
_FEATURES = "feats"
#: A column with more distinct values than this does not hold tags.
_MOST_TAGS = 512
#: Maximum number of values per group of attributes. FEATS on the dev sets with groups of 16, 48
#: and 128: Turkish 81.0, 81.6, 81.3 %; Greek 89.9 % (48), 90.0 % (128).
_MOST_VALUES = 48
#: If upos and xpos predict the features of at least this share of tokens, a parser uses them,
#: otherwise upos and feats. For English the share is 0.84, and feats gain 0.1 points of LAS but
#: halve the tagging speed; for Turkish it is 0.58 and the gain 1.3, for Greek 0.46 and 0.8 (dev
#: sets, greedy).
_TOLD = 0.75
#: Where tags come from, as written in `Parser.tags`.
_SOURCES = ("own", "gold")


class RequestedTags(NamedTuple):
    """The meaning of `Parser.tags`: whether the parser has its own taggers, and which columns."""

    own: bool
    columns: tuple[str, ...]  # empty if the corpus decides


def parse_tags(tags: str | Sequence[str]) -> RequestedTags:
    """Parse the parameter `tags` of a parser.

    Examples
    --------
    >>> parse_tags("own"), parse_tags(["own", "upos", "feats"])
    (RequestedTags(own=True, columns=()), RequestedTags(own=True, columns=('upos', 'feats')))
    >>> parse_tags("upos,xpos")
    RequestedTags(own=False, columns=('upos', 'xpos'))
    """
    names = tags.split(",") if isinstance(tags, str) else list(tags)
    own = names[:1] == ["own"]
    columns = tuple(names[1:] if names[:1] and names[0] in _SOURCES else names)
    wrong = [name for name in columns if name in _SOURCES or not name]
    if not names or wrong or len(set(columns)) < len(columns) or len(columns) > MOST_COLUMNS:
        raise ValueError(
            f"tags={tags!r} must be 'own' or 'gold', one to {MOST_COLUMNS} different columns, or"
            " 'own' or 'gold' followed by columns"
        )
    return RequestedTags(own, columns)


def choose_columns(corpus: Corpus, asked: RequestedTags) -> tuple[str, ...]:
    """The tag columns: those requested, or else those that suit the corpus."""
    if asked.columns:
        columns = tuple(corpus.name_of(name) for name in asked.columns)
        for name in columns:
            if corpus.tokens and set(corpus.column(name)) == {"_"}:
                raise DataError(
                    f"{corpus.source}: the column {name!r} is '_' everywhere, so it has no tags;"
                    f" choose others ({', '.join(corpus.names[1:])})"
                )
        return columns
    if "upos" not in corpus.names:
        raise DataError(
            f"{corpus.source}: has no column 'upos' ({', '.join(corpus.names)}); name"
            " the column of the tags with tags="
        )
    second = len(set(corpus.column("xpos"))) if "xpos" in corpus.names else 0
    columns = ("upos", "xpos") if 1 < second <= _MOST_TAGS else ("upos",)
    if _FEATURES in corpus.names and _share_told(corpus, columns) < _TOLD:
        return ("upos", _FEATURES)
    return columns


def _share_told(corpus: Corpus, columns: tuple[str, ...]) -> float:
    """The share of tokens whose features are the most frequent ones of their tags."""
    tags = zip(*(corpus.column(name) for name in columns), strict=True)
    pairs = Counter(zip(tags, corpus.column(_FEATURES), strict=True))
    most: dict[tuple[str, ...], int] = {}
    for (tag, _), times in pairs.items():
        most[tag] = max(times, most.get(tag, 0))
    return sum(most.values()) / max(1, corpus.tokens)


def group_attributes(values: Sequence[str], most: int = _MOST_VALUES) -> list[tuple[str, ...]]:
    """Put attributes into groups with at most `most` values each, if possible.

    At first every attribute is its own group. The two groups with the fewest joint values are
    merged, as long as they do not exceed the limit.

    Examples
    --------
    >>> values = ["Case=Nom|Number=Sing", "Case=Nom|Number=Plur", "Case=Acc|Number=Plur"]
    >>> values.append("Mood=Imp")
    >>> group_attributes(values, most=3)
    [('Case', 'Mood'), ('Number',)]
    >>> group_attributes(values)
    [('Case', 'Mood', 'Number')]
    """
    distinct = sorted(set(values))
    names = sorted({_name(part) for value in distinct for part in _parts(value)})
    codes: dict[tuple[str, ...], np.ndarray] = {}
    for name in names:
        codes[name,] = _numbered([_project(value, (name,)) for value in distinct])
    while len(codes) > 1:
        joint = {
            (a, b): len(np.unique(codes[a] * len(distinct) + codes[b]))
            for a, b in combinations(codes, 2)
        }
        a, b = min(joint, key=lambda pair: (joint[pair], pair))
        if joint[a, b] > most:
            break
        both = codes.pop(a) * len(distinct) + codes.pop(b)
        codes[tuple(sorted(a + b))] = np.unique(both, return_inverse=True)[1]
    return sorted(codes)


def join_features(parts: Sequence[str]) -> str:
    """Join the predicted parts into one value, its attributes in the order CoNLL-U requires.

    Examples
    --------
    >>> join_features(["Number=Sing", "_", "Case=Nom|Gender=Fem"])
    'Case=Nom|Gender=Fem|Number=Sing'
    """
    found = [part for value in parts for part in _parts(value)]
    return "|".join(sorted(found, key=str.lower)) or "_"


def _parts(value: str) -> list[str]:
    return [] if value == "_" else value.split("|")


def _name(part: str) -> str:
    return part.partition("=")[0]


def _project(value: str, group: tuple[str, ...]) -> str:
    """The attributes of a value that belong to a group."""
    return "|".join(part for part in _parts(value) if _name(part) in group) or "_"


def _numbered(values: Sequence[str]) -> np.ndarray:
    return np.unique(np.array(values, object), return_inverse=True)[1]


class OwnTaggers:
    """Trains the taggers of a parser.

    Parameters
    ----------
    params : dict
        The parameters of every tagger.
    jackknife : int
        The training sentences are tagged in this many parts, each by taggers trained on the others;
        with 0 or 1, by taggers trained on all.
    stages : Stages
        Runs the trainings.
    """

    def __init__(self, params: dict[str, Any], jackknife: int, stages: Stages) -> None:
        self._params, self._jackknife, self._stages = params, jackknife, stages

    def learn(self, corpus: Corpus, name: str) -> tuple[list[TaggerModel], list[str]]:
        """The taggers of a column, and their tags for the training sentences."""
        cells = corpus.column(name)
        if name != _FEATURES:
            tagger, tags = self._learn_tags(corpus, name, cells)
            return [tagger], tags
        taggers, columns = [], []
        for group in group_attributes(cells):
            projected = {value: _project(value, group) for value in set(cells)}
            its = [projected[value] for value in cells]
            tagger, tags = self._learn_tags(corpus, f"{name}:{','.join(group)}", its)
            taggers.append(tagger)
            columns.append(tags)
        joined = {parts: join_features(parts) for parts in set(zip(*columns, strict=True))}
        return taggers, [joined[parts] for parts in zip(*columns, strict=True)]

    def _learn_tags(
        self, corpus: Corpus, name: str, cells: list[str]
    ) -> tuple[TaggerModel, list[str]]:
        """One tagger, and its tags for the training sentences."""
        tagged = Corpus(Columns({"word": corpus.words, "tag": cells}), corpus.starts)
        whole = self._stages.fit_tagger(f"{name} tagger", self._params, tagged)
        whole = replace(whole, column=name)
        return whole, self._jackknifed(tagged, whole)

    def _jackknifed(self, tagged: Corpus, whole: TaggerModel) -> list[str]:
        """The tags that taggers give to sentences they were not trained on."""
        parts = min(int(self._jackknife), len(tagged))
        if parts < 2:
            return _flat_tags(whole, tagged)
        found: list[str] = []
        for part, fold in enumerate(consecutive_folds(len(tagged), parts), 1):
            others, these = tagged[fold.train], tagged[fold.test]
            known = set(others.column("tag"))
            if len(known) == 1:  # nothing to learn
                found += [*known] * these.tokens
                continue
            name = f"{whole.column} tagger, part {part}"
            found += _flat_tags(self._stages.fit_tagger(name, self._params, others), these)
        return found


def _flat_tags(tagger: TaggerModel, corpus: Corpus) -> list[str]:
    """The tags of all tokens."""
    return np.array(tagger.tags, object)[tagger.codes(corpus)].tolist()


class ReadTags(NamedTuple):
    """The tags of all tokens, and their hashes."""

    tags: list[str]
    hashed: np.ndarray


def taggers_of(taggers: Sequence[TaggerModel], name: str) -> list[TaggerModel]:
    """The taggers of a column."""
    return [one for one in taggers if one.column == name or one.column.startswith(f"{name}:")]


def tag_column(
    taggers: Sequence[TaggerModel], corpus: Corpus, n_jobs: int | None, tokens: Tokens
) -> ReadTags:
    """The tags predicted by the taggers of a column."""
    codes = [tagger.codes(corpus, n_jobs, tokens) for tagger in taggers]
    if len(taggers) == 1 and ":" not in taggers[0].column:
        names, which = taggers[0].tags, codes[0]
    else:
        which = np.zeros(corpus.tokens, np.int64)
        for tagger, its in zip(taggers, codes, strict=True):
            which = np.unique(which * len(tagger.tags) + its, return_inverse=True)[1]
        first = np.unique(which, return_index=True)[1]
        names = [
            join_features([tagger.tags[its[k]] for tagger, its in zip(taggers, codes, strict=True)])
            for k in first.tolist()
        ]
    return ReadTags(np.array(names, object)[which].tolist(), hash_tags(names)[which])
