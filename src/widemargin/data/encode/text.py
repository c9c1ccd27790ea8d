"""From texts to rows: hashed words or n-grams."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from widemargin.data.encode.characters import CONTEXTUAL, byte_table, character_table
from widemargin.data.encode.documents import not_a_string, strings_of
from widemargin.data.encode.names import NAME_BYTES, NameTable
from widemargin.data.encode.pieces import (
    Queue,
    RowCollector,
    RowStacker,
    WorkArrays,
    cut,
    most_features,
    spare_room,
)
from widemargin.data.readers.chunk import Texts
from widemargin.data.rows import Rows, Stack, frozen
from widemargin.errors import DataError
from widemargin.loops.text.documents import WORDS, TextOptions, encode_piece, finish_rows
from widemargin.loops.text.gather import BAD_BYTE, NEEDS_TABLE, Tables
from widemargin.loops.text.names import FULL, NAMING, UNNAMED
from widemargin.modelfile.checks import check_places, check_room, check_shape
from widemargin.modelfile.packing import pack_sparse, unpack_sparse
from widemargin.parameters.values import check_choice, check_whole, is_whole
from widemargin.threads import run_all, split

ANALYZERS = ("word", "char", "char_wb")
WEIGHTINGS = ("count", "binary", "sublinear")
#: 1 + log c for common counts c.
_LOGS = frozen(1.0 + np.log(np.maximum(np.arange(1024.0), 1.0)))
_NOTHING_SEEN = frozen(np.zeros(1, np.uint32))

#: Once the table of names is half full, only one in this many pieces is searched for names.
_NOTED = 8


class TextEncoder:
    """Documents as rows of hashed words, word n-grams or character n-grams.

    A feature's column is |h| mod 2 ** bits, where h is the MurmurHash3 of its UTF-8 bytes (of an
    n-gram of words: with single blanks between them), as in scikit-learn's FeatureHasher. Only a
    bounded table of names is stored, for inspection.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
        What n-grams are made of: words; characters; characters within words, each word with a
        blank before and after it.
    ngrams : int or (int, int)
        The longest n-gram (of words: beginning with single ones; of characters: only this long),
        or the shortest and the longest.
    lowercase : bool
        Convert to lower case.
    min_length : int
        Words with fewer characters are left out. (Only for "word".)
    bits : int
        There are 2 ** bits columns, 4 to 30.
    signed : bool
        Let the sign of the hash decide whether a feature adds 1 or -1, so that names that share a
        column cancel rather than add up.
    weighting : {"count", "binary", "sublinear"}
        The value of a feature that a document has c times: c, 1, or 1 + log c.
    idf : bool or "seen"
        Multiply by log((1 + n) / (1 + n_c)) + 1, n_c of n documents having column c. These are
        counted by `observe`. With "seen", a column that no document had is ignored.
    norm : {"l2", None}
        Whether rows are scaled to unit length.
    errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8: raise an error, or replace them by U+FFFD.
    names : int
        Maximum number of feature names stored; 0 stores none.

    Examples
    --------
    >>> encoder = TextEncoder(ngrams=2)
    >>> rows = encoder.encode(texts_of(["A rose is a rose is a rose."]), bias=0.0, note=True)
    >>> sorted(encoder.feature_name(column) for column in rows.stored.indices)
    ['is', 'is rose', 'rose', 'rose is']
    """

    kind: ClassVar[str] = "text"

    def __init__(
        self,
        *,
        analyzer: str = "word",
        ngrams: int | tuple[int, int] = 1,
        lowercase: bool = True,
        min_length: int = 2,
        bits: int = 22,
        signed: bool = False,
        weighting: str = "sublinear",
        idf: bool | str = False,
        norm: str | None = "l2",
        errors: str = "strict",
        names: int = 1 << 18,
    ) -> None:
        check_choice("analyzer", analyzer, ANALYZERS)
        check_choice("weighting", weighting, WEIGHTINGS)
        check_choice("norm", norm, ("l2", None))
        check_choice("errors", errors, ("strict", "replace"))
        if isinstance(idf, str):
            check_choice("idf", idf, ("seen",), other="True or False")
        low, high = _range(ngrams, analyzer)
        check_whole("bits", bits, least=4, most=30)
        check_whole("min_length", min_length, least=1, most=1 << 20)
        check_whole("names", names, least=0, most=1 << 24)
        self.options: dict[str, Any] = {
            "analyzer": analyzer,
            "ngrams": (low, high),
            "lowercase": bool(lowercase),
            "min_length": int(min_length),
            "bits": int(bits),
            "signed": bool(signed),
            "weighting": weighting,
            "idf": idf if isinstance(idf, str) else bool(idf),
            "norm": norm,
            "errors": errors,
            "names": int(names),
        }
        self.how = TextOptions(
            analyzer=ANALYZERS.index(analyzer),
            low=low,
            high=high,
            least=int(min_length),
            mask=(1 << int(bits)) - 1,
            signed=bool(signed),
            weighting=WEIGHTINGS.index(weighting),
            l2=norm == "l2",
            named=UNNAMED,
        )
        self.names = NameTable(int(bits), int(names)) if names else None
        self.documents = 0
        self._having = np.zeros(self.width if idf else 0, np.uint32)
        self._kept_idf: tuple[Any, ...] = ()
        self._everything = False  # whether non-ASCII text was met

    @property
    def width(self) -> int:
        """Number of features in a row."""
        return self.how.mask + 1

    def observe(self, raw: Texts, threads: int = 1) -> None:
        """Count the documents with each column, if `idf` is set."""
        if not self.options["idf"]:
            return
        self.encode_first(raw, Stack(), threads)

    def absorb(self, other: Self) -> None:
        """Add the counts of the documents that another encoder observed."""
        self._having = self._having + other._having
        self.documents += other.documents

    def encode(self, raw: Texts, bias: float, threads: int = 1, *, note: bool = False) -> Rows:
        """Documents as rows, extended by a constant feature `bias`.

        Each column occurs at most once per row, in no particular order. The number of threads only
        affects the time. With `note`, as in training, the names of new features are recorded, and
        with idf="seen" these features count from now on.
        """
        if self.options["idf"] and not self.documents:
            raise DataError("idf needs a first pass over the documents: call observe before encode")
        if note and self.options["idf"] == "seen":
            self._admit(raw, threads)
        collector = RowCollector(raw)
        names = self.names if note else None
        self._encode(raw, threads, self._tables(), names, self.how, collector)
        return collector.rows(bias, self.width)

    def _admit(self, raw: Texts, threads: int) -> None:
        """Count each new column as if one document had it; leave other counts unchanged."""
        found = np.zeros_like(self._having)
        collector = RowStacker(Stack(), found)
        self._encode(raw, threads, self._tables(idf=False), None, self.how, collector)
        self._having = np.where((self._having == 0) & (found > 0), np.uint32(1), self._having)

    def encode_first(
        self, raw: Texts, stack: Stack, threads: int = 1, *, note: bool = False
    ) -> None:
        """Do `observe` and `encode` in one pass, and append the rows to a stack in memory.

        With idf, values are final only after `finish`, which is called after the last documents.
        """
        idf, names = self.options["idf"], self.names if note else None
        how = self.how._replace(l2=False) if idf else self.how
        self._encode(
            raw, threads, self._tables(idf=False), names, how, RowStacker(stack, self._having)
        )
        stack.mark()
        if idf:
            self.documents += len(raw.starts)

    def fresh(self) -> Self:
        """An encoder with the same options that has seen no documents and stores no names."""
        return type(self)(**{**self.options, "names": 0})

    def count(self, rows: Rows) -> None:
        """Count documents with each column as `encode_first` does, from the rows that it made.

        After `finish`, these rows are those of an encoder that has seen no other documents.
        """
        if not self.options["idf"]:
            return
        having = np.bincount(rows.stored.indices, minlength=self.width)
        self._having += having.astype(np.uint32)
        self.documents += rows.n

    def finish(self, rows: Rows, threads: int = 1) -> None:
        """Give rows from `encode_first` their final values, in place."""
        if not self.options["idf"]:
            return
        stored, idf = rows.stored, self._tables().idf
        values = stored.values.view()
        values.setflags(write=True)
        run_all(
            lambda part: finish_rows(
                stored.indices, values, stored.starts[part.start : part.stop + 1], idf, self.how.l2
            ),
            split(rows.n, threads),
            threads,
        )

    def _encode(
        self,
        raw: Texts,
        threads: int,
        tables: Tables,
        names: NameTable | None,
        how: TextOptions,
        collector: RowCollector | RowStacker,
    ) -> None:
        raw = Texts(*(frozen(array) for array in raw))
        edges, turns = cut(raw), Queue()
        everywhere = names is not None and not names.is_half_full

        def work(number: int) -> None:
            first, last = edges[number], edges[number + 1]
            noted = names if everywhere or number % _NOTED == 0 else None
            with spare_room() as room:
                try:
                    count = self._piece(raw, first, last, how, tables, noted, room)
                except BaseException:
                    turns.fail(number)
                    raise
                with turns.turn(number) as fine:
                    if fine:
                        collector.take(first, last, room.found, count)
                        if noted is not None:
                            noted.note(room.fresh)

        run_all(work, range(len(edges) - 1), threads)

    def _piece(
        self,
        raw: Texts,
        first: int,
        last: int,
        how: TextOptions,
        tables: Tables,
        names: NameTable | None,
        room: WorkArrays,
    ) -> int:
        """Encode documents first ... last - 1 into a buffer; returns their number of features."""
        seen = _NOTHING_SEEN
        if names is not None:
            how = how._replace(named=FULL if names.is_full else NAMING)
            seen = frozen(names.seen)
        texts, a, b = raw, first, last
        if self._everything:
            tables = tables._replace(wide=self._wide(True))
        while True:
            room.fit(how, texts, a, b)
            count, document, trouble = encode_piece(
                texts,
                np.uint64(a),
                np.uint64(b),
                how,
                tables,
                room.work,
                seen,
                room.found,
                room.fresh,
                None if how.analyzer == WORDS else True,
            )
            if trouble == 0:
                return int(count)
            if trouble == NEEDS_TABLE:
                self._everything = True
                tables = tables._replace(wide=self._wide(True))
            elif trouble == BAD_BYTE and self.options["errors"] == "strict":
                raise _not_utf8(int(document) - a + first, int(room.work.bad[0]))
            else:
                texts, a, b = self._rewritten(raw, first, last), 0, last - first

    def _rewritten(self, raw: Texts, first: int, last: int) -> Texts:
        """Documents after the steps that the loops cannot do: rare letters, bytes to replace."""
        texts = []
        for document in range(first, last):
            found = raw.buffer[raw.starts[document] : raw.ends[document]].tobytes()
            try:
                text = found.decode("utf-8", self.options["errors"])
            except UnicodeDecodeError as error:
                raise _not_utf8(document, error.start) from None
            if self.options["lowercase"] and any(letter in text for letter in CONTEXTUAL):
                text = text.lower()
            texts.append(text)
        return Texts(*(frozen(array) for array in texts_of(texts)))

    def _wide(self, everything: bool) -> np.ndarray:
        return character_table(self.options["lowercase"], everything)

    def _tables(self, idf: bool = True) -> Tables:
        counted = idf and self.options["idf"] and self.documents
        weights = self._idf() if counted else np.empty(0, np.float32)
        plain = byte_table(self.options["lowercase"])
        return Tables(plain, self._wide(self._everything), _LOGS, weights)

    def _idf(self) -> np.ndarray:
        """The idf weights of all columns, cached: they cost more than encoding a few texts."""
        if self._kept_idf[:1] != (self.documents,) or self._kept_idf[1] is not self._having:
            # Most columns are empty, and there are fewer distinct counts than columns.
            seen = np.flatnonzero(self._having != 0)  # four times as fast as without != 0
            having = self._having[seen]
            count = np.arange(having.max(initial=0) + 1)
            of_count = (np.log((1.0 + self.documents) / (1.0 + count)) + 1.0).astype(np.float32)
            weights = np.zeros(len(self._having), np.float32)
            if self.options["idf"] != "seen":
                weights[:] = of_count[0]
            weights[seen] = of_count[having]
            self._kept_idf = (self.documents, self._having, weights)
        found: np.ndarray = self._kept_idf[2]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept_idf": ()}

    def feature_name(self, column: int) -> str:
        """The first name seen in a column; a leading "~" means that there were others."""
        column = int(column)
        name = None if self.names is None else self.names.get(column)
        if name is None:
            return f"#{column}"
        assert self.names is not None
        return f"~{name}" if self.names.is_shared(column) else name

    def signs(self) -> np.ndarray | float:
        """The sign of each column: 1, or -1 if `signed` and the hash of its name is negative."""
        if not self.options["signed"] or self.names is None:
            return 1.0
        return self.names.signs(self.width)

    def names_in(self, raw: Texts) -> dict[int, str]:
        """The names of all features of some documents, even those the table had no room for."""
        most = most_features(self.how, int(np.sum(raw.ends - raw.starts)), len(raw.starts))
        table = NameTable(self.options["bits"], 2 * most)
        collector = RowCollector(raw)
        self._encode(raw, 1, self._tables(), table, self.how, collector)
        rows = collector.rows(0.0, self.width)
        found = {}
        for column in set(rows.stored.indices.tolist()):
            name = table.get(column)
            if name is not None:
                shared = self.names is not None and self.names.is_shared(column)
                found[column] = f"~{name}" if shared else name
        return found

    def describe(self) -> dict[str, Any]:
        """The JSON part of a model file."""
        return {**self.options, "ngrams": list(self.how[1:3]), "documents": self.documents}

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays for a model file."""
        arrays = pack_sparse("having", self._having)
        if self.names is not None:
            arrays |= {f"names.{name}": array for name, array in self.names.arrays().items()}
        return arrays

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """Undo `describe` and `arrays`."""
        options = dict(about)
        documents, ngrams = options.pop("documents"), tuple(options.pop("ngrams"))
        check_room((options.get("names", 0), NAME_BYTES), np.uint8, 0)
        encoder = cls(ngrams=ngrams, **options)
        if type(documents) is not int or documents < 0:
            raise ValueError(f"{documents!r:.20} documents")
        encoder.documents, having = documents, unpack_sparse("having", arrays)
        check_shape("having", having, encoder._having.shape, kinds="u")
        check_places("having", having, documents + 1)
        encoder._having = np.require(having, np.uint32, "W")
        if encoder.names is not None:
            start = "names."
            mine = {name.removeprefix(start): arrays[name] for name in arrays if start in name}
            encoder.names.fill(mine)
        return encoder


