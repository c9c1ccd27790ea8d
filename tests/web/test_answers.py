"""Every kind of model answers with the bits that Python gives."""

import json

import numpy as np
import pytest
from serving_models import KINDS, PETS, TEXTS, clouds
from shell import run_shell
from tagged_sentences import SENTENCES

import widemargin

X, Y = clouds(seed=1)


def labels(found):
    return [one["label"] for one in found["predictions"]]


@pytest.mark.parametrize("name", ["vectors", "logistic", "kernel", "poly", "svmlight"])
def test_vectors(serve, folder, name):
    server, model = serve(), widemargin.load(folder / f"{name}.wm")
    found = server.predict(name, X.tolist(), scores=True)
    assert labels(found) == model.predict(X).tolist()
    told = [one.get("score", one.get("scores")) for one in found["predictions"]]
    assert told == model.decision_function(X).tolist()
    alone = server.predict(name, X[0].tolist(), scores=True)["prediction"]
    expected = model.decision_function(X[:1]).tolist()[0]
    assert alone.get("score", alone.get("scores")) == expected


def test_probabilities(serve, folder):
    found = serve().predict("logistic", X.tolist(), proba=True)["predictions"]
    expected = widemargin.load(folder / "logistic.wm").predict_proba(X).tolist()
    assert [one["probabilities"] for one in found] == expected


def test_svmlight_lines_are_those_of_the_shell(serve, folder):
    lines = "".join(
        f"0 {' '.join(f'{j + 1}:{v:.6g}' for j, v in enumerate(x) if j % 2)}\n" for x in X
    )
    (folder / "new.svm").write_text(lines)
    printed = run_shell(folder, "predict", "svmlight.wm", "new.svm", "--scores").output
    status, found = serve().ask(
        "POST", "/predict/svmlight?scores=true", lines.encode(), "text/x-svmlight"
    )
    assert status == 200
    shown = [
        "\t".join([str(one["label"]), *(f"{score:.6g}" for score in one["scores"])])
        for one in found["predictions"]
    ]
    assert shown == printed.splitlines()
    sparse = [{str(j + 1): float(f"{v:.6g}") for j, v in enumerate(x) if j % 2} for x in X]
    assert serve().predict("svmlight", sparse, scores=True)["predictions"] == found["predictions"]


def test_features_by_name(serve, folder):
    named = {f"x{j}": value for j, value in enumerate(X[0].tolist())}
    server = serve()
    assert (
        server.predict("vectors", named, scores=True)["prediction"]
        == server.predict("vectors", X[0].tolist(), scores=True)["prediction"]
    )


def test_several_labels(serve, folder):
    model = widemargin.load(folder / "several.wm")
    found = serve().predict("several", X.tolist())["predictions"]
    assert [set(one["labels"]) for one in found] == [set(some) for some in model.predict(X)]


def test_texts(serve, folder):
    server, model = serve(), widemargin.load(folder / "texts.wm")
    found = server.predict("texts", TEXTS, scores=True)["predictions"]
    assert [one["label"] for one in found] == model.predict(TEXTS).tolist() == KINDS
    assert [one["score"] for one in found] == model.decision_function(TEXTS).tolist()
    marked = b"\xef\xbb\xbf" + json.dumps(TEXTS).encode()  # as some programs begin UTF-8
    assert (
        server.ask("POST", "/predict/texts?scores=true", marked, "application/json")[1][
            "predictions"
        ]
        == found
    )
    objects = [{"text": text} for text in TEXTS]
    assert server.predict("texts", objects, scores=True)["predictions"] == found
    lines = "\n".join(TEXTS).encode()
    status, told = server.ask("POST", "/predict/texts?scores=true", lines, "text/plain")
    assert (status, told["predictions"]) == (200, found)
    lines = "\n".join(json.dumps(one) for one in objects).encode()
    status, told = server.ask("POST", "/predict/texts?scores=true", lines, "application/x-ndjson")
    assert (status, told["predictions"]) == (200, found)


