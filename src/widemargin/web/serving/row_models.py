"""Models of rows as the server asks them: vectors, named features, tables, texts, strings."""

from __future__ import annotations

import io
import struct
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from widemargin.data.encode.named import NamedFeatures
from widemargin.data.encode.numbers import NumbersEncoder
from widemargin.data.readers.chunk import Chunk, Texts, Vectors
from widemargin.data.readers.columns import TableOptions
from widemargin.data.readers.files import ReadOptions
from widemargin.data.readers.frames import Frame
from widemargin.data.readers.labelled import parse_plain
from widemargin.data.readers.pieces import Parse, Patience, chunks_of
from widemargin.data.readers.sources import lines_of
from widemargin.data.readers.svmlight import LARGEST_INDEX, parse_lines
from widemargin.data.readers.table import read_table
from widemargin.data.readers.vw import parse_vw_lines
from widemargin.data.rows import Rows, frozen
from widemargin.errors import DataError
from widemargin.loops.storage import Sparse
from widemargin.models.kernel import KernelModel
from widemargin.models.multilabel import MultilabelModel
from widemargin.web.serving.askable import Askable, Want, only_chunk, only_one, plain_json, told
from widemargin.web.serving.bodies import SOURCE, Examples, is_table, json_lines
from widemargin.web.serving.highlights import highlights
from widemargin.web.serving.limits import Limits

#: More reasons than any text has; the strongest are told, all are needed to mark the text.
_ALL = 1 << 30
#: Columns of a sample vector that are not 0.
_FEW = 20


