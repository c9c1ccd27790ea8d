"""The columns of a table: which are used, what they hold, and which cells are valid.

A column is of one of four kinds: `number` (float64), `boolean`, `category` (a short string) or
`text` (a document). Integers are numbers; beyond 2**53 they become the nearest float64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from widemargin.errors import DataError
from widemargin.modelfile.checks import check_counts, check_kinds
from widemargin.parameters.values import check_choice, nearest

#: Cells that stand for a missing value by default.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
#: Default names of the label column, in order of preference; without them, the last column.
LABEL_NAMES = ("label", "class", "target", "y")
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
#: What may stand for true and false where a model needs booleans.
ONE, ZERO = ("1", "1.0"), ("0", "0.0")
BLANKS = " \t"

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
#: Infinity and NaN, which count as numbers but raise an error.
ENDLESS = r"[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])"
DATE = (
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4}( .*)?"
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
)
#: A number with a decimal comma.
COMMA = r"[+-]?[0-9]+,[0-9]+"
_NUMBER, _DATE = re.compile(NUMBER), re.compile(DATE)
#: If at least this fraction of a column are numbers, its other cells are errors.
_NUMBERS = 0.95
#: A column given by number, and the delimiters allowed besides a tab and a blank.
_WHOLE, _SIGNS = re.compile(r"-?[0-9]+"), tuple("!#$%&'()*+,-./:;<=>?@[]^_`{|}~")

#: The number of the first column in the names of columns without a name, such as c1.
FIRST = 1

#: Number of columns that a message lists.
_LISTED = 20
#: The two roles that one column may have.
_TOGETHER = (("a text", "a column to use"), ("a category", "a column to use"))

#: The kinds of columns other than texts.
KINDS = ("number", "boolean", "category")


class Column(NamedTuple):
    """A column that is used, and its kind: number, boolean, category or text."""

    name: str
    kind: str


@dataclass(frozen=True)
class TableSchema:
    """What was found at the start of a table, and applies to all of it.

    Attributes
    ----------
    columns : tuple of Column
        The features, in the order of the file.
    label : str or None
        The column of the labels.
    label_kind : "whole", "string" or None
        Whether labels are whole numbers or strings.
    header : bool
        Whether the columns have names; otherwise they are called c1, c2, ...
    width : int
        The number of columns in the file, used or not; 0 if it may vary between lines.
    first : 0 or 1
        The number in the name that the first column gets if it has none: 1, or 0 in older models,
        which called it c0.
    """

    columns: tuple[Column, ...]
    label: str | None = None
    label_kind: str | None = None
    header: bool = True
    width: int = 0
    first: int = FIRST

    def describe(self) -> dict[str, Any]:
        """The schema as JSON."""
        return {
            "columns": [list(column) for column in self.columns],
            "label": self.label,
            "label_kind": self.label_kind,
            "header": self.header,
            "width": self.width,
            "first": self.first,
        }

    @classmethod
    def restore(cls, about: dict[str, Any]) -> TableSchema:
        """Undo `describe`."""
        columns = tuple(Column(name, kind) for name, kind in about["columns"])
        for column in columns:
            check_kinds(column._asdict(), name=str)
            check_choice("kind", column.kind, (*KINDS, "text"))
        schema = cls(**{"first": 0, **about, "columns": columns})
        check_kinds(vars(schema), label=str | None)
        check_choice("label_kind", schema.label_kind, ("whole", "string", None))
        check_choice("first", schema.first, (0, FIRST))
        check_counts(vars(schema), "width")
        return schema

    def kind(self, name: str) -> str:
        """What a column holds."""
        return dict(self.columns)[name]


@dataclass(frozen=True)
class TableOptions:
    """How to read a table.

    A column is given by its name, or by its number, counted from `first` (negative: from the end).

    Attributes
    ----------
    label : str, int or None
        The label column. None: the one called "label", "class", "target" or "y", otherwise the
        last.
    text : tuple
        Columns that hold documents. If there are any, other columns are features only if they
        are in `columns`: the numbers and names next to a text tend to give the answer away.
    drop : tuple
        Columns to ignore.
    columns : tuple
        If given, only these are used, besides the label and the texts.
    categories : tuple
        Columns that are categories even if their cells look like numbers or dates.
    header : bool or None
        Whether the first line names the columns (CSV, TSV, labelled text). None: it does if none of
        its cells is a number while some cells below are, or if one of them is the name of a
        requested column, or "label", "class" or "target"; for labelled text see `HeaderLine`.
    delimiter : str or None
        The separator between the cells of a line (CSV, TSV). None: a tab in TSV; in CSV a comma,
        semicolon, tab or vertical bar, depending on the first lines. If it is a blank, two in a row
        enclose an empty cell.
    decimal : "." or ","
        The decimal separator (CSV, TSV).
    quote : bool or None
        Whether cells may be in double quotes. None: yes in CSV; in TSV yes, but such a cell cannot
        hold a tab or a line end.
    missing_values : tuple of str
        Cells that stand for a missing value, in columns other than texts.
    skip_bad : int
        Skip at most this many lines that cannot be read.
    need_label : bool
        False when predicting: the label, or its column, may be missing.
    schema : TableSchema or None
        What the columns hold, if known from training or from an earlier file.
    first : 0 or 1
        The number of the first column.
    weight : str, int or None
        A column with the weight (cost of an error) of each example; never a feature.
    row_groups : sequence of int or None
        The row groups of a Parquet file to read; None for all.
    """

    label: str | int | None = None
    text: Sequence[str | int] = ()
    drop: Sequence[str | int] = ()
    columns: Sequence[str | int] = ()
    categories: Sequence[str | int] = ()
    header: bool | None = None
    delimiter: str | None = None
    decimal: str = "."
    quote: bool | None = None
    missing_values: Sequence[str] = MISSING
    skip_bad: int = 0
    need_label: bool = True
    schema: TableSchema | None = None
    first: int = 0
    weight: str | int | None = None
    row_groups: Sequence[int] | None = None

    def __post_init__(self) -> None:
        sign = self.delimiter
        if sign is not None and not (sign in _SIGNS or sign in ("\t", " ")):
            raise ValueError(
                f"delimiter={sign!r} must be a tab, a single blank or a single punctuation"
                " mark, such as ';'"
            )
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal={self.decimal!r} must be '.' or ','")

    @property
    def converts(self) -> bool:
        """Whether cells of other types are converted: what the columns hold is decided already."""
        return self.schema is not None

    @property
    def chooses_columns(self) -> bool:
        """Whether the user has chosen any columns."""
        named = (*self.text, *self.drop, *self.columns, *self.categories)
        given = (self.label, self.weight, self.delimiter)
        return bool(named) or self.decimal != "." or any(one is not None for one in given)

    def asked_for(self) -> set[str]:
        """The names of all columns that must be present."""
        named = [*self.text, *self.drop, *self.columns, *self.categories, self.label, self.weight]
        names = {name for name in named if isinstance(name, str) and not _WHOLE.fullmatch(name)}
        if self.schema is not None:
            names |= {column.name for column in self.schema.columns}
        return names


def listed(columns: Any) -> tuple[str | int, ...]:
    """Columns as a tuple, given a sequence or a single column."""
    return (columns,) if isinstance(columns, (str, int)) else tuple(columns)


class ChosenColumns(NamedTuple):
    """Which columns of a file are used, and for what.

    The weight column, if any, is the last of the features until a block is parsed.
    """

    features: tuple[str, ...]
    label: str | None
    text: frozenset[str]
    categories: frozenset[str]
    weight: str | None = None


class CellError(Exception):
    """A cell or a line that cannot be read: the reason, and the position if known."""

    def __init__(self, reason: str, at: int | None = None):
        super().__init__(reason)
        self.reason = reason
        self.at = at


def choose(
    names: Sequence[str], options: TableOptions, source: str, *, labelled: bool = True
) -> ChosenColumns:
    """Find the requested columns of a table; unless `labelled`, none of them holds labels."""
    schema = options.schema
    if schema is not None:
        label = schema.label
        if options.label is not None:
            label = find_column(options.label, names, source, options.first)
        if label not in names:
            label = None
        lacking = [column.name for column in schema.columns if column.name not in names]
        if options.need_label and label is None:
            lacking.append(schema.label or "label")
        if lacking:
            raise lacking_columns(lacking, names, source, schema)
        texts = frozenset(column.name for column in schema.columns if column.kind == "text")
        weight = _weight(names, options, source)
        known = [column.name for column in schema.columns if column.name != weight]
        return ChosenColumns((*known, *_if_any(weight)), label, texts, frozenset(), weight)
    text, drop, only, categories = (
        {find_column(name, names, source, options.first): None for name in given}
        for given in (options.text, options.drop, options.columns, options.categories)
    )
    weight = _weight(names, options, source)
    label = None
    if labelled:
        label = _label(names, options, {*text, *drop, *_if_any(weight)}, source)
    roles = {"the label": _if_any(label), "the weight": _if_any(weight), "a text": text}
    _check_roles(
        {**roles, "a category": categories, "a column to use": only, "dropped": drop}, source
    )
    used = {*text, *only} if text or only else set(names)
    used -= {*drop, *_if_any(label), *_if_any(weight)}
    features = tuple(name for name in names if name in used)
    if not features:
        asked = "; is there another delimiter?" if len(names) == 1 else ""
        raise DataError(
            f"{source}: no column left to learn from (columns found: {_listed(names)}){asked}"
        )
    for name in categories:
        if name not in features:
            raise DataError(
                f"{source}: column {name!r} is declared a category, but is not a feature:"
                " name it as a column to use, too"
            )
    return ChosenColumns(
        (*features, *_if_any(weight)), label, frozenset(text), frozenset(categories), weight
    )


def _check_roles(roles: Mapping[str, Iterable[str]], source: str) -> None:
    """Refuse a column with two roles, except a text or a category that is a column to use."""
    for (role, named), (other, also) in combinations(roles.items(), 2):
        if (role, other) in _TOGETHER:
            continue
        for name in named:
            if name in also:
                raise DataError(f"{source}: column {name!r} cannot be both {role} and {other}")


def _weight(names: Sequence[str], options: TableOptions, source: str) -> str | None:
    """The weight column, which may be missing except in training data."""
    given = options.weight
    if given is None or (options.schema is not None and given not in names):
        return None
    return find_column(given, names, source, options.first)


def _if_any(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _label(names: Sequence[str], options: TableOptions, other: set[str], source: str) -> str | None:
    """The label column: the one given, one with a default name, or the last."""
    if options.label is not None:
        named = isinstance(options.label, str) and not _WHOLE.fullmatch(options.label)
        if named and not options.need_label and options.label not in names:
            return None
        return find_column(options.label, names, source, options.first)
    free = [name for name in names if name not in other]
    for wanted in LABEL_NAMES:
        for name in free:
            if name.lower() == wanted:
                return name
    if not options.need_label:
        return None
    if not free:
        raise DataError(f"{source}: no label column (columns found: {_listed(names)})")
    return free[-1]


def lacking_columns(
    lacking: Sequence[str], names: Sequence[str], source: str, schema: TableSchema
) -> DataError:
    """The error for a table without some of the columns that a model was trained on."""
    first = f"c{schema.first} is the first column of a file without names"
    unnamed = "" if schema.header else f"; {first}"
    return DataError(
        f"{source}: no column {_listed(lacking)}, which the model needs"
        f" (columns found: {_listed(names)}{unnamed})"
    )


def find_column(column: str | int, names: Sequence[str], source: str, first: int = 0) -> str:
    """The name of a column that is given by its name, or by its number counted from `first`."""
    if isinstance(column, str) and column in names:
        return column
    found = f"columns found: {_listed(names)}"
    if isinstance(column, str) and not _WHOLE.fullmatch(column):
        likely = nearest(column, tuple(names))
        meant = "" if likely is None else f"; did you mean {likely!r}?"
        raise DataError(f"{source}: no column {column!r}{meant} ({found})")
    number = int(column)
    place = number if number < 0 else number - first
    if not -len(names) <= place < len(names) or 0 <= number < first:
        raise DataError(f"{source}: no column {number}, counted from {first} ({found})")
    return names[place]


def _listed(names: Iterable[str]) -> str:
    """Names for a message, at most `_LISTED` of them."""
    names = list(names)
    more = f", ... ({len(names):,} in all)" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more


def infer_kind(
    name: str, cells: Any, choice: ChosenColumns, source: str, lines: Any, decimal: str = "."
) -> str:
    """What a column holds, from the cells at the start of a file.

    Parameters
    ----------
    cells : pyarrow array of strings
        Stripped of white space; missing ones are null.
    lines : array
        The line of each cell, for error messages.
    decimal : "." or ","
        The decimal separator.
    """
    import pyarrow.compute as pc

    if name == choice.weight:
        return "number"
    if name in choice.text:
        return "text"
    if name in choice.categories:
        return "category"
    present = cells.drop_null()
    if len(present) == 0:
        return "number"
    first = present[0].as_py()
    if decimal == ",":
        present = _with_points(present)
    if _NUMBER.fullmatch(present[0].as_py()):
        try:
            pc.cast(present, "float64")
            return "number"  # the fastest test by far
        except ValueError:
            pass
    counted = present.value_counts()
    distinct, counts = counted.field(0), counted.field(1)
    if set(distinct.slice(0, 7).to_pylist()) <= {*TRUE, *FALSE}:
        return "boolean"

    def part(pattern: str) -> float:
        matching = pc.match_substring_regex(distinct, f"^({pattern})$")
        return pc.sum(pc.filter(counts, matching), min_count=0).as_py() / len(present)

    if part(f"{NUMBER}|{ENDLESS}") >= _NUMBERS:
        return "number"
    refused = dates_among(cells.drop_null())
    if not refused and part(COMMA) > 0.0 and part(f"{NUMBER}|{COMMA}") == 1.0:
        found, other = ("comma", ",") if decimal == "." else ("point", ".")
        refused = (
            f"numbers with a decimal {found}, found {first!r}: give --decimal '{other}'"
            f" (decimal={other!r}), or declare the column a category"
        )
    if refused:
        row = pc.index(pc.is_valid(cells), True).as_py()
        raise DataError(f"{source}:{lines[row]}: column {name!r} holds {refused}")
    return "category"


def _with_points(cells: Any) -> Any:
    """Cells with commas and points exchanged, so that numbers have a decimal point."""
    import pyarrow.compute as pc

    for sign, other in ((".", "\0"), (",", "."), ("\0", ",")):
        cells = pc.replace_substring(cells, sign, other)
    return cells


def dates_among(present: Any) -> str:
    """What to say of strings, none of them missing, that are all dates; empty for others."""
    import pyarrow.compute as pc

    first = present[0].as_py() if len(present) else ""
    if not _DATE.fullmatch(first):
        return ""
    if not pc.all(pc.match_substring_regex(present, f"^({DATE})$")).as_py():
        return ""
    return f"dates or times, found {first!r}: {_NO_DATES}"


_NO_DATES = "neither numbers nor categories; drop it, or convert it to numbers first"


def kind_of_type(name: str, arrow_type: Any) -> str:
    """The kind of column for an Arrow type. Raises CellError if there is none."""
    from pyarrow import types as t

    value = arrow_type.value_type if t.is_dictionary(arrow_type) else arrow_type
    if t.is_boolean(value):
        return "boolean"
    if t.is_integer(value) or t.is_floating(value) or t.is_decimal(value) or t.is_null(value):
        return "number"
    if t.is_string(value) or t.is_large_string(value) or str(value) == "string_view":
        return "category"
    if t.is_temporal(value):
        raise CellError(f"column {name!r} holds dates or times ({value}): {_NO_DATES}")
    if t.is_nested(value):
        raise CellError(f"column {name!r} holds nested values ({value}): flatten or drop it")
    raise CellError(f"column {name!r} holds {value}, neither numbers nor strings: drop it")