def test_texts_of_a_named_column(tmp_path):
    """The column of the training data comes first, whatever else an example has."""
    from http_client import Server

    from widemargin.web.serving.served import load_served

    rows = [f"{kind}\t{text}\n" for kind, text in zip(KINDS, TEXTS, strict=True)] * 3
    (tmp_path / "train.tsv").write_text("kind\treview\n" + "".join(rows))
    words = ("--label", "kind", "--text", "review", "--model", "reviews.wm", "--quiet")
    run_shell(tmp_path, "train", "train.tsv", *words)
    server = Server([load_served(str(tmp_path / "reviews.wm"), "reviews")])
    (told,) = {
        server.predict("reviews", one)["prediction"]["label"]
        for one in (
            "win money",
            {"review": "win money"},
            {"text": "win money"},
            {"text": "see you at lunch", "review": "win money"},
            {"text": 5, "review": "win money"},
        )
    }
    assert told == "spam"
    status, told = server.ask("POST", "/predict", {"review": 5})
    assert (status, 'an object with a "review"' in told["error"]) == (422, True)
    server.close()


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson", "text/plain"])
def test_a_body_without_examples_is_answered(serve, models, kind):
    server = serve()
    for served in models:
        status, told = server.ask("POST", f"/predict/{served.name}", b"", kind)
        # An empty text has no sentences, and no lines are no texts; others have nothing to answer.
        empty = told.get("prediction", told.get("predictions")) in ({"sentences": []}, [])
        assert status in (415, 422) or (status, empty) == (200, True)


def test_tables(serve, folder):
    server, model = serve(), widemargin.load(folder / "table.wm")
    columns = {name: cells for name, cells in PETS.items() if name != "kind"}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    found = server.predict("table", rows, scores=True)["predictions"]
    assert [one["label"] for one in found] == model.predict(columns).tolist()
    assert [one["score"] for one in found] == model.decision_function(columns).tolist()
    lines = "\n".join(map(json.dumps, rows)).encode()
    status, told = server.ask("POST", "/predict/table?scores=true", lines, "application/x-ndjson")
    assert (status, told["predictions"]) == (200, found)
    table = "weight,indoor,food\n" + "".join(
        f"{'' if row['weight'] is None else row['weight']},{row['indoor']},{row['food']}\n"
        for row in rows
    )
    status, told = server.ask("POST", "/predict/table?scores=true", table.encode(), "text/csv")
    assert (status, told["predictions"]) == (200, found)


def test_named_features(serve, folder):
    model = widemargin.load(folder / "named.wm")
    questions = [{"size": 1, "colour": "red"}, {"size": 2, "colour": "yellow"}, {"other": 3}]
    found = serve().predict("named", questions)
    assert labels(found) == [model.predict_one(one) for one in questions]


def test_strings(serve, folder):
    model = widemargin.load(folder / "strings.wm")
    found = serve().predict("strings", TEXTS, scores=True)["predictions"]
    assert [one["score"] for one in found] == model.decision_function(TEXTS).tolist()


def test_tokens_with_numbers(tmp_path):
    pytest.importorskip("httptools")
    from http_client import Server

    from widemargin.web.serving.served import load_served

    sentences = [[{"size": 2.5}, {"size": -1}], [{"size": 1, "in": ["a"]}], [{"size": -3}]]
    tagger = widemargin.Tagger(epochs=5, random_state=0)
    tagger.fit(sentences, [["big", "small"], ["big"], ["small"]]).save(tmp_path / "sizes.wm")
    server = Server([load_served(str(tmp_path / "sizes.wm"), "sizes")])
    try:
        found = server.predict("sizes", sentences, scores=True)["predictions"]
        assert [one["tags"] for one in found] == tagger.predict(sentences)
        margins = [some.tolist() for some in tagger.margins(sentences)]
        assert [one["margins"] for one in found] == margins
        one = server.predict("sizes", sentences[1], scores=True)["prediction"]
        assert one == found[1]
    finally:
        server.close()