def texts_of(documents: Any) -> Texts:
    """Documents from one column of strings, encoded once.

    >>> texts_of(["ab", "", "\u00e9"]).ends.tolist()
    [2, 2, 4]
    """
    strings = list(strings_of(documents))
    try:
        encoded = list(map(str.encode, strings))
    except (TypeError, UnicodeEncodeError):
        raise _not_text(strings) from None
    lengths = np.fromiter(map(len, encoded), np.uint64, len(encoded))
    ends = np.cumsum(lengths, dtype=np.uint64)
    return Texts(np.frombuffer(b"".join(encoded), np.uint8), ends - lengths, ends)


def _not_text(strings: list[Any]) -> DataError:
    """The error for the first of these that is not a text."""
    for at, text in enumerate(strings):
        try:
            str.encode(text)
        except TypeError:
            return not_a_string(at, text)
        except UnicodeEncodeError as error:
            return DataError(
                f"document {at}: character {error.start} is a lone surrogate, which is not text;"
                " decode the file with the right encoding"
            )
    raise AssertionError("every document can be encoded")


def _not_utf8(document: int, byte: int) -> DataError:
    return DataError(
        f"document {document}: byte {byte} is not UTF-8;"
        " convert the text, or choose errors='replace'"
    )


def _range(ngrams: Any, analyzer: str) -> tuple[int, int]:
    """The shortest and the longest n-gram."""
    if isinstance(ngrams, (tuple, list)) and len(ngrams) == 2:
        low, high = ngrams
    else:
        low, high = 1 if analyzer == "word" else ngrams, ngrams
    if not all(map(is_whole, (low, high))) or not 1 <= low <= high <= 5:
        raise ValueError(f"ngrams={ngrams!r} must be a whole number from 1 to 5, or a pair of them")
    return int(low), int(high)