class RowsModel(Askable):
    """A linear or kernel model. Subclasses say what its examples are."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        # Kernel values of several rows come from one product of matrices, whose last bits depend
        # on its size; everything else is computed row by row.
        self.joins = not isinstance(model, KernelModel)
        self.several = isinstance(model, MultilabelModel)
        self.explains = not self.several
        self._labels = {
            label: f'{{"label":{plain_json(label)}}}' for label in model.classes.tolist()
        }

    def raw(self, form: str, items: list[Any]) -> Any:
        """Examples as the encoder takes them, or as rows if there is no encoder."""
        raise NotImplementedError

    def encoder(self) -> Any:
        """What makes rows of raw examples; None if they are rows."""
        return self.model.encoder

    def rows(self, raw: Any) -> Any:
        """Raw examples as the model takes them."""
        encoder, model = self.encoder(), self.model
        if encoder is None or isinstance(raw, Rows):
            return raw
        rows = encoder.encode(raw, model.bias, 1)
        return rows.widened(max(rows.width, model.width))

    def answer(self, form: str, items: list[Any], want: Want) -> list[str]:
        """The prediction for each example."""
        rows = self.rows(self.raw(form, items))
        if self.several:
            return self._several_labels(rows, want)
        labels = self.model.predict(rows, 1).tolist()
        if want == (False, False):
            return [self._labels[label] for label in labels]
        found = [{"label": label} for label in labels]
        for name, wanted, method in (
            ("scores", want.scores, "decision_function"),
            ("probabilities", want.proba, "predict_proba"),
        ):
            if wanted:
                for one, figures in zip(
                    found, getattr(self.model, method)(rows, 1).tolist(), strict=True
                ):
                    one["score" if isinstance(figures, float) else name] = figures
        return [plain_json(one) for one in found]

    def _several_labels(self, rows: Any, want: Want) -> list[str]:
        scores, classes = self.model.decision_function(rows, 1), self.model.classes
        found = [{"labels": classes[row >= 0.0].tolist()} for row in scores]
        if want.scores:
            for one, row in zip(found, scores.tolist(), strict=True):
                one["scores"] = row
        if want.proba:
            likely = self.model.predict_proba(rows, 1).tolist()
            for one, row in zip(found, likely, strict=True):
                one["probabilities"] = row
        return [plain_json(one) for one in found]

    def explain(self, examples: Examples, top: int, token: int | None) -> dict[str, Any]:
        """The features, or rows of the training data, that decided a prediction."""
        only_one(examples)
        if token is not None:
            raise DataError("token has no effect for this model, only for taggers and parsers")
        if not self.explains:
            raise DataError("a model of several labels per row cannot explain them")
        raw = self.raw(examples.form, examples.items)
        if isinstance(self.model, KernelModel):
            asked = raw if self.encoder() is None else self.rows(raw)
            return told(self.model.explain(asked, top, first=1))
        whole = told(self.model.explain(self.to_explain(raw), _ALL))
        marks = self.marks(examples, whole["reasons"])
        return {**whole, "reasons": whole["reasons"][:top], **marks}

    def to_explain(self, raw: Any) -> Any:
        """An example in the form in which the model can name its features."""
        return self.rows(raw)

    def marks(self, examples: Examples, reasons: list[dict[str, Any]]) -> dict[str, Any]:
        """Which parts of the input decided, for a page to mark."""
        return {}

    def describe(self) -> dict[str, Any]:
        """What a client has to know."""
        model = self.model
        return {
            **super().describe(),
            "classes": model.classes.tolist(),
            "features": model.width,
            "probabilities": bool(model.has_probabilities),
        }

    def _chunk(self, body: bytes, parse: Parse) -> Chunk:
        """Lines of a body as a reader of files reads them."""
        if body and not body.endswith(b"\n"):
            body += b"\n"
        blocks = lines_of(io.BytesIO(body), SOURCE, len(body) + 1)  # in one piece
        return only_chunk(list(chunks_of(blocks, parse, Patience(0))))


@cache
def _packer(n: int) -> Any:
    return struct.Struct(f"{n}d").pack


def pack_numbers(row: list[Any], where: str) -> bytes:
    """Numbers as bytes; an error names the first that is none."""
    try:
        return _packer(len(row))(*row)
    except (struct.error, OverflowError, TypeError):
        for place, value in enumerate(row):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise DataError(
                    f"{SOURCE}: {where}number {place + 1} is {_say(value)}, not a number"
                ) from None
        raise DataError(f"{SOURCE}: {where}a number is too large for a float") from None


def _say(value: Any) -> str:
    """A JSON value in an error message."""
    kinds = {dict: "an object", list: "a list", type(None): "null", bool: "a boolean"}
    if type(value) in kinds:
        return kinds[type(value)]
    return repr(value if len(str(value)) <= 40 else str(value)[:37] + "...")


def check_finite(values: np.ndarray) -> None:
    """Refuse 1e999, which JSON allows and no model takes."""
    if not np.isfinite(values).all():
        raise DataError(f"{SOURCE}: a number is too large for a float")


def one_or_many(value: Any, is_one: Any, wanted: str) -> tuple[list[Any], bool]:
    """Examples from a JSON value that is one of them, or a list of some."""
    if is_one(value):
        return [value], True
    if not isinstance(value, list):
        raise DataError(f"{SOURCE}: found {_say(value)}, where {wanted} is needed")
    for place, item in enumerate(value):
        if not is_one(item):
            raise DataError(
                f"{SOURCE}: example {place + 1} is {_say(item)}, where {wanted} is needed"
            )
    return value, False


class VectorsModel(RowsModel):
    """A model of vectors, whose columns are numbered or named."""

    kind = "vectors"
    formats = ("jsonl", "svmlight")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        plain = {"first": 1, "width": model.width}
        self._numbers = model.encoder or NumbersEncoder.restore(plain, {})
        self._columns: dict[str, int] = {}
        if model.encoder is None:
            names = model.feature_names or [f"x{j}" for j in range(model.width)]
            self._columns = {str(name): column for column, name in enumerate(names)}

    def encoder(self) -> Any:
        """Vectors of files are numbered as in the training file, those of arrays from 1."""
        return self._numbers

    def from_json(self, value: Any) -> Examples:
        """A list of all numbers, or an object of those that are not zero by their names."""
        wanted = "a list of numbers, or an object from feature to number,"
        if isinstance(value, dict):
            return self._by_name([value], True)
        if isinstance(value, list) and not isinstance(value[0] if value else 0, (list, dict)):
            return Examples("dense", [self._dense(value, "")], 1, True)
        kind = type(value[0]) if isinstance(value, list) else list
        items, _ = one_or_many(value, lambda item: item is not value and type(item) is kind, wanted)
        if kind is dict:
            return self._by_name(items, False)
        rows = [self._dense(row, f"example {place + 1}: ") for place, row in enumerate(items)]
        return Examples("dense", rows, len(rows), False)

    def _dense(self, row: list[Any], where: str) -> bytes:
        if len(row) != self.model.width:
            raise DataError(
                f"{SOURCE}: {where}found {len(row)} numbers, but the model was trained with"
                f" {self.model.width}"
            )
        return pack_numbers(row, where)

    def _by_name(self, items: list[dict[str, Any]], one: bool) -> Examples:
        if self.model.encoder is None:
            return Examples("dense", [self._filled(item) for item in items], len(items), one)
        return Examples("sparse", [self._numbered(item) for item in items], len(items), one)

    def _filled(self, item: dict[str, Any]) -> bytes:
        row: list[Any] = [0.0] * self.model.width
        for name, value in item.items():
            column = self._columns.get(name)
            if column is None:
                known = ", ".join(list(self._columns)[:5])
                raise DataError(f"{SOURCE}: there is no feature {name[:40]!r}, but {known}, ...")
            row[column] = value
        return pack_numbers(row, "")

    def _numbered(self, item: dict[str, Any]) -> tuple[bytes, bytes]:
        try:
            pairs = sorted((int(name), value) for name, value in item.items())
            indices = np.array([index for index, _ in pairs], np.int64)
        except (ValueError, OverflowError, TypeError):
            raise DataError(
                f"{SOURCE}: features are numbered here, as in svmlight files, and one of"
                f" {', '.join(repr(name[:20]) for name in list(item)[:3])} is no number"
            ) from None
        if len(indices) and not 0 <= indices[0] <= indices[-1] <= LARGEST_INDEX:
            raise DataError(f"{SOURCE}: an index is not from 0 to {LARGEST_INDEX}")
        if np.any(np.diff(indices) == 0):
            raise DataError(f"{SOURCE}: an index occurs twice")
        values = pack_numbers([value for _, value in pairs], "")
        return indices.astype(np.uint32).tobytes(), values

    def from_body(self, body: bytes, format: str) -> Examples:
        """Lines of svmlight, whose labels are not looked at."""
        double = self.model.dtype == np.float64
        chunk = self._chunk(body, partial(parse_lines, dtype=np.float64 if double else np.float32))
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Rows, or vectors as readers yield them."""
        if form == "":
            return items[0]
        if form == "dense":
            values = np.frombuffer(b"".join(items)).reshape(len(items), self.model.width)
            check_finite(values)
            return Rows.of(values, bias=self.model.bias, dtype=self.model.dtype)
        indices = [np.frombuffer(item[0], np.uint32) for item in items]
        values = np.frombuffer(b"".join(item[1] for item in items))
        with np.errstate(over="ignore"):
            stored = values.astype(self.model.dtype)
        check_finite(stored)
        ends = np.cumsum([0, *map(len, indices)]).astype(np.uint64)
        columns = np.concatenate(indices)
        width = int(columns.max(initial=0)) + 1
        least = int(columns.min(initial=LARGEST_INDEX))
        rows = Rows(
            Sparse(frozen(stored), frozen(columns), frozen(ends), 0.0), len(items), width, True
        )
        return Vectors(rows, least)

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"svmlight": b"0 1:1\n"}

    def sample(self) -> Any:
        """A vector whose first numbers are 1."""
        width, few = self.model.width, min(self.model.width, _FEW)
        if width > 200:
            return dict.fromkeys([self._name(j) for j in range(few)], 1.0)
        return [1.0] * few + [0.0] * (width - few)

    def _name(self, column: int) -> str:
        if self.model.encoder is None:
            return list(self._columns)[column]
        return str(self.model.encoder.feature_name(column))