def test_lines_of_vowpal_wabbit(serve, folder):
    lines = ["| win money", "| see lunch", "| unknown words"]
    (folder / "new.vw").write_text("\n".join(lines) + "\n")
    printed = run_shell(folder, "predict", "vw.wm", "new.vw").output.split()
    server = serve()
    assert [str(label) for label in labels(server.predict("vw", lines))] == printed
    status, told = server.ask("POST", "/predict/vw", "\n".join(lines).encode(), "text/x-vw")
    assert (status, [str(label) for label in labels(told)]) == (200, printed)


def test_sentences_of_texts(serve, folder):
    server, model = serve(), widemargin.load(folder / "words.wm")
    text = "The dog barks. It barks.\n\nIt barks."
    (told,) = server.predict("words", [text])["predictions"]
    assert [one["words"] for one in told["sentences"]] == model(text).sentences()
    for one in told["sentences"]:
        assert [text[a:b] for a, b in one["ranges"]] == one["tokens"]
    status, same = server.ask("POST", "/predict/words", text.encode(), "text/plain")
    assert (status, same["prediction"]) == (200, told)
    status, refused = server.ask("POST", "/predict/words?scores=true", text.encode(), "text/plain")
    assert (status, "neither scores" in refused["error"]) == (422, True)
    status, refused = server.ask("POST", "/explain/words", text.encode(), "text/plain")
    assert status == 422
    status, refused = server.ask("POST", "/predict/words", b"a\n\xff", "text/plain")
    assert (status, ":2: the text is not UTF-8" in refused["error"]) == (422, True)


def test_features_of_tokens(serve, folder):
    model = widemargin.load(folder / "features.wm")
    questions = [[{"word": "dog", "size": 2.5}, {"size": -1.0}], [{"word": "barks"}]]
    found = serve().predict("features", questions)["predictions"]
    assert [one["tags"] for one in found] == model.predict(questions)


def test_tags(serve, folder):
    server, model = serve(), widemargin.load(folder / "tagger.wm")
    found = server.predict("tagger", SENTENCES, scores=True, proba=True)["predictions"]
    assert [one["tags"] for one in found] == model.predict(SENTENCES)
    margins = [list(map(float, some)) for some in model.margins(SENTENCES)]
    told = [[np.inf if m is None else m for m in one["margins"]] for one in found]
    assert told == margins
    assert (
        server.predict("tagger", " ".join(SENTENCES[0]))["prediction"]["tags"] == found[0]["tags"]
    )
    lines = "\n".join(map(" ".join, SENTENCES)).encode()
    status, text = server.ask("POST", "/predict/tagger", lines, "text/plain")
    assert (status, [one["tags"] for one in text["predictions"]]) == (200, model.predict(SENTENCES))
    columns = "\n\n".join("\n".join(words) for words in SENTENCES).encode() + b"\n"
    status, conll = server.ask("POST", "/predict/tagger", columns, "text/x-conll")
    assert (status, conll["predictions"]) == (200, text["predictions"])


def test_tags_of_tokens_that_are_dicts(serve, folder):
    model = widemargin.load(folder / "dicts.wm")
    asked = [[{"lower": word, "length": len(word)} for word in words] for words in SENTENCES]
    server = serve()
    found = server.predict("dicts", asked)["predictions"]
    assert [one["tags"] for one in found] == model.predict(asked)
    assert server.predict("dicts", asked[0])["prediction"] == found[0]
    status, told = server.ask("POST", "/explain/dicts", asked[0])
    assert (status, told["tags"]) == (200, found[0]["tags"])
    assert server.ask("POST", "/predict/dicts", "the dog")[0] == 422


