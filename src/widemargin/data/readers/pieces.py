"""Read blocks of lines in parallel, and yield them in order with their line numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from widemargin.data.readers.chunk import Chunk, Flaw, Piece
from widemargin.data.readers.headers import HeaderLine
from widemargin.data.readers.sources import LineBlock, Range, ReadBuffer
from widemargin.errors import DataError
from widemargin.markup.words import several
from widemargin.threads import map_in_order

#: Takes lines and the maximum number of bad ones to find; compiled, and releases the GIL.
Parse = Callable[[np.ndarray, int], Piece]


@dataclass
class SkippedLines:
    """How many bad lines may be skipped, and which ones were (a file may be read many times)."""

    allowed: int = 0
    lines: set[tuple[str, int | str]] = field(default_factory=set)

    def count(self, source: str, flaws: Iterable[Flaw]) -> None:
        """Count bad lines; raise an error for the first that exceeds the limit."""
        for flaw in flaws:
            if (source, flaw.line) not in self.lines and len(self.lines) == self.allowed:
                raise DataError(describe(source, flaw, self.allowed))
            self.lines.add((source, flaw.line))

    def left(self, source: str) -> int:
        """How many bad lines are still allowed in a source that is read from the start."""
        return self.allowed - sum(name != source for name, _ in self.lines)


def describe(source: str, flaw: Flaw, allowed: int = 0) -> str:
    """Describe a flaw in one line: file, line, column, what was found."""
    place = f"{source}:{flaw.line}" + (f":{flaw.column}" if flaw.column else "")
    also = f" ({several(allowed, 'bad line')} skipped before)" if allowed else ""
    return f"{place}: {flaw.message}{also}"


def chunks_of(
    blocks: Iterable[LineBlock],
    parse: Parse,
    skipped: SkippedLines,
    threads: int = 1,
    header: HeaderLine | None = None,
    copies: bool = False,
) -> Iterator[Chunk]:
    """Read blocks, several at a time, and yield what they hold in order.

    If `parse` copies everything it keeps of the text, blocks reuse the same memory.

    Line numbers of ranges that are not read consecutively from the start of a file count from the
    first range, because counting the lines before it would mean reading them; this is done only for
    a bad line.
    """
    line, follows, counted = 1, ("", 0), True
    # A header may look like one more bad line.
    flaws, buffer = skipped.allowed + 1 + (header is not None), ReadBuffer() if copies else None

    def load_and_parse(block: LineBlock) -> tuple[LineBlock, Piece]:
        return block, parse(block.load(buffer), flaws)

    for block, piece in map_in_order(load_and_parse, blocks, threads):
        source = block.source
        if header is not None and block.first:
            piece = header.drop(piece, source)
        if isinstance(block, Range):
            if (source, block.start) != follows:
                line, counted = 1, block.start == 0
            if piece.flaws and not counted:
                line, counted = block.first_line(), True
            follows = (source, block.end)
        if piece.flaws:
            skipped.count(source, (flaw._replace(line=flaw.line + line) for flaw in piece.flaws))
        if piece.n:
            yield Chunk(piece.raw, piece.n, piece.labels, piece.weights, source, piece.lines + line)
        line += piece.length


def column_of(text: np.ndarray, place: int) -> int:
    """The column, counted in characters from 1, of a byte."""
    begins = line_start(text, place)
    return len(text[begins:place].tobytes().decode("utf-8", "replace")) + 1


def line_start(text: np.ndarray, place: int) -> int:
    """Where the line of a byte begins."""
    return text[:place].tobytes().rfind(b"\n") + 1


def line_starts(text: np.ndarray) -> np.ndarray:
    """Where each line begins."""
    ends = np.flatnonzero(text == ord("\n"))
    return np.append(0, ends + 1)[: len(ends)]


def without_lines(text: np.ndarray, lines: Iterable[int]) -> np.ndarray:
    """A copy of a text in which some lines are blank."""
    text, starts = text.copy(), np.append(line_starts(text), len(text))
    for line in lines:
        text[starts[line] : starts[line + 1] - 1] = ord(" ")
    return text


def token_at(text: np.ndarray, place: int, ends: bytes = b" \t\r\n") -> str:
    """The token at a position, up to the next blank, for an error message."""
    after = text[place : place + 80].tobytes()
    stop = min((at for at in map(after.find, (bytes([c]) for c in ends)) if at >= 0), default=80)
    if stop == 0:
        return "the end of the line" if after[:1] in b"\r\n" else "a blank"
    token = after[:stop].decode("utf-8", "replace")
    if "\x00" in token:
        return "a NUL byte"
    return repr(token if len(token) <= 40 else token[:37] + "...")