class NamedModel(RowsModel):
    """A model of dicts from name to value, as `learn_one` takes them."""

    kind = "named features"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._features = NamedFeatures(model.feature_names or ())

    def from_json(self, value: Any) -> Examples:
        """An object from name to number or string, or a list of such."""
        items, one = one_or_many(
            value, lambda item: isinstance(item, dict), "an object from name to value"
        )
        for item in items:
            for name, cell in item.items():
                if cell is None or isinstance(cell, (list, dict)):
                    raise DataError(f"{SOURCE}: the feature {name[:40]!r} is {_say(cell)}")
        return Examples("named", [self._features.convert(item) for item in items], len(items), one)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Sparse rows."""
        starts = np.cumsum([0, *(len(values) for values, _ in items)]).astype(np.uint64)
        stored = Sparse(
            frozen(np.concatenate([values for values, _ in items])),
            frozen(np.concatenate([columns for _, columns in items])),
            frozen(starts),
            self.model.bias,
        )
        return Rows(stored, len(items), self.model.width)

    def sample(self) -> Any:
        """The first names, each with the value 1."""
        return {str(name): 1 for name in list(self.model.feature_names or ())[:3]}


class TextModel(RowsModel):
    """A model of documents."""

    kind = "texts"
    formats = ("jsonl", "text")

    def __init__(self, model: Any, column: str = "text") -> None:
        super().__init__(model)
        self._names = {column, "text"}

    def _is_text(self, item: Any) -> bool:
        if isinstance(item, dict):
            return any(isinstance(item.get(name), str) for name in self._names)
        return isinstance(item, str)

    def from_json(self, value: Any) -> Examples:
        """A string, or an object with the member "text"; or a list of such."""
        items, one = one_or_many(value, self._is_text, 'a string, or an object with a "text"')
        texts = []
        for item in items:
            if isinstance(item, dict):
                item = next(item[name] for name in self._names if name in item)
            try:
                texts.append(item.encode())
            except UnicodeEncodeError:
                raise DataError(f"{SOURCE}: a text has half of a surrogate pair") from None
        return Examples("texts", texts, len(texts), one)

    def from_body(self, body: bytes, format: str) -> Examples:
        """One document per line."""
        chunk = self._chunk(body, parse_plain)
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Documents in one buffer."""
        if form == "":
            return items[0]
        ends = np.cumsum([len(text) for text in items], dtype=np.uint64)
        starts = np.concatenate([np.zeros(1, np.uint64), ends[:-1]])
        return Texts(np.frombuffer(b"".join(items), np.uint8), starts, ends)

    def to_explain(self, raw: Any) -> Any:
        """The text itself: the table of names may have had no room for all of its words."""
        return raw

    def marks(self, examples: Examples, reasons: list[dict[str, Any]]) -> dict[str, Any]:
        """The words that decided."""
        raw = self.raw(examples.form, examples.items)
        text = raw.buffer[int(raw.starts[0]) : int(raw.ends[0])].tobytes().decode()
        return {"text": text, "marks": highlights(text, reasons, self.model.encoder.options)}

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"text": b"a text\n"}

    def sample(self) -> Any:
        """A few words."""
        return {"text": "Write a text here and see what the model says of it."}


