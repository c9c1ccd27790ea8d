"""The same bits on a cluster of Dask as in one process, whatever happens to its workers."""

import os
import signal
import threading
from importlib.util import find_spec

import numpy as np
import pytest
from partitioned import assert_same_bits, fit, some_rows, write_rows
from tagged_sentences import made_sentences

from widemargin import (
    ClusterError,
    DataError,
    DataWarning,
    Distributed,
    KernelSVM,
    Perceptron,
    Tagger,
)
from widemargin.distribute.engine import SerialEngine

pytestmark = pytest.mark.skipif(not find_spec("distributed"), reason="Dask: the extra dask")


@pytest.fixture(autouse=True, scope="module")
def _dask():
    """Import Dask where its tests run: that takes seconds."""
    global Client, LocalCluster, clusters, dask_engine, DaskEngine
    from distributed import Client, LocalCluster

    from widemargin.distribute import clusters, dask_engine
    from widemargin.distribute.dask_engine import DaskEngine


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers that are threads, which is up in no time."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as one,
    ):
        yield one


@pytest.fixture
def rows(tmp_path):
    X, y = some_rows(200, 20, 3)
    return write_rows(tmp_path / "rows.svm", X, y)


LEARNER = Perceptron(random_state=1, epochs=4, validation=0.2, patience=None)


def test_same_bits_with_workers_that_come_and_go(client, rows, monkeypatch):
    plain = fit(LEARNER, rows, partitions=5)
    assert_same_bits(plain, fit(LEARNER, rows, client, partitions=5))
    moved, share = iter([4, 1, 3, 2]), DaskEngine.share

    def scaled(self, name, value):
        client.cluster.scale(next(moved, 2))
        return share(self, name, value)

    monkeypatch.setattr(DaskEngine, "share", scaled)
    found = fit(LEARNER, rows, client, partitions=5)
    client.cluster.scale(2)
    assert_same_bits(plain, found)


def test_an_error_names_file_line_and_partition_once(client, tmp_path):
    good = write_rows(tmp_path / "a.svm", *some_rows(50, 5, 2))
    bad = tmp_path / "b.svm"
    bad.write_text("1 1:1\n" * 60 + "1 1:one\n" + "0 2:1\n" * 40)
    with pytest.raises(DataError) as caught:
        fit(Perceptron(), [good, str(bad)], client, partitions=4)
    assert f"{bad}:61:" in str(caught.value)
    assert "partition 4 of 4" in str(caught.value)
    assert str(caught.value).count("partition") == 1


def test_version_mismatch_is_told_first(client, rows, monkeypatch):
    monkeypatch.setattr(dask_engine, "__version__", "0.0.1")
    mine = dask_engine.versions()
    monkeypatch.undo()
    monkeypatch.setattr(client, "run", lambda *_, **__: {"tcp://far:1": mine})
    with pytest.raises(ClusterError, match=r"tcp://far:1 has widemargin 0\.0\.1 "):
        fit(Perceptron(), rows, client)


def test_what_does_not_distribute_is_refused(monkeypatch):
    with pytest.raises(TypeError, match="KernelSVM cannot be distributed: use LinearSVM"):
        Distributed(KernelSVM(), client=SerialEngine()).fit("nothing.svm")
    with pytest.raises(ValueError, match="keep='vote' logs every correction"):
        Distributed(Perceptron(keep="vote"), client=SerialEngine()).fit("nothing.svm")
    with pytest.raises(DataError, match="found an object of type ndarray: what is in memory"):
        Distributed(Perceptron(), client=SerialEngine()).fit(np.eye(2), [0, 1])
    monkeypatch.setattr(clusters, "_PATIENCE", 0.5)
    with pytest.raises(ClusterError, match="no Dask scheduler answers at"):
        Distributed(Perceptron(), client="tcp://127.0.0.1:9").fit(__file__, format="svmlight")


def test_scripts_are_told_how_to_start_workers(monkeypatch):
    """Workers import the script, which would start workers of its own."""
    distributed = pytest.importorskip("distributed")

    def fail(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with pytest.raises(ClusterError, match=r"below `if __name__ == '__main__':`"):
        Distributed(Perceptron(), client="local").fit(__file__, format="svmlight")


def test_collections(client, rows):
    bag, array = pytest.importorskip("dask.bag"), pytest.importorskip("dask.array")
    X, y = some_rows(200, 20, 3)
    learner = Perceptron(random_state=1, epochs=3, shuffle=False)
    blocks = array.from_array(X, chunks=(60, 7)), array.from_array(y, chunks=60)
    found = Distributed(learner, client=client).fit(*blocks)
    assert_same_bits(found, Distributed(learner, client=SerialEngine()).fit(*blocks))
    assert found.model_.mixture[1] == 4
    assert found.predict(X).shape == y.shape
    texts = bag.from_sequence(["good film", "bad film", "so good", "so bad"] * 5, npartitions=3)
    labels = bag.from_sequence(["yes", "no", "yes", "no"] * 5, npartitions=3)
    local = Distributed(Perceptron(random_state=0), client=client).fit(texts, labels).to_local()
    assert local.predict(["a good one", "a bad one"]).tolist() == ["yes", "no"]


def test_data_frames(client):
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"size": rng.random(90), "kind": ["cat", "dog", "cow"] * 30})
    table["answer"] = np.where((table["size"] > 0.5) == (table["kind"] == "cat"), "yes", "no")
    collection = frames.from_pandas(table, npartitions=3)
    learner = Perceptron(random_state=0, epochs=20)
    made = Distributed(learner, client=client).fit(
        collection, "answer", interactions=[("size", "kind")]
    )
    assert made.to_local().score(table, "answer") > 0.9


