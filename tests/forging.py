"""Forged model and cache files: false contents with correct digests."""

import hashlib
import json

import numpy as np

CODES = {"<f8": "F64", "<f4": "F32", "<i8": "I64", "<u8": "U64", "<u4": "U32", "|u1": "U8"}
CODES |= {"<i4": "I32", "|i1": "I8", "<i2": "I16", "<f2": "F16"}


def header_of(arrays, metadata, sealed=True):
    """The header as a dict, and the bodies one after the other."""
    header, body = {"__metadata__": metadata}, b""
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).tobytes()
        spec = {"dtype": CODES[array.dtype.str], "shape": list(array.shape)}
        header[name] = {**spec, "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    if sealed:
        ends = [len(body), len(body) + 32]
        header["sha256"] = {"dtype": "U8", "shape": [32], "data_offsets": ends}
    return header, body


def sealed_file(header, body):
    """The bytes of a model file with a correct digest; the header is a dict or JSON."""
    text = header if isinstance(header, str) else json.dumps(header)
    start = text.encode("utf-8", "surrogatepass")
    content = len(start).to_bytes(8, "little") + start + body
    return content + hashlib.sha256(content).digest()


def forged_model(arrays, about, change=lambda header: None):
    """The bytes of a model file whose header was changed."""
    header, body = header_of(arrays, {"model": json.dumps(about)})
    return sealed_file(change(header) or header, body)


def forged_cache(arrays, about, change=lambda header: None):
    """The bytes of a cache file whose header was changed."""
    header, body = header_of(arrays, {"examples": json.dumps(about)}, sealed=False)
    text = json.dumps(change(header) or header).encode()
    return len(text).to_bytes(8, "little") + text + body
