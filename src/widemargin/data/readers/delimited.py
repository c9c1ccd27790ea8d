"""CSV and TSV: lines of cells. Arrow reads them; where it fails, each cell is parsed here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.data.readers.blocks import RecordBlock, RecordReader, Row, find_lines
from widemargin.data.readers.cell_values import parse_cell
from widemargin.data.readers.columns import (
    BLANKS,
    COMMA,
    FALSE,
    FIRST,
    NUMBER,
    ONE,
    TRUE,
    ZERO,
    CellError,
    TableOptions,
    TableSchema,
)
from widemargin.errors import DataError
from widemargin.markup.words import several

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
#: Possible delimiters, and how many lines are examined to find the one in use.
_DELIMITERS, _LINES = (",", ";", "\t", "|"), 20
_QUOTED, _DECIMAL = re.compile(r'"(?:[^"]++|"")*+"'), re.compile(r"(?<=[0-9]),(?=[0-9])")
#: A first line with such a cell is taken as a header. ("y" is too often a category.)
_HEADER_NAMES = ("label", "class", "target")


def find_delimiter(head: bytes, decimal: str = ".") -> str:
    """The delimiter of a CSV file that begins with these bytes.

    It is a character that occurs equally often in each of the first lines, preferably the comma
    (unless all commas are, or may be, decimal commas); otherwise the most frequent one in the first
    line.

    Examples
    --------
    >>> find_delimiter(b"name;size\\ncat;1,5\\ndog;3,25\\n")
    ';'
    """
    text = _QUOTED.sub("", head.decode("utf-8", "replace").removeprefix("\ufeff"))
    lines = text.splitlines()
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # it may be incomplete
    lines = [line for line in lines if line.strip()][:_LINES] or [""]
    counts = {sign: {line.count(sign) for line in lines} for sign in _DELIMITERS}
    steady = [sign for sign in _DELIMITERS if len(counts[sign]) == 1 and 0 not in counts[sign]]
    if not steady:
        likely = [sign for sign in _DELIMITERS if sign != decimal and sign in lines[0]]
        return max(likely or _DELIMITERS, key=lines[0].count)
    others = [sign for sign in steady if sign != ","]
    decimals = decimal == "," or all("," not in _DECIMAL.sub("", line) for line in lines)
    if "," in steady and not (others and decimals):
        return ","
    return max(others, key=lines[0].count)


class Delimited(RecordReader):
    """A table of lines, with cells separated by commas or tabs.

    A cell in double quotes (CSV) may hold anything, with quotes in it doubled; a quote elsewhere in
    a cell is just a quote. Without quoting (TSV), a delimiter or a line end always ends a cell, but
    a cell that is quoted as a whole is read as in CSV, since most programs write such cells. Blank
    lines are skipped. If blanks separate cells, two of them enclose an empty cell.

    Parameters
    ----------
    source : str
        The name of the file in error messages.
    delimiter : str
        The separator between cells.
    quoting : bool
        Whether cells may be quoted, unless the options decide.
    options : TableOptions
        How to read the table.
    """

    typed = False

    def __init__(self, source: str, delimiter: str, quoting: bool, options: TableOptions):
        self.source = source
        self.delimiter = delimiter
        self.options = options
        self.missing, self.decimal = frozenset(options.missing_values), options.decimal
        self.written = self.missing, self.decimal, options.converts
        self.quoting = quoting if options.quote is None else options.quote
        self._unquotes = not quoting and options.quote is None
        self.names: list[str] = []
        self.header = False
        d = re.escape(delimiter).encode()
        # Blanks around a cell in quotes, unless they separate cells.
        before, after = (b"", b"") if delimiter == " " else (b" *", b" *+")
        quoted = before + rb'"((?:[^"]++|"")*+)"' + after if self.quoting else rb"(?!)()"
        plain = b"(?!" + before + b'")' if self.quoting else b""
        plain += rb"([^\r\n" + d + rb"]*+)"
        self._cell = re.compile(quoted + b"|" + plain)
        cell = b"(?:" + quoted + b"|" + plain + b")"
        whole = before + rb'"((?:[^"\r\n' + d + rb']|"")*+)"' + after
        self._whole = re.compile(
            rb"(?:(?<=[\n" + d + rb"])|\A)" + whole + rb"(?=[\r\n" + d + rb"])"
        )
        self._record = re.compile(cell + b"(?:" + d + cell + rb")*+\r?\n")
        late = rb"(?!)" if delimiter == " " else b"(?:" + d + rb"|\n|\A) +"
        self._late_quote = re.compile(late + b'"')
        self._unfinished = re.compile(
            b"(?:" + cell + d + b")*+(?:" + cell + b"|" + before + rb'"(?:[^"]++|"")*+"?)\r?\Z'
        )

    def records(self, data: bytes, final: bool) -> tuple[np.ndarray, np.ndarray, int]:
        """Where records start, on which line (from 0), and where the last whole one ends."""
        content = np.frombuffer(data, np.uint8)
        newlines = find_lines(content)
        if not self.quoting or b'"' not in data:
            return _starts(content, newlines, newlines)
        quotes = np.flatnonzero(content == _QUOTE)
        ends = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
        end = int(ends[-1]) + 1 if len(ends) else 0
        if self._are_regular(content, quotes[quotes < end]) and not (final and end < len(data)):
            return _starts(content, ends, newlines)
        starts, end = self._scan(data, final)
        return starts, np.searchsorted(newlines, starts), end

    def _are_regular(self, content: np.ndarray, quotes: np.ndarray) -> bool:
        """Whether quotes alternately open and close cells, or are doubled within them."""
        before, after = ord(self.delimiter), (ord(self.delimiter), _RETURN, _NEWLINE, _QUOTE)
        opening, closing = quotes[0::2], quotes[1::2]
        left = content[opening[opening > 0] - 1]
        right = content[closing + 1]
        return bool(
            np.all((left == before) | (left == _NEWLINE) | (left == _QUOTE))
            and np.all(np.isin(right, after))
        )

    def _scan(self, data: bytes, final: bool) -> tuple[np.ndarray, int]:
        """Find records one by one, for data in which quotes are also used in other ways."""
        starts, at = [], 0
        while at < len(data):
            record = self._record.match(data, at)
            if record:
                if data[at : record.end()].strip(b"\r\n"):
                    starts.append(at)
                at = record.end()
                continue
            if not final and self._unfinished.match(data, at):
                break
            starts.append(at)  # a bad one: go on with the next line
            at = data.find(b"\n", at) + 1 or len(data)
        return np.array(starts, np.int64), at

    def begin(self, block: RecordBlock) -> RecordBlock:
        """Name the columns; returns the block without its header."""
        if not len(block.starts):
            return block
        try:
            first = self._first_cells(block, 0)
        except CellError as bad:
            raise DataError(self._place(block, 0, bad.at) + bad.reason) from None
        try:
            second = self._first_cells(block, 1) if len(block.starts) > 1 else None
        except CellError:
            second = []  # the error is reported, or skipped, when the line is read
        schema = self.options.schema
        start = FIRST if schema is None else schema.first
        unnamed = [f"c{i}" for i in range(start, start + len(first))]
        self.header = self._is_header(first, second)
        if self.header:
            self._check_header(block)
            names = [name or other for name, other in zip(first, unnamed, strict=True)]
            twice = [name for i, name in enumerate(names) if name in names[:i]]
            if twice:
                raise DataError(
                    f"{self.source}:{block.lines[0]}: two columns are called {twice[0]!r};"
                    " rename or remove one"
                )
            self.names = names
            return block.part(1, len(block.starts))
        self.names = unnamed
        if schema is not None and not schema.header and len(first) != schema.width > 0:
            self.names = self._names_without_label(schema, block, len(first))
        return block

    def _names_without_label(
        self, schema: TableSchema, block: RecordBlock, found: int
    ) -> list[str]:
        """The names of unnamed columns of which only the label is missing."""
        names = [f"c{i}" for i in range(schema.first, schema.first + schema.width)]
        if schema.label in names:
            names.remove(schema.label)
        if found != len(names):
            labelled = f" ({len(names)} without the labels)" * (len(names) < schema.width)
            raise DataError(
                f"{self.source}:{block.lines[0]}: {several(found, 'column')} without names, where"
                f" the table learned from has {schema.width}{labelled}"
            )
        return names

    def _first_cells(self, block: RecordBlock, record: int) -> list[str]:
        cells = self._split(block.data, int(block.starts[record]))
        return [cell.decode("utf-8", "replace").strip(BLANKS) for cell, _ in cells]

    def _check_header(self, block: RecordBlock) -> None:
        """Raise an error if a column name is not UTF-8: it could not be found again."""
        for cell, at in self._split(block.data, int(block.starts[0])):
            try:
                _decode(cell)
            except CellError as bad:
                raise DataError(self._place(block, 0, at) + bad.reason) from None

    def _is_header(self, first: Sequence[str], second: Sequence[str] | None) -> bool:
        """Whether the first line has names; `second` is None if it is the only line."""
        options = self.options
        if options.header is not None:
            return options.header
        if options.schema is not None and not options.schema.header:
            names = {column.name for column in options.schema.columns}
            return len(names) > 1 and names <= set(first)  # c1, c2, ... as a data frame wrote them
        if options.asked_for() & set(first):
            return True
        number = re.compile(f"{NUMBER}|{COMMA}")
        if any(number.fullmatch(cell) for cell in first):
            return False
        if any(cell.lower() in _HEADER_NAMES for cell in first):
            return True
        if second is None:  # one row would be of no use, so its cells are names without rows
            return options.schema is None and len(first) > 1
        return any(number.fullmatch(cell) for cell in second[: len(first)])

    def read(self, block: RecordBlock, kinds: dict[str, str]) -> Any | None:
        """The columns of a block, read by Arrow; None if anything is doubtful."""
        import pyarrow as pa
        from pyarrow import csv

        data = block.data
        if b"\0" in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
            return None
        if self.quoting and b'"' in data and not self._arrow_agrees(data):
            return None
        if self._unquotes and b'"' in data:
            data = self._whole.sub(_unquoted, data)
        types = {"number": pa.float64(), "boolean": pa.bool_()}
        converts = self.options.converts

        def blank(values: Sequence[str]) -> list[str]:
            return [*values, *(" " + value for value in values)]

        try:
            table = csv.read_csv(
                pa.BufferReader(data),
                read_options=csv.ReadOptions(
                    use_threads=False, block_size=len(data) + 1, column_names=self.names
                ),
                parse_options=csv.ParseOptions(
                    delimiter=self.delimiter,
                    quote_char='"' if self.quoting else False,
                    newlines_in_values=self.quoting and b'"' in data,
                ),
                convert_options=csv.ConvertOptions(
                    include_columns=list(kinds),
                    column_types={n: types.get(k, pa.string()) for n, k in kinds.items()},
                    null_values=blank(self.options.missing_values),
                    true_values=blank(TRUE + ONE if converts else TRUE),
                    false_values=blank(FALSE + ZERO if converts else FALSE),
                    strings_can_be_null=False,
                    decimal_point=self.decimal,
                ),
            )
        except pa.ArrowException:
            return None
        return table if table.num_rows == len(block.starts) else None

    def _arrow_agrees(self, data: bytes) -> bool:
        """Whether Arrow interprets the quotes as this module does.

        It does not recognise a quote after a blank, and lets a quoted cell continue after its end.
        """
        content = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(content == _QUOTE)
        if len(quotes) % 2 == 0 and self._are_regular(content, quotes):
            return True
        if self._late_quote.search(data):
            return False
        at = 0
        while at < len(data) and (record := self._record.match(data, at)):
            at = record.end()
        return at == len(data)

    def _row(
        self, block: RecordBlock, i: int, kinds: dict[str, str], label: str | None
    ) -> Row | str | None:
        at = int(block.starts[i])
        try:
            cells = self._split(block.data, at)
            if len(cells) == 1 and len(self.names) > 1 and not cells[0][0].strip():
                return None
            if len(cells) != len(self.names):
                raise CellError(self._ragged(block, i, len(cells)))
            values = {}
            said = None
            for name, (cell, at) in zip(self.names, cells, strict=True):
                if name == label:
                    said = _decode(cell)
                elif name in kinds:
                    try:
                        text = _decode(cell)
                        values[name] = parse_cell(text, kinds[name], *self.written)
                    except CellError as bad:
                        raise CellError(f"column {name!r}: {bad.reason}", at) from None
        except CellError as bad:
            return self._place(block, i, bad.at) + bad.reason
        label_at = cells[self.names.index(label)][1] if label else None
        return Row(int(block.lines[i]), self._place(block, i, label_at), said, values)

    def _ragged(self, block: RecordBlock, record: int, found: int) -> str:
        cells = f"{several(found, 'cell')}, expected {len(self.names)}"
        if block.cut and record == len(block.starts) - 1:
            return f"{cells}: the last line is cut short"
        start = int(block.starts[record])
        if self._unquotes and b'"' in block.data[start : block.data.index(b"\n", start)]:
            return f"{cells}; if quoted cells hold tabs or line ends, give the format csv"
        if self.delimiter == " ":
            return f"{cells}; cells are separated by exactly one blank"
        return cells

    def _split(self, data: bytes, at: int) -> list[tuple[bytes, int]]:
        """The cells of the record that starts at `at`, each with its position. Raises CellError."""
        cells = []
        delimiter = ord(self.delimiter)
        while True:
            match = self._cell.match(data, at)
            if match is None:
                raise CellError("a quote is not closed", at)
            quoted, plain = match.groups()
            cell = plain if quoted is None else quoted.replace(b'""', b'"')
            if self._unquotes and b'"' in cell:
                cell = self._whole.sub(_unquoted, cell + b"\n").removesuffix(b"\n")
            if b"\0" in cell:
                raise CellError("a NUL byte; is this text in UTF-8?", at)
            cells.append((cell, at))
            end = match.end()
            if data[end] == delimiter:
                at = end + 1
                continue
            if data[end] == _NEWLINE or data.startswith(b"\r\n", end):
                return cells
            if data[end] == _RETURN:
                raise CellError(r"a carriage return within a line; end lines with \n or \r\n", end)
            raise CellError(
                "text after a closing quote; a quote within quotes must be doubled", end
            )

    def _place(self, block: RecordBlock, record: int, at: int | None) -> str:
        """`file:line:column: ` of a byte of a block, or `file:line: ` of a record."""
        line, start = int(block.lines[record]), int(block.starts[record])
        if at is None:
            return f"{self.source}:{line}: "
        line += block.data.count(b"\n", start, at)
        begin = max(start, block.data.rfind(b"\n", 0, at) + 1)
        column = len(block.data[begin:at].decode("utf-8", "replace")) + 1
        return f"{self.source}:{line}:{column}: "


def _starts(
    content: np.ndarray, ends: np.ndarray, newlines: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Where the records that end at these newlines start, without blank ones."""
    starts = np.empty(len(ends), np.int64)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    blank = ends == starts
    blank |= (ends == starts + 1) & (content[starts] == _RETURN) if len(ends) else blank
    lines = np.arange(len(ends)) if ends is newlines else np.searchsorted(newlines, starts)
    if blank.any():
        kept = ~blank
        starts, lines = starts[kept], lines[kept]
    return starts, lines, int(ends[-1]) + 1 if len(ends) else 0


def _unquoted(match: re.Match[bytes]) -> bytes:
    """The content of a quoted cell."""
    return match[1].replace(b'""', b'"')


def _decode(cell: bytes) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError as error:
        raise CellError(
            f"the byte 0x{cell[error.start]:02x} is not UTF-8; give the encoding (latin-1, perhaps)"
        ) from None
