"""The fuzz targets: every reader, every kind of file that is loaded, and requests to a server."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

#: How a target runs. "interpreted": loops as Python, whose lines count as coverage. "bounds":
#: compiled, with every index checked. "guarded": hand-written LLVM, with arrays next to protected
#: pages. "compiled": as users run it.
MODES = ("interpreted", "bounds", "guarded", "compiled")


class Target(NamedTuple):
    """A function of bytes that raises an error if something is wrong.

    Attributes
    ----------
    home : str
        The module and the function.
    seeds : list of bytes
        The inputs from which mutation starts.
    modules : tuple of str
        The modules of the package whose lines should be reached.
    modes : tuple of str
        The modes it runs in.
    """

    home: str
    seeds: list[bytes]
    modules: tuple[str, ...]
    modes: tuple[str, ...] = ("interpreted", "bounds")

    def function(self) -> Callable[[bytes], None]:
        """The function, imported when needed."""
        module, name = self.home.split(":")
        found: Callable[[bytes], None] = getattr(import_module(module), name)
        return found


_SVMLIGHT = [
    b"1 1:1 3:2\n-1 2:0.5\n",
    b"+1 qid:3 1:.5 7:1e-3 # a comment\n# all\n\n2 9:-1.25e+300\n",
    b"-1 1:12345678901234567890 2:1e-400 3:4.9e-324 4:1.7976931348623157e308\r\n",
    b"1 2147483646:1\n1 0:0.1 1:123456789.123456789 2:1e22 3:9007199254740993\n0.5 1:1\n",
    b"1 1:1:1\n1 1: 2\nx 1:1\n1 2:1 1:1\n1 qid:x 1:1\n9007199254740993 1:1\n1 1:nan\n",
]
_VW = [
    b"1 | a b:2\n-1 |n c d:.5\n",
    b"1 2.5 0.1 'tag|name:2 first:1e-3 second |other x\n| unlabelled\n",
    b"-1 0 tag|a:1e300 b:1e300\n2 1e-400|\xc3\xa9:1e-310 \xe4\xb8\xad:12345678901234567890\n",
    b"1 -1 | a\nx | a\n1 2 3 4 | a\n1 no bar\n1 | a:x :5 b::2\n1 1e999 | a\n",
]
_TEXTS = [
    b"__label__x some words\n__label__y\n__label__z\t\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80 \n",
    b"spam\tWin a prize, now!\nham\t\n\nx\ty\tz\r\n",
    b"__label__\nno label\n__label__a __label__b\n\xff\n\tx\na\0b\tc\n",
    b"x\t" + "ABC ǅ İ ß ﬃ ６４ _a_b 'tis".encode() + b"\n" + b"word " * 30 + b"\n",
]
_CONLL = [
    b"dogs NNS B-NP\nbark VBP B-VP\n\nit PRP B-NP\n",
    b"\xef\xbb\xbf-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n\n\n  a  b\tc d \r\n",
    b"a\tb\nc d\ne\n",
    b"NOUN dogs\nVERB bark\n\nbad\n\nX \xff\n",
]
_CONLLU = [
    b"# text = It barks\n1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"
    b"2\tbarks\tbark\tVERB\tVBZ\tA=1\t0\troot\t_\tSpaceAfter=No\n\n",
    b"1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\t_\t_\t_\t_\t0\troot\t_\t_\n"
    b"2\tle\t_\t_\t_\t_\t1\tdet\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    b"2\ta\t_\t_\t_\t_\t_\t_\t_\t_\n",
]
_CSV = [
    b"a,b,label\n1,x,yes\n2,y,no\n,z,yes\n",
    b'name,"a ""b""",label\n"x,\n y",1e3,1\nz,-0.5,0\n',
    b"a,label\ntrue,1\nfalse,2\nnan,1\n1e999,2\n\xff,1\n",
    b"x;y;label\n1,5;a;p\n2,5;b;q\n",
    b'b,a,label\n"some, words",1,yes\nother,2.5,no\n"unclosed,3,no\n',
    b"b,a,label\nx,1\ny,2,no,4\n,,\n\0,1,no\n2026-11-18,-1,yes\n1,1e400,\xe9\n",
]
_JSONL = [
    b'{"a": 1, "b": "x", "label": "yes"}\n{"a": null, "b": "y", "label": "no"}\n',
    b'{"a": 1.5e3, "label": 1}\n{"label": 0, "a": -0.0, "c": true}\n{"a": [1]}\n',
    b'{"a": "\\ud800", "label": 1}\n{"a": NaN}\n{"a": 1, "a": 2}\n[1]\n{\n',
]
_JSONL += [
    b'{"b": "some words", "a": 2, "label": "p"}\n{"b": null, "a": -1, "label": "q"}\n \n',
    b'{"b": 1, "label": [}\n{"a" 1}\n{"a": 1,}\n{"a": 1} x\n{"a": "\0"}\n{"a": "\xff"}\n',
    b'{"a": ' + b"[" * 80 + b"]" * 80 + b', "label": 1}\n{"a": 1' + b"0" * 400 + b"}\n",
]
_LIBLINEAR = [
    b"solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n"
    b"0.5 \n-1 \n",
    b"solver_type MCSVM_CS\nnr_class 3\nlabel 1 2 3\nnr_feature 1\nbias 1\nw\n"
    b"1 2 3 \n0 1e300 -2 \n",
    b"solver_type L2R_LR\nnr_class 2\nlabel 0 1\nnr_feature 1\nbias 0.5\nw\n1\n2\n",
]
_SCRIPTS = [bytes([k, 2, 1, k, 0, 3, 7, k, 1, 2, 9, 5, 4, 3]) for k in range(0, 64, 3)]
_BODIES = [
    b'\0\0\0"win a prize"',
    b"\1\0\0[[1, 2, 3, 4, 5]]",
    b'\2\0\1{"weight": 4, "food": "fish", "indoor": true}',
    b'\3\1\0{"text": "a"}\n{"text": "b"}\n',
    b"\4\4\0" + b"1 1:0.5\n2 3:1\n",
    b'\5\0\0["The", "dog"]',
    b"\6\x06\0| win money\n",
    b"\7\7\0" + _CONLL[0],
    b"\x08\x03\0weight,indoor,food\n4,true,fish\n",
    # The first model is an annotator.
    b'\0\0\0{"text": "The dogs don\'t bark."}',
    b"\0\2\0The dogs bark.\n\nA dog!\n",
    b'\0\1\1"a"\n{"text": ""}\n',
]
_RAW = [
    b"GET /models HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n",
    b"POST /predict/texts HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nContent-Type: application/json\r\n"
    b'Content-Length: 3\r\n\r\n"a"',
    b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
]
_TABLES = ("data.readers.table", "data.readers.parser", "data.readers.columns")
_FORGED = tuple(f"modelfile.{name}" for name in ("files", "layout", "packing", "checks"))
_COMPILED = ("interpreted", "bounds", "guarded")
_NUMBERS = ("loops.files.numbers",)
_HASHING = ("loops.text.documents", "loops.text.gather", "loops.text.names", "loops.text.strings")