def test_ctrl_c_leaves_what_was_learned(client, rows):
    learner = Distributed(
        Perceptron(random_state=0, epochs=10_000, shuffle="draw"), client=client, partitions=3
    )
    learner.estimator.set_params(tol=0.0)
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        learner.fit(rows)
    assert learner.history_.stopped == "interrupted"
    assert all(epoch.examples == 200 for epoch in learner.history_)
    short = Perceptron(random_state=0, epochs=len(learner.history_), shuffle="draw")
    assert_same_bits(learner, fit(short, rows, partitions=3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_same_bits_in_processes_that_are_killed_in_every_epoch(rows, workers, monkeypatch):
    plain = fit(LEARNER, rows, partitions=5)
    with (
        clusters.patient_with_workers(),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        before = DaskEngine._send

        def send(self, wanted):
            before(self, wanted)
            if wanted and wanted[0].name.startswith("mix epoch") and not wanted[0].trials:
                pids = client.run(os.getpid, on_error="ignore")
                os.kill(next(iter(pids.values())), signal.SIGKILL)

        monkeypatch.setattr(DaskEngine, "_send", send)
        assert_same_bits(plain, fit(LEARNER, rows, client, partitions=5))


def test_a_lost_scheduler_is_told_and_leaves_a_checkpoint(rows, tmp_path, monkeypatch):
    whole = fit(LEARNER, rows, partitions=3)
    share, folder = DaskEngine.share, tmp_path / "points"
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):

        def lost(self, name, value):
            made = share(self, name, value)
            if name == "weights of epoch 3":
                cluster.close()
            return made

        monkeypatch.setattr(DaskEngine, "share", lost)
        with pytest.raises(ClusterError, match=r"scheduler .* was lost"):
            fit(LEARNER, rows, client, partitions=3, checkpoint=folder)
    monkeypatch.undo()
    assert list(folder.iterdir())
    assert_same_bits(whole, fit(LEARNER, rows, partitions=3, checkpoint=folder))


@pytest.fixture
def idle(client, monkeypatch):
    """An engine that loses patience at once, and the workers that it will see."""
    for name in ("_LOOK_SECONDS", "_IDLE_SECONDS"):
        monkeypatch.setattr(dask_engine, name, -1.0)
    engine, info = DaskEngine(client), {"workers": {}}
    monkeypatch.setattr(client, "scheduler_info", lambda **_: info)
    return engine, info["workers"]


PAUSED = {"status": "paused", "metrics": {"task_counts": {"ready": 1}}}


def test_a_cluster_without_workers_is_told_once(idle):
    engine, workers = idle
    engine._look_for_workers()
    with pytest.warns(DataWarning, match="has no workers left"):
        engine._look_for_workers()
    engine._look_for_workers()  # a warning would be an error
    workers["tcp://far:1"] = {"status": "running"}
    engine._look_for_workers()
    assert engine._idle_since is None


def test_paused_workers_are_restarted_in_vain_only_so_often(idle, client, monkeypatch):
    engine, workers = idle
    workers["tcp://far:1"] = PAUSED | {"metrics": {"task_counts": {"executing": 1}}}
    for _ in range(3):
        engine._look_for_workers()
    restarted = []
    monkeypatch.setattr(client, "restart_workers", lambda some, **_: restarted.append(some))
    workers["tcp://far:1"] = PAUSED
    for _ in range(6):
        engine._look_for_workers()
    assert restarted == [["tcp://far:1"]] * 3
    engine._look_for_workers()
    with pytest.raises(ClusterError, match="give more partitions"):
        engine._look_for_workers()


def test_paused_workers_that_nothing_would_start_again_are_told(idle, client):
    engine, workers = idle
    workers |= {worker.address: PAUSED for worker in client.cluster.workers.values()}
    engine._look_for_workers()
    with pytest.warns(DataWarning, match="give more partitions"):
        engine._look_for_workers()


@pytest.mark.exhaustive
@pytest.mark.parametrize("full", [False, True])
def test_rows_that_spill_to_a_disk_that_may_be_full(tmp_path, full):
    import dask

    rows = write_rows(tmp_path / "rows.svm", *some_rows(3000, 40, 3))
    plain = fit(LEARNER, rows, partitions=5)
    memory = {"target": 0.6, "spill": False, "pause": False, "terminate": False}
    folder = tmp_path / "spilled"
    with (
        dask.config.set({f"distributed.worker.memory.{name}": memory[name] for name in memory}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=300_000,  # that is less than the rows take
            local_directory=str(folder),
            silence_logs=60,
        ) as cluster,
        Client(cluster) as client,
    ):
        if full:
            client.run(_fill_disk)
        assert_same_bits(plain, fit(LEARNER, rows, client, partitions=5))
        assert any(client.run(_has_spilled).values()) != full


def _fill_disk():
    """Let no file of this process grow beyond a kilobyte."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def _has_spilled(dask_worker):
    return dask_worker.data.spilled_total.disk > 0


def test_sentences_on_a_cluster(client):
    given = made_sentences(0)
    learner = Tagger(epochs=3, bits=10, random_state=0)
    one, other = (
        Distributed(learner, client=engine, partitions=3).fit(*given)
        for engine in (client, SerialEngine())
    )
    assert np.array_equal(one.model_.W, other.model_.W)
    assert one.to_local().tag(["w1", "w2"]) == other.to_local().tag(["w1", "w2"])
