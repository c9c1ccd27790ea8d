"""From columns of a table to rows: scaled numbers, one-hot categories, and encoded texts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from widemargin.data.encode.interactions import Pair, Products
from widemargin.data.encode.learned_column import LearnedColumn, restore_columns
from widemargin.data.readers.columns import CellError, TableSchema, kind_of_type
from widemargin.data.readers.table import schema_of, texts_of_column
from widemargin.data.rows import Rows, Stack, frozen
from widemargin.errors import DataError, DataWarning
from widemargin.loops.storage import Sparse
from widemargin.modelfile.packing import pack_strings, unpack_strings
from widemargin.parameters.values import check_choice

SCALES = ("standard", "maxabs", "none")
#: From this many examples on, a column with half of its strings distinct is not categorical.
_ENOUGH = 1000
#: From this many on, a column with more than this share of its strings distinct deserves a warning.
_SOME, _NEARLY_ALL = 20, 0.9


class TableEncoder:
    """Turns tables, as `read_table` yields them, into rows.

    - A *number* is one feature. With `scale="standard"` the mean is subtracted and the result
      divided by the standard deviation (of the population); a column that is constant in training
      becomes 0. With "maxabs" it is divided by the largest absolute value, so that zeros stay
      zeros. With "none" it is taken as it is.
    - A *boolean* is one feature, 0 or 1, never scaled.
    - A *category* is one feature for each value seen in training, called "column=value". A value
      that was not seen gives no feature, and is counted in `unseen`. 1.0 and 1 are one value, but
      007 and 7 are two.
    - A *missing* number or boolean is 0 (after standard scaling: the mean), and a feature
      "column is missing" is 1, if values of this column were missing in training. A missing
      category is a separate value, "column is missing", on the same condition.
    - *Texts* have a separate encoder, whose features come first.
    - *Interactions* are products of two columns: of numbers (scaled), of a number and each
      category, of categories ("kind=cat*food=fish"), for combinations seen in training. They come
      last.

    Rows are dense float64 if all columns are numbers and booleans without missing values in
    training; otherwise they are sparse, in float64, or in float32 if there are texts.

    Parameters
    ----------
    scale : "standard", "maxabs" or "none"
        How numbers are scaled.
    text : TextEncoder, optional
        Encodes the texts.
    text_columns : sequence of str
        Their columns; several are joined with a newline.
    interactions : sequence of pairs of str
        Columns to multiply; ":" means any.

    Attributes
    ----------
    schema : TableSchema or None
        How the training tables were read, so that other files can be read the same way.
    by_name : bool
        Whether the model always takes tables for prediction. If not, and a single column of texts
        is all it uses, it takes plain texts.
    unseen : int
        How many values met in encoding were categories that no training example had.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"size": [1.0, 3.0], "kind": ["cat", "dog"]})
    >>> encoder = TableEncoder(scale="maxabs")
    >>> encoder.observe(table)
    >>> encoder.encode(table, bias=1.0).to_matrix().toarray().round(2)
    array([[0.33, 1.  , 0.  ],
           [1.  , 0.  , 1.  ]])
    >>> [encoder.feature_name(i) for i in range(encoder.width)]
    ['size', 'kind=cat', 'kind=dog']
    """

    kind: ClassVar[str] = "table"

    def __init__(
        self,
        scale: str = "standard",
        text: Any = None,
        text_columns: Sequence[str] = (),
        interactions: Sequence[Pair] = (),
    ):
        check_choice("scale", scale, SCALES)
        if (text is None) != (len(text_columns) == 0):
            raise ValueError("text and text_columns must be given together")
        self.scale = scale
        self.text = text
        self.text_columns = tuple(text_columns)
        self.schema: TableSchema | None = None
        self.by_name = False
        self.unseen = 0
        self.products = Products(interactions)
        self._columns: list[LearnedColumn] | None = None

    @property
    def columns(self) -> list[LearnedColumn]:
        """The columns other than texts, as learned in training."""
        return self._columns or []

    @property
    def width(self) -> int:
        """Number of features in a row."""
        plain = sum(column.width for column in self.columns)
        return self._text_width + plain + self.products.width

    @property
    def _text_width(self) -> int:
        return 0 if self.text is None else self.text.width

    @property
    def is_dense(self) -> bool:
        """Whether rows are dense: numbers and booleans only, none of them missing in training."""
        plain = all(column.kind != "category" and not column.missing for column in self.columns)
        return self.text is None and plain

    def observe(self, raw: Any) -> None:
        """Gather means, deviations, categories, and which columns have missing values."""
        self._begin(raw)
        if self.text is not None:
            self.text.observe(texts_of_column(raw, self.text_columns))
        for column in self.columns:
            cells = _cells(raw, column)
            column.missing += cells.null_count
            if column.kind == "number":
                column.moments.add(_numbers(cells.drop_null()))
            elif column.kind == "category":
                for value in cells.drop_null().unique().to_pylist():
                    column.learn(value)
                column.moments.count += len(cells) - cells.null_count
                self._check_categories(column)
        if self.products.pairs:
            self.products.observe(self._codes(raw))

    def absorb(self, other: TableEncoder) -> None:
        """Take in what another encoder observed in tables with the same columns."""
        if other._columns is None:
            return
        if self.text is not None:
            self.text.absorb(other.text)
        if self._columns is None:
            self.text_columns, self.schema = other.text_columns, other.schema
            self.products, self._columns = deepcopy(other.products), deepcopy(other._columns)
            return
        codes = {}
        for column, more in zip(self.columns, other.columns, strict=True):
            codes[column.name] = column.absorb(more)
            if column.kind == "category":
                self._check_categories(column)
        self.products.absorb(other.products, codes)

    def _codes(self, raw: Any) -> dict[str, np.ndarray]:
        """The codes of the columns that take part in products; see `Products`."""
        found = {}
        for column in self.columns:
            if column.name not in self.products.columns:
                continue
            cells = _cells(raw, column)
            codes = np.ones(len(cells), np.int64)
            if column.kind == "category":
                codes += self._find_categories(column, cells)[0].astype(np.int64)
            if cells.null_count:
                codes[cells.is_null().to_numpy(zero_copy_only=False)] = 0
            found[column.name] = codes
        return found

    def has_only_texts(self, raw: Any) -> bool:
        """Whether a table has only text columns, given the first one."""
        if self.text is None:
            return False
        self._find_texts(raw)
        return set(raw.column_names) <= set(self.text_columns)

    def _find_texts(self, raw: Any) -> None:
        """Replace the numbers of text columns by their names in the table."""
        schema = schema_of(raw)
        if schema is None or set(self.text_columns) <= set(raw.column_names):
            return
        found = tuple(column.name for column in schema.columns if column.kind == "text")
        if len(found) == len(self.text_columns):
            self.text_columns = found

    def _begin(self, raw: Any) -> None:
        """Record the columns of the first table."""
        if self._columns is None:
            self._find_texts(raw)
            self.schema = schema_of(raw)
            names = [name for name in raw.column_names if name not in self.text_columns]
            self._columns = [LearnedColumn(name, _kind(raw, name)) for name in names]
            self.products.resolve({column.name: column.kind for column in self._columns})
        self._check_columns(raw)

    @staticmethod
    def _check_categories(column: LearnedColumn) -> None:
        distinct, examples = len(column.values), column.moments.count
        advice = "it looks like an identifier or free text; drop it, or declare it as text"
        if examples >= _ENOUGH and 2 * distinct > examples:
            raise DataError(
                f"column {column.name!r} has {distinct:,} different values in {examples:,}"
                f" examples: {advice}"
            )
        if examples >= _SOME and distinct > _NEARLY_ALL * examples:
            # Without numbers, so that it is shown once for all folds of a cross-validation.
            warnings.warn(
                f"nearly all values of column {column.name!r} differ: {advice}",
                DataWarning,
                stacklevel=2,
            )

    def _check_columns(self, table: Any) -> None:
        needed = [*self.text_columns, *(column.name for column in self.columns)]
        lacking = [repr(name) for name in needed if name not in table.column_names]
        if lacking:
            raise DataError(
                f"no column {', '.join(lacking)}, which the model needs"
                f" (columns found: {', '.join(repr(name) for name in table.column_names)})"
            )

    def encode(self, raw: Any, bias: float, threads: int = 1, *, note: bool = False) -> Rows:
        """A table as rows, extended by a constant feature `bias`.

        With `note`, the text encoder records the names of new features.
        """
        if self._columns is None:
            raise ValueError("observe the training tables before encoding any")
        self._check_columns(raw)
        if self.is_dense:
            values = np.empty((raw.num_rows, self.width))
            place = {column.name: i for i, column in enumerate(self.columns)}
            for i, column in enumerate(self.columns):
                values[:, i] = self._scaled(column, _cells(raw, column))
            for k, (left, right) in enumerate(self.products.pairs, start=len(place)):
                values[:, k] = values[:, place[left]] * values[:, place[right]]
            return Rows.of(values, bias=bias)
        texts = None
        if self.text is not None:
            documents = texts_of_column(raw, self.text_columns)
            texts = self.text.encode(documents, bias, threads, note=note)
            if not self.columns:
                return texts
        return _join(texts, self._sparse(raw), raw.num_rows, self.width, bias)

    def encode_first(self, raw: Any, stack: Stack, threads: int = 1, *, note: bool = False) -> None:
        """Do `observe` and `encode` in one pass, onto a stack, where there are only texts."""
        assert self.text is not None
        self._begin(raw)
        documents = texts_of_column(raw, self.text_columns)
        self.text.encode_first(documents, stack, threads, note=note)

    def fresh(self) -> TableEncoder:
        """An encoder with the same options that has seen no table."""
        text = None if self.text is None else self.text.fresh()
        return TableEncoder(self.scale, text, self.text_columns, self.products.given)

    def count(self, rows: Rows) -> None:
        """Count documents from rows of `encode_first`, as `TextEncoder.count` does."""
        assert self.text is not None
        self.text.count(rows)

    def finish(self, rows: Rows, threads: int = 1) -> None:
        """Give rows from `encode_first` their final values, in place."""
        assert self.text is not None
        self.text.finish(rows, threads)

    def _sparse(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """The nonzero feature of each row and column, and its value.

        A number, a category and the marker of a missing value exclude each other, so one slot per
        column is enough.
        """
        shape = (len(self.columns), table.num_rows)
        features, values = np.zeros(shape, np.uint32), np.ones(shape)
        first, codes = self._text_width, {}
        for i, column in enumerate(self.columns):
            cells = _cells(table, column)
            last = first + column.width - 1
            codes[column.name] = np.ones(table.num_rows, np.uint32)
            if column.kind == "category":
                features[i], known = self._find_categories(column, cells)
                codes[column.name] += features[i]
                features[i] += np.uint32(first)
                values[i] = known
            else:
                features[i] = first
                values[i] = self._scaled(column, cells)
            if column.missing and cells.null_count:
                absent = cells.is_null().to_numpy(zero_copy_only=False)
                features[i, absent] = last
                values[i, absent] = 1.0
                codes[column.name][absent] = 0
            first = last + 1
        if not self.products.pairs:
            return features, values
        own = {column.name: values[i] for i, column in enumerate(self.columns)}
        more = self.products.encode(codes, own, first)
        return np.concatenate([features, more[0]]), np.concatenate([values, more[1]])

    def _scaled(self, column: LearnedColumn, cells: Any) -> np.ndarray:
        """The numbers of a column after scaling; missing ones are 0."""
        if column.kind == "boolean":
            return _numbers(cells.fill_null(False))
        center, spread = column.moments.scaling(self.scale)
        if not (np.isfinite(center) and spread > 0.0):
            raise DataError(
                f"column {column.name!r} has numbers from {column.moments.low:g} to"
                f" {column.moments.high:g}: their range is too wide or too narrow to be scaled;"
                " scale or drop it"
            )
        scaled = (_numbers(cells) - center) / spread
        if cells.null_count:
            scaled[cells.is_null().to_numpy(zero_copy_only=False)] = 0.0
        return scaled

    def _find_categories(self, column: LearnedColumn, cells: Any) -> tuple[np.ndarray, np.ndarray]:
        """The index of each cell's category in its column, and whether the category is known."""
        coded = cells.dictionary_encode()
        found = [column.find(value) for value in coded.dictionary.to_pylist()]
        numbers = np.array([*found, -1], np.int64)[
            coded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
        ]
        known = numbers >= 0
        self.unseen += int(np.count_nonzero(~known)) - cells.null_count
        return np.where(known, numbers, 0).astype(np.uint32), known

    def feature_name(self, column: int) -> str:
        """The name of a feature: a column, "column=value" or "column is missing"."""
        if not 0 <= column < self.width:
            raise IndexError(f"feature {column} lies outside 0 ... {self.width - 1}")
        if self.text is not None and column < self.text.width:
            return self.text.feature_name(column)
        column -= self._text_width
        for learned in self.columns:
            if column >= learned.width:
                column -= learned.width
                continue
            missing = learned.missing and column == learned.width - 1
            return learned.name_of(0 if missing else 1 + column)
        known = {learned.name: learned for learned in self.columns}
        return self.products.feature_name(column, lambda name, code: known[name].name_of(code))

    @property
    def only_texts(self) -> bool:
        """Whether only text columns are used."""
        return self.text is not None and not self.columns

    def signs(self) -> np.ndarray | float:
        """The sign of each column's named feature: 1, or -1 if the hash of a text is negative."""
        if self.text is None:
            return 1.0
        signs = np.ones(self.width, np.float32)
        signs[: self.text.width] = getattr(self.text, "signs", lambda: 1.0)()
        return signs

    def names_in(self, raw: Any) -> dict[int, str]:
        """The names of all features that the texts of a table have."""
        find = getattr(self.text, "names_in", None)
        return {} if find is None else find(texts_of_column(raw, self.text_columns))

    def describe(self) -> dict[str, Any]:
        """The JSON part of a model file."""
        columns = [
            {"name": c.name, "kind": c.kind, "missing": c.missing, "values": len(c.values)}
            for c in self.columns
        ]
        # Stored as columns, so that versions without products raise an error instead of ignoring
        # them.
        columns += [
            {"name": "*".join(pair), "kind": "product", "of": list(pair)}
            for pair in self.products.pairs
        ]
        return {
            "scale": self.scale,
            "columns": columns,
            "text_columns": list(self.text_columns),
            "text": None if self.text is None else [self.text.kind, self.text.describe()],
            "schema": None if self.schema is None else self.schema.describe(),
            **({"by_name": True} if self.by_name else {}),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Means, deviations and categories, and the arrays of the text encoder."""
        moments = [column.moments for column in self.columns]
        values = [value for column in self.columns for value in column.values]
        text = {} if self.text is None else self.text.arrays()
        return {
            "count": np.array([m.count for m in moments], np.int64),
            "moments": np.array([[m.mean, m.squares, m.low, m.high] for m in moments]).reshape(
                -1, 4
            ),
            **pack_strings("categories", values),
            **{f"inner.{name}": array for name, array in text.items()},
            **{f"products.{k}": seen for k, seen in enumerate(self.products.seen)},
        }

    @classmethod
    def restore(
        cls,
        about: dict[str, Any],
        arrays: dict[str, np.ndarray],
        text_encoder: Any = None,
    ) -> TableEncoder:
        """Undo `describe` and `arrays`; `text_encoder` restores the text encoder."""
        text = None
        if about["text"] is not None:
            if text_encoder is None:
                from widemargin.data.encode.text import TextEncoder

                text_encoder = TextEncoder
            own = {
                name.removeprefix("inner."): array
                for name, array in arrays.items()
                if name.startswith("inner.")
            }
            text = text_encoder.restore(about["text"][1], own)
        pairs = [tuple(column["of"]) for column in about["columns"] if column["kind"] == "product"]
        encoder = cls(about["scale"], text, about["text_columns"], pairs)
        encoder.products.pairs = pairs
        encoder.products.seen = [arrays[f"products.{k}"] for k in range(len(pairs))]
        encoder.by_name = about.get("by_name", False)
        if about["schema"] is not None:
            encoder.schema = TableSchema.restore(about["schema"])
        plain = about["columns"][: len(about["columns"]) - len(pairs)]
        values = unpack_strings("categories", arrays)
        encoder._columns = restore_columns(plain, arrays["count"], arrays["moments"], values)
        return encoder


def _kind(table: Any, name: str) -> str:
    try:
        return kind_of_type(name, table.schema.field(name).type)
    except CellError as bad:
        raise DataError(bad.reason) from None


def _cells(table: Any, column: LearnedColumn) -> Any:
    """A column of a table as one array of float64, booleans or strings."""
    import pyarrow as pa

    found = _kind(table, column.name)
    whole = {"number": pa.float64(), "boolean": pa.bool_(), "category": pa.string()}[column.kind]
    cells = table[column.name].combine_chunks()
    if found != column.kind and cells.null_count < len(cells):
        raise DataError(
            f"column {column.name!r} is of kind {found}, but was of kind {column.kind} in training"
        )
    return cells if cells.type == whole else cells.cast(whole, safe=False)


def _numbers(cells: Any) -> np.ndarray:
    """An Arrow array as float64, with NaN for missing values."""
    return cells.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)


def _join(
    texts: Rows | None, table: tuple[np.ndarray, np.ndarray], n: int, width: int, bias: float
) -> Rows:
    """The features of the texts, if any, followed by the nonzero features of the table."""
    features, values = table[0].T, table[1].T
    kept = values != 0.0
    counts = np.count_nonzero(kept, axis=1)
    starts = np.zeros(n + 1, np.uint64)
    np.cumsum(counts, out=starts[1:], dtype=np.uint64)
    indices, values = features[kept], values[kept]
    if texts is not None:
        own = texts.stored
        lengths = (own.starts[1:] - own.starts[:-1]).astype(np.int64)
        both = own.starts + starts
        all_values = np.empty(int(both[-1]), own.values.dtype)
        all_indices = np.empty(int(both[-1]), own.indices.dtype)
        # Text features are shifted by the number of table features that come before them.
        place = np.arange(int(own.starts[-1])) + np.repeat(starts[:-1].astype(np.int64), lengths)
        all_values[place] = own.values[: len(place)]
        all_indices[place] = own.indices[: len(place)]
        place = np.arange(len(values)) + np.repeat(own.starts[1:].astype(np.int64), counts)
        with np.errstate(over="ignore"):  # learning rejects what overflows float32
            all_values[place] = values
        all_indices[place] = indices
        starts, indices, values = both, all_indices, all_values
    return Rows(Sparse(frozen(values), frozen(indices), frozen(starts), float(bias)), n, width)
