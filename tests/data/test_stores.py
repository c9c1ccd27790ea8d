"""Files elsewhere: object stores, web servers, and fsspec's memory for all other stores."""

import functools
import http.server
import pathlib
import threading

import numpy as np
import pytest
from partitioned import assert_same_bits, fit, some_rows, write_rows
from shell import run

import widemargin
from widemargin import DataError, Perceptron
from widemargin.stores.addresses import shown

fsspec = pytest.importorskip("fsspec", reason="needs fsspec, of the extra stores")


@pytest.fixture
def local(tmp_path):
    return write_rows(tmp_path / "rows.svm", *some_rows(300, 12, 2))


@pytest.fixture
def memory(local):
    """The same file in fsspec's memory file system."""
    files = fsspec.filesystem("memory")
    files.pipe_file("/data/rows.svm", pathlib.Path(local).read_bytes())
    yield "memory://data/rows.svm"
    files.rm("/data", recursive=True)


def assert_same_rows(one, other, **how):
    for mine, theirs in zip(
        widemargin.read(one, **how), widemargin.read(other, **how), strict=True
    ):
        equal = mine != theirs
        assert not (equal.nnz if hasattr(equal, "nnz") else np.any(equal))


@pytest.mark.parametrize("block", [1 << 22, 700])
def test_reads_ranges_as_it_reads_files(local, memory, block):
    chunks = [widemargin.stream(path, block=block) for path in (local, memory)]
    for (X, y), (other, labels) in zip(*chunks, strict=True):
        assert (other != X).nnz == 0
        assert np.array_equal(y, labels)


def test_globs_compression_and_tables(tmp_path, memory):
    import gzip

    files = fsspec.filesystem("memory")
    text = b"size,kind,label\n" + b"1.5,cat,yes\n2,dog,no\n" * 30
    files.pipe_file("/data/t.csv.gz", gzip.compress(text))
    (tmp_path / "t.csv").write_bytes(text)
    assert_same_rows("memory://data/*.csv.gz", str(tmp_path / "t.csv"))
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"size": np.arange(50.0), "label": ["a", "b"] * 25})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=10)
    files.pipe_file("/data/t.parquet", (tmp_path / "t.parquet").read_bytes())
    assert_same_rows("memory://data/t.parquet", str(tmp_path / "t.parquet"))
    learner = Perceptron(random_state=0, epochs=2)
    parts = [
        fit(learner, path, partitions=3)
        for path in ("memory://data/t.parquet", str(tmp_path / "t.parquet"))
    ]
    assert_same_bits(*parts)
    assert parts[0].model_.mixture[1] == 3


def test_partitions_are_ranges_there_too(local, memory):
    learner = Perceptron(random_state=0, epochs=3)
    assert_same_bits(fit(learner, memory, partitions=5), fit(learner, local, partitions=5))


def test_models_are_saved_and_loaded_there(local, memory):
    X, y = widemargin.read(memory)
    learner = Perceptron(random_state=0).fit(X, y)
    learner.save("memory://data/model.wm")
    again = widemargin.load("memory://data/model.wm")
    assert np.array_equal(again.coef_, learner.coef_)
    content = bytearray(fsspec.filesystem("memory").cat_file("/data/model.wm"))
    content[-1] ^= 1
    fsspec.filesystem("memory").pipe_file("/data/model.wm", bytes(content))
    with pytest.raises(widemargin.ModelFileError, match="does not match its digest"):
        widemargin.load("memory://data/model.wm")


def test_the_shell_reads_and_saves_there(memory):
    told = run("train", memory, "--model", "memory://data/model.wm", "--epochs", 2).output
    assert "model saved to memory://data/model.wm" in told
    assert "held-out accuracy" in told
    answers = run("predict", "memory://data/model.wm", memory).output.split()
    assert set(answers) <= {"0", "1"}
    assert len(answers) == 300


def test_errors_name_the_address_and_no_secret(memory):
    with pytest.raises(DataError, match=r"memory://data/none\.svm: No such file"):
        widemargin.read("memory://data/none.svm")
    with pytest.raises(DataError, match=r"memory://data/\*\.vw: no file matches"):
        widemargin.read("memory://data/*.vw")
    fsspec.filesystem("memory").pipe_file("/data/bad.svm", b"1 1:1\n1 1:x\n")
    with pytest.raises(DataError, match=r"memory://data/bad\.svm:2:5: expected a number"):
        widemargin.read("memory://data/bad.svm")
    with pytest.raises(DataError, match="nowhere"):
        widemargin.read("nowhere://data/rows.svm")
    assert shown("s3://key:secret@bucket/rows.svm?token=1") == "s3://bucket/rows.svm"


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """A web server that answers requests for ranges of bytes."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, body):
        path = pathlib.Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(403 if path.name == "locked.svm" else 404)
            return
        content, asked = path.read_bytes(), self.headers.get("Range")
        first, last = 0, len(content) - 1
        if asked:
            start, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(start), min(int(end), last) if end else last
        self.send_response(206 if asked else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        if body:
            self.wfile.write(content[first : last + 1])

    def log_message(self, *arguments):
        pass


def test_a_web_server(local):
    pytest.importorskip("aiohttp")
    handler = functools.partial(_Ranges, directory=str(pathlib.Path(local).parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/rows.svm?signature=secret"
        assert_same_rows(address, local)
        learner = Perceptron(random_state=0, epochs=2)
        assert_same_bits(fit(learner, address, partitions=3), fit(learner, local, partitions=3))
        for name, reason in (("none", "No such file"), ("locked", "the server answered 403")):
            with pytest.raises(DataError) as caught:
                widemargin.read(address.replace("rows", name))
            assert f"{name}.svm: {reason}" in str(caught.value)
            assert "secret" not in str(caught.value)
        server.shutdown()
    with pytest.raises(DataError, match=r"rows\.svm: Cannot connect") as caught:
        widemargin.read(address)
    assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def bucket():
    """A bucket of a server that speaks S3, on this machine."""
    server = pytest.importorskip("moto.server", reason="needs moto, of the extra dev")
    s3fs = pytest.importorskip("s3fs", reason="needs s3fs, of the extra dev")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "verysecret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        one = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        one.start()
        host, port = one.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("logs")
        yield "s3://logs"
        one.stop()
        s3fs.S3FileSystem.clear_instance_cache()


def test_s3(bucket, local, tmp_path):
    with fsspec.open(f"{bucket}/a/rows.svm", "wb") as file:
        file.write(pathlib.Path(local).read_bytes())
    assert_same_rows(f"{bucket}/a/*.svm", local)
    learner = Perceptron(random_state=0, epochs=2)
    there = fit(learner, f"{bucket}/a/*.svm", partitions=3, checkpoint=tmp_path / "c")
    assert_same_bits(there, fit(learner, local, partitions=3))
    there.save(f"{bucket}/model.wm")
    assert np.array_equal(widemargin.load(f"{bucket}/model.wm").coef_, there.to_local().coef_)
    with fsspec.open(f"{bucket}/model.wm", "rb") as file:
        assert b"verysecret" not in file.read()
    with pytest.raises(DataError, match=r"s3://none/x\.svm: "):
        widemargin.read("s3://none/x.svm")