TARGETS: dict[str, Target] = {
    "svmlight": Target(
        "fuzz.readers:svmlight",
        _SVMLIGHT,
        ("data.readers.svmlight", "loops.files.svmlight", *_NUMBERS),
        _COMPILED,
    ),
    "vw": Target(
        "fuzz.readers:vw", _VW, ("data.readers.vw", "loops.files.vw", *_NUMBERS), _COMPILED
    ),
    "fasttext": Target(
        "fuzz.readers:fasttext", _TEXTS, ("data.readers.labelled", *_HASHING), _COMPILED
    ),
    "labelled": Target(
        "fuzz.readers:labelled", _TEXTS, ("data.readers.labelled", *_HASHING), _COMPILED
    ),
    "text": Target("fuzz.readers:text", _TEXTS, ("data.encode.text", *_HASHING), _COMPILED),
    "csv": Target("fuzz.readers:csv", _CSV, ("data.readers.delimited", *_TABLES), ("interpreted",)),
    "tsv": Target(
        "fuzz.readers:tsv",
        [seed.replace(b",", b"\t") for seed in _CSV],
        ("data.readers.delimited", *_TABLES),
        ("interpreted",),
    ),
    "jsonl": Target(
        "fuzz.readers:jsonl", _JSONL, ("data.readers.jsonl", *_TABLES), ("interpreted",)
    ),
    "conll": Target("fuzz.readers:conll", _CONLL, ("data.readers.conll",), ("interpreted",)),
    "conllu": Target("fuzz.readers:conllu", _CONLLU, ("data.readers.conll",), ("interpreted",)),
    "liblinear": Target(
        "fuzz.readers:liblinear", _LIBLINEAR, ("models.liblinear",), ("interpreted",)
    ),
    "model": Target(
        "fuzz.forged:model",
        _SCRIPTS,
        (
            *(*_FORGED, "estimators.files", "models.linear", "models.kernel"),
            *("structured.tagger.file", "structured.sparse_rows", "structured.parser.checks"),
            *("structured.choices.chooser", "structured.choices.candidates"),
        ),
    ),
    "cache": Target("fuzz.forged:cache", _SCRIPTS, (*_FORGED, "data.cache")),
    "checkpoint": Target(
        "fuzz.forged:checkpoint", _SCRIPTS, (*_FORGED, "training.checkpoints", "training.run")
    ),
    "body": Target(
        "fuzz.requests:body",
        _BODIES,
        ("web.serving.bodies", "web.serving.application", "web.serving.batches"),
        ("compiled",),
    ),
    "raw": Target(
        "fuzz.requests:raw", _RAW, ("web.serving.http", "web.serving.application"), ("compiled",)
    ),
    "vectors": Target(
        "fuzz.guarded:vectors", [bytes(range(k, k + 40)) for k in range(7)], (), ("guarded",)
    ),
}