def test_trees(serve, folder):
    server, model = serve(), widemargin.load(folder / "parser.wm")
    sentences = [
        ["the", "old", "dog", "sees", "a", "cat", "."],
        ["a", "man", "saw", "the", "saw", "today", "."],
    ]
    found = server.predict("parser", sentences)["predictions"]
    for words, one in zip(sentences, found, strict=True):
        tree = model.parse(words)
        assert (one["heads"], one["labels"]) == (tree.heads, tree.labels)
        assert one["tags"]["upos"] == tree.tags


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vectors", X[0].tolist()),
        ("kernel", X[0].tolist()),
        ("svmlight", {"1": 2.0}),
        ("texts", TEXTS[1]),
        ("table", {"weight": 3, "food": "fish"}),
        ("named", {"size": 1, "colour": "red"}),
        ("strings", TEXTS[1]),
        ("vw", "| win money"),
        ("tagger", SENTENCES[0]),
        ("parser", ["the", "dog", "sees", "a", "cat", "."]),
    ],
)
def test_explanations(serve, name, value):
    status, told = serve().ask("POST", f"/explain/{name}?top=3", value)
    assert status == 200, told
    assert told["reasons"]
    assert len(told["reasons"]) <= 3
    assert {"model", "digest", "prediction", "instead_of", "score"} <= told.keys()


def test_an_explanation_is_that_of_python(serve, folder):
    _, told = serve().ask("POST", "/explain/texts?top=5", TEXTS[1])
    expected = widemargin.load(folder / "texts.wm").explain(TEXTS[1], 5)
    assert told["score"] == expected.score
    found = [(reason["feature"], reason["share"]) for reason in told["reasons"]]
    assert found == [(reason.feature, reason.share) for reason in expected.reasons]
    assert "".join(piece for piece, _ in told["marks"]) == told["text"] == TEXTS[1]


def test_the_marks_of_a_text_add_up_to_its_words(serve, folder):
    _, told = serve().ask("POST", "/explain/texts?top=1000", TEXTS[1])
    words = sum(reason["share"] for reason in told["reasons"] if reason["feature"] != "(bias)")
    assert sum(share for _, share in told["marks"]) == pytest.approx(words)


def test_a_word_of_a_sentence_can_be_chosen(serve):
    server = serve()
    _, told = server.ask("POST", "/explain/tagger?token=2", SENTENCES[0])
    assert told["token"] == 2
    status, told = server.ask("POST", "/explain/tagger?token=9", SENTENCES[0])
    assert (status, "no word 9" in told["error"]) == (422, True)


def test_every_answer_names_the_digest(serve, models):
    server = serve()
    _, described = server.ask("GET", "/models")
    digests = {one["name"]: one["digest"] for one in described["models"]}
    assert digests == {served.name: served.digest for served in models}
    assert server.predict("texts", "a")["digest"] == digests["texts"]
    status, told = server.ask("POST", "/predict/texts", 3)
    assert (status, told["digest"]) == (422, digests["texts"])


def test_requests_together_are_answered_as_alone(serve):
    """Many connections ask at once; one of them asks nonsense."""
    from http_client import request

    server = serve("texts", "table", "vectors")
    asked = [("texts", text) for text in TEXTS] + [("vectors", x.tolist()) for x in X[:6]]
    asked += [("table", {"weight": 3, "food": "fish"}), ("table", {"weight": "heavy"})]
    alone = [server.ask("POST", f"/predict/{name}?scores=true", value) for name, value in asked]
    wires = []
    for name, value in asked:
        connection, wire = server.connect()
        body = json.dumps(value).encode()
        path = f"/predict/{name}?scores=true"
        connection.data_received(request("POST", path, body, "application/json"))
        wires.append(wire)
    together = [server.wait_for(wire, 1)[0] for wire in wires]
    for (status, told), (other, _, body) in zip(alone, together, strict=True):
        found = json.loads(body)
        assert other == status
        told.pop("id", None)
        found.pop("id", None)
        assert found == told
    assert [status for status, _ in alone].count(422) == 1
    batches = server.counters.total("batches")
    examples = server.counters.total("batch_examples")
    assert examples == 2 * (len(asked) - 1)
    assert batches < 2 * len(asked)