class VwModel(RowsModel):
    """A model of lines in Vowpal Wabbit's format."""

    kind = "lines of Vowpal Wabbit"
    formats = ("jsonl", "vw")

    def from_json(self, value: Any) -> Examples:
        """A line, or a list of lines."""
        items, one = one_or_many(
            value, lambda item: isinstance(item, str), "a string, a line of Vowpal Wabbit,"
        )
        for item in items:
            if "\n" in item:
                raise DataError(f"{SOURCE}: a line of Vowpal Wabbit has a line end in it")
        lines = "\n".join(items).encode("utf-8", "replace")
        examples = self.from_body(lines, "vw")
        if examples.n != len(items):
            raise DataError(f"{SOURCE}: a line is blank")
        return examples._replace(one=one)

    def from_lines(self, body: bytes, limits: Limits) -> Examples:
        """Examples from JSON lines: one string each."""
        return self.from_json(list(json_lines(body, limits.depth)))

    def from_body(self, body: bytes, format: str) -> Examples:
        """Lines, with or without labels."""
        double = self.model.dtype == np.float64
        parse = partial(
            parse_vw_lines, dtype=np.float64 if double else np.float32, need_label=False
        )
        chunk = self._chunk(body, parse)
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """Hashed features."""
        return items[0]

    def to_explain(self, raw: Any) -> Any:
        """The line itself, which has the names."""
        return raw

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"vw": b"| a\n"}

    def sample(self) -> Any:
        """A line."""
        return "| first:1 second"


