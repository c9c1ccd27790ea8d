"""The contents of files as plain values that can be compared and printed."""

from itertools import pairwise

from widemargin.data.readers.chunk import Hashed, Texts, Vectors
from widemargin.data.readers.files import Files, ReadOptions


def examples_of(paths, **options):
    """All examples in files, as (line, label, weight, example), and the files."""
    files = Files(paths, ReadOptions(**options))
    return [example for chunk in files.chunks() for example in plain(chunk)], files


def plain(chunk):
    """The examples of a chunk as plain values."""
    labels = [None] * chunk.n
    if chunk.labels is not None:
        known = [*chunk.labels.values.tolist(), None]
        labels = [known[code] for code in chunk.labels.codes.tolist()]
    weights = [1.0] * chunk.n if chunk.weights is None else chunk.weights.tolist()
    return list(zip(chunk.lines.tolist(), labels, weights, raw_examples(chunk.raw), strict=True))


def raw_examples(raw):
    if isinstance(raw, Texts):
        ranges = zip(raw.starts.tolist(), raw.ends.tolist(), strict=True)
        return [raw.buffer[start:end].tobytes().decode() for start, end in ranges]
    if isinstance(raw, Vectors):
        stored = raw.rows.stored
        items = list(zip(stored.indices.tolist(), stored.values.tolist(), strict=True))
        starts = stored.starts.tolist()
    else:
        assert isinstance(raw, Hashed)
        names = [
            (raw.text[a:b].tobytes().decode(), raw.text[c:d].tobytes().decode())
            for a, b, c, d in raw.names.tolist()
        ]
        items = list(zip(names, raw.values.tolist(), strict=True))
        starts = raw.starts.tolist()
    return [items[a:b] for a, b in pairwise(starts)]