class TableModel(RowsModel):
    """A model of tables: an example is an object from column to cell."""

    kind = "rows of a table"
    formats = ("jsonl", "csv", "tsv")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._schema = model.encoder.schema
        self._reading = TableOptions(need_label=False, schema=self._schema, first=1)
        self._columns = [column.name for column in self._schema.columns]

    def from_json(self, value: Any) -> Examples:
        """An object from column to cell, or a list of such; an absent cell is missing."""
        items, one = one_or_many(
            value, lambda item: isinstance(item, dict), "an object from column to cell"
        )
        for item in items:
            self._check(item)
        return Examples("table", items, len(items), one)

    def _check(self, item: dict[str, Any]) -> None:
        if item.keys().isdisjoint(self._columns):
            raise DataError(
                f"{SOURCE}: an example has none of the columns that the model needs:"
                f" {', '.join(map(repr, self._columns[:20]))}"
            )
        for name in self._columns:
            cell = item.get(name)
            if isinstance(cell, (list, dict)):
                raise DataError(f"{SOURCE}: the cell of {name!r} is {_say(cell)}")

    def from_lines(self, body: bytes, limits: Limits) -> Examples:
        """Objects, as the reader of files reads them."""
        return self.from_body(body, "jsonl")

    def from_body(self, body: bytes, format: str) -> Examples:
        """A table, as the reader of files reads it."""
        assert is_table(format)
        whole = len(body) + 1  # in one piece
        chunk = only_chunk(list(read_table(io.BytesIO(body), SOURCE, format, self._reading, whole)))
        return Examples("", [chunk.raw], chunk.n, False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """An Arrow table."""
        if form == "":
            return items[0]
        cells = {name: [item.get(name) for item in items] for name in self._columns}
        (chunk,) = Frame(cells, None, ReadOptions(table=self._reading)).chunks()
        return chunk.raw

    def to_explain(self, raw: Any) -> Any:
        """The table itself: names of words are found in it."""
        return raw if self.model.encoder.text is not None else self.rows(raw)

    def marks(self, examples: Examples, reasons: list[dict[str, Any]]) -> dict[str, Any]:
        """How much each column decided."""
        shares = dict.fromkeys(self._columns, 0.0)
        for reason in reasons:
            for name in self._columns:
                if reason["feature"] == name or reason["feature"].startswith(
                    (f"{name}=", f"{name} is")
                ):
                    shares[name] += reason["share"]
        return {"columns": shares}

    def describe(self) -> dict[str, Any]:
        """What a client has to know."""
        columns = [{"name": column.name, "kind": column.kind} for column in self._schema.columns]
        return {**super().describe(), "columns": columns}

    def sample(self) -> Any:
        """A row of zeros, and the first value of each category."""
        usual = {"number": 0, "boolean": False, "text": "a text"}
        values = {column.name: column.values for column in self.model.encoder.columns}
        return {
            column.name: usual.get(column.kind, next(iter(values.get(column.name, ())), None))
            for column in self._schema.columns
        }


class StringsModel(RowsModel):
    """A kernel machine of strings."""

    kind = "strings"
    formats = ("jsonl", "text")

    def from_json(self, value: Any) -> Examples:
        """A string, or a list of strings."""
        items, one = one_or_many(value, lambda item: isinstance(item, str), "a string")
        return Examples("strings", items, len(items), one)

    def from_body(self, body: bytes, format: str) -> Examples:
        """One string per line."""
        chunk = self._chunk(body, parse_plain)
        text = chunk.raw
        strings = [
            text.buffer[int(a) : int(b)].tobytes().decode()
            for a, b in zip(text.starts, text.ends, strict=True)
        ]
        return Examples("strings", strings, len(strings), False)

    def raw(self, form: str, items: list[Any]) -> Any:
        """The strings."""
        return list(items)

    def encoder(self) -> Any:
        """Nothing is encoded."""
        return

    def other_samples(self) -> dict[str, bytes]:
        """A line."""
        return {"text": b"a\n"}

    def sample(self) -> Any:
        """A string."""
        return "a string"


def rows_model(path: str, model: Any) -> Askable:
    """What asks a model of rows, by what its examples are."""
    encoder: Any = model.encoder
    kernel = getattr(model, "kernel", None)
    if kernel is not None and kernel.on_objects:
        if kernel.function is None:
            raise DataError(
                f"{path}: its kernel is the function {kernel.called!r}, which a file cannot hold:"
                " it can be asked in Python only"
            )
        return StringsModel(model)
    if model.by_name:
        return NamedModel(model)
    if encoder is None or encoder.kind == "numbers":
        return VectorsModel(model)
    if encoder.kind == "table":
        if encoder.by_name or not encoder.only_texts or len(encoder.text_columns) > 1:
            return TableModel(model)
        return TextModel(replace(model, encoder=encoder.text), encoder.text_columns[0])
    return TextModel(model) if encoder.kind == "text" else VwModel(model)
