"""Taggers and parsers from the shell, on small files made here."""

import gzip
import io
import json
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from forked import run_forked
from shell import run
from sklearn.model_selection import KFold, cross_val_score
from small_language import made_corpus, treebank

import widemargin
from widemargin import Parser, Tagger
from widemargin.cli import annotate
from widemargin.data.readers.conll import read_conll
from widemargin.errors import DataError
from widemargin.structured import (
    StructuredPerceptron,
    load_parser,
    load_tagger,
    measure_spans,
    write_conll,
)
from widemargin.structured.tasks import Tagging
from widemargin.training.progress import Watcher


def chunks(n=40, seed=0):
    """Word, part of speech and chunk: noun phrases and verb groups."""
    lines = []
    for sentence in read(treebank(n, seed)):
        words, tags = sentence.words, sentence.column("upos")
        for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
            inside = i and tag in ("ADJ", "NOUN")
            chunk = "B-VP" if tag == "VERB" else "I-NP" if inside else "B-NP"
            lines.append(f"{word} {tag} {chunk}")
        lines.append("")
    return "\n".join(lines) + "\n"


def read(text):
    corpus = read_conll(io.BytesIO(text.encode()))
    return [corpus[i] for i in range(len(corpus))]


def ask(text, *words):
    """What a command prints that is given a text to read."""
    done = run_forked("-m", "widemargin", *words, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test works in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.conllu").write_text(treebank(), encoding="utf-8")
    (tmp_path / "dev.conllu").write_text(treebank(20, 1), encoding="utf-8")
    (tmp_path / "chunks.txt").write_text(chunks(), encoding="utf-8")
    return tmp_path


TAGGER = ["train", "--learner", "tagger", "--bits", "12", "--epochs", "5"]
FEW = {"bits": 12, "epochs": 5, "random_state": 0}
PARSER = ["train", "--learner", "parser", "--bits", "12", "--epochs", "5", "--tags", "upos"]


# Taggers


def test_train_tag_and_test_a_tagger(folder):
    words = ["--column", "upos", "train.conllu", "--valid", "dev.conllu", "--model", "en.wm"]
    said = run(*TAGGER, *words).output
    assert "40 sentences" in said
    assert "tagger of 'upos': 4 tags" in said
    assert "returned: the weights after epoch" in said
    assert "token accuracy  1.0000" in said
    dev = (folder / "dev.conllu").read_text(encoding="utf-8")
    blind = dev.replace("\tNOUN\t", "\t_\t").replace("\tVERB\t", "\t_\t")
    (folder / "blind.conllu").write_text(blind, encoding="utf-8")
    assert run("tag", "en.wm", "blind.conllu").stdout == dev
    assert ask("the dog\n\na cat\n", "tag", "en.wm", "-") == (
        "the\tDET\ndog\tNOUN\n\n\na\tDET\ncat\tNOUN\n\n"
    )
    assert ask("no cat\n", "tag", "en.wm", "--write", "conllu").split("\n")[1] == (
        "2\tcat\t_\tNOUN\t_\t_\t_\t_\t_\t_"
    )
    (folder / "en.gz").write_bytes(gzip.compress(dev.encode()))
    assert "token accuracy  1.0000" in run("test", "en.wm", "en.gz").output


def test_a_pipe_is_text_unless_the_format_says_otherwise(folder, monkeypatch, capsysbinary):
    run(*TAGGER, "--column", "upos", "train.conllu", "--model", "en.wm", "--quiet")
    names = ("threads", "column", "write", "format", "encoding", "temperature", "calibrate")
    given = {**dict.fromkeys(names), "margins": False, "proba": False}

    def piped(text, model="en.wm", **more):
        buffer = io.BufferedReader(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
        annotate.tag(model, (), {**given, **more})
        return capsysbinary.readouterr().out.decode()

    # Lines with the same number of words, which look like columns.
    tagged = "the\tDET\ndog\tNOUN\n\na\tDET\ncat\tNOUN\n\n"
    assert piped("the dog\na cat\n") == tagged
    dev = (folder / "dev.conllu").read_text(encoding="utf-8")
    with pytest.raises(DataError, match="<stdin>:2: has a tab, but a pipe is read as text; give"):
        piped(dev)
    assert piped(dev, format="conllu") == dev
    assert piped("the\tdog\n", format="text") == "the\tDET\ndog\tNOUN\n\n"
    # A tagger that also needs the column of the parts of speech does not take words for them.
    run(*TAGGER, "chunks.txt", "--model", "c.wm", "--quiet")
    with pytest.raises(DataError, match="this model needs more than words; give --format"):
        piped("the dog\na cat\n", "c.wm")
    (folder / "raw.txt").write_text("the dog barks\na cat sleeps\n")
    assert "raw.txt: may be text" in run("tag", "c.wm", "raw.txt", code=1).stderr
    assert piped("the DET O\ndog NOUN O\n", "c.wm", format="conll").startswith("the DET B-NP\n")


def test_a_tagger_is_trained_with_its_temperature(folder):
    asked = (*TAGGER, "--column", "upos", "train.conllu", "--model", "en.wm")
    done = run(*asked, "--calibrate", "dev.conllu", "--json")
    tagger = Tagger().restore(replace(load_tagger("en.wm"), temperature=1.0))
    assert tagger.calibrate("dev.conllu") == load_tagger("en.wm").temperature
    assert json.loads(done.output)["temperature"] == tagger.model_.temperature
    told = run("tag", "en.wm", "dev.conllu", "--proba").output
    at = f"{tagger.model_.temperature!r}"
    assert told == run("tag", "en.wm", "dev.conllu", "--proba", "--temperature", at).output
    assert told != run("tag", "en.wm", "dev.conllu", "--proba", "--temperature", "1").output
    line = f"temperature {tagger.model_.temperature:.4g}, chosen on dev.conllu\n"
    assert line in run(*asked, "--calibrate", "dev.conllu").output
    assert "temperature of its probabilities: " in run("inspect", "en.wm").output
    told = run(*PARSER, "train.conllu", "--calibrate", "dev.conllu", code=2).output
    assert "--calibrate is not an option of the learner parser" in told
    run(*asked, "--calibrate", "nofile", code=1)


@pytest.mark.parametrize("learner", [TAGGER, PARSER])
def test_folds_of_sentences_are_those_of_scikit_learn(folder, learner):
    corpus, name = read_conll("train.conllu"), "accuracy" if learner is TAGGER else "las"
    fitted = Tagger(**FEW) if learner is TAGGER else Parser(**FEW, tags="upos")
    found = cross_val_score(fitted, corpus, cv=KFold(3, shuffle=True, random_state=0))
    asked = (*learner, "train.conllu", "--folds", "3", "--model", "f.wm")
    told = json.loads(run(*asked, "--json").output)
    assert told[f"fold_{name}"] == found.tolist()
    assert told[f"cross_validated_{name}"] == pytest.approx(found.mean())
    low, high = told[f"cross_validated_{name}_interval"]
    assert low <= found.mean() <= high
    title, each = (
        "token accuracy" if learner is TAGGER else "LAS",
        " ".join(map("{:.4f}".format, found)),
    )
    lines = run(*asked).output
    assert f"\n{title} of 3 folds of sentences (seed 0): {each}\n" in lines
    fitted.fit(corpus)  # the model is that of all sentences
    assert widemargin.load("f.wm").score(corpus) == fitted.score(corpus)


def test_folds_of_sentences_refuse_what_has_no_effect(folder):
    for words, said in (
        (["--valid", "dev.conllu"], "--valid has no effect with --folds, which tests on folds"),
        (["--no-holdout"], "--no-holdout has no effect with --folds and --tune"),
        (["--tune"], "--tune is not an option of the learner tagger"),
    ):
        assert said in run(*TAGGER, "train.conllu", "--folds", "3", *words, code=2).output
    told = run(*TAGGER, "train.conllu", "--folds", "100000", code=2).output
    assert "sentences cannot be split into 100,000 folds: use fewer" in told


def test_spans_of_folds_are_told_by_their_f1(folder):
    told = run(*TAGGER, "chunks.txt", "--folds", "2").output
    assert "cross-validated span F1: " in told


def test_margins_and_probabilities_are_those_of_python(folder):
    run(*TAGGER, "--column", "upos", "train.conllu", "--model", "en.wm", "--quiet")
    tagger, corpus = load_tagger("en.wm"), read_conll("dev.conllu")
    margins = [f"{one:.6g}" for one in np.concatenate(tagger.margins(corpus))]
    flat = np.concatenate(tagger.marginals(corpus, 0.25))
    likely = [f"{one:.6g}" for one in flat.max(axis=1)]
    done = run("tag", "en.wm", "dev.conllu", "--margins", "--proba", "--temperature", "0.25")
    (folder / "out.conllu").write_text(done.output, encoding="utf-8")
    misc = read_conll("out.conllu").column("misc")
    assert [cell.split("|")[-2] for cell in misc] == [f"Margin={one}" for one in margins]
    assert [cell.split("|")[-1] for cell in misc] == [f"Proba={one}" for one in likely]
    again = run("tag", "en.wm", "out.conllu", "--margins", "--proba", "--temperature", "0.25")
    assert sorted(again.output) == sorted(done.output)  # replaced, not added twice
    (folder / "plain.txt").write_text("the dog\n", encoding="utf-8")
    lines = run("tag", "en.wm", "plain.txt", "--format", "text", "--margins").output.split("\n")
    assert [line.count("\t") for line in lines[:2]] == [2, 2]
    done = run(
        "tag", "en.wm", "plain.txt", "--format", "text", "--proba", "--calibrate", "dev.conllu"
    )
    assert f"temperature {tagger.calibrate(corpus):.4g}" in done.output
    for words, said in (
        (["--temperature", "1"], "--temperature has no effect without --proba"),
        (["--calibrate", "dev.conllu"], "--calibrate has no effect without --proba"),
        (["--proba", "--temperature", "1", "--calibrate", "x"], "give one of them, not both"),
    ):
        assert said in run("tag", "en.wm", "dev.conllu", *words, code=2).output
    run(*PARSER, "train.conllu", "--model", "p.wm", "--quiet")
    parser = widemargin.load("p.wm")
    done = run("parse", "p.wm", "dev.conllu", "--margins")
    (folder / "out.conllu").write_text(done.output, encoding="utf-8")
    told = [cell.split("|")[-1] for cell in read_conll("out.conllu").column("misc")]
    assert told == [f"Margin={one:.6g}" for one in np.concatenate(parser.margins(corpus))]


def test_figures_as_json(folder):
    run(*TAGGER, "chunks.txt", "--model", "c.wm", "--quiet")
    text = chunks(20, 1).replace("dog NOUN I-NP", "dog NOUN O")
    text = text.replace("cat NOUN", "zebra NOUN")
    (folder / "dev.txt").write_text(text, encoding="utf-8")
    found = json.loads(run("test", "c.wm", "dev.txt", "--json").output)
    corpus = read_conll("dev.txt")
    tags = [tag for tags in load_tagger("c.wm").predict(corpus) for tag in tags]
    gold = corpus.column("chunk")
    spans = measure_spans(gold, tags, corpus.starts).overall
    assert found["f1"] == spans.f1 < 1.0
    assert found["accuracy"] == sum(map(str.__eq__, gold, tags)) / len(tags)
    for name in ("accuracy", "f1"):
        low, high = found[f"{name}_interval"]
        assert low <= found[name] <= high
    new = [a == b for w, a, b in zip(corpus.words, gold, tags, strict=True) if w == "zebra"]
    assert found["unseen_tokens"] == len(new) > 0
    assert found["unseen_accuracy"] == sum(new) / len(new)
    assert found["mistakes"][0][:2] == ["O", "I-NP"]
    assert "[dog]" in found["mistakes"][0][3][0]
    assert f"(dev.txt:{corpus.lines[gold.index('O')]})" in found["mistakes"][0][3][0]
    i, j = (found["labels"].index(tag) for tag in ("O", "I-NP"))
    assert found["confusion"][i][j] == found["mistakes"][0][2]
    said = run("test", "c.wm", "dev.txt").output
    assert f"span F1         {spans.f1:.4f}" in said
    assert "right answer (down), prediction (across)" in said
    assert "O taken for I-NP" in said


def test_columns_by_name_and_number(folder):
    for column, learned in (("3", "chunk"), ("chunk", "chunk"), ("pos", "pos"), (None, "chunk")):
        words = [] if column is None else ["--column", column]
        said = run(*TAGGER, "chunks.txt", *words, "--json", "--model", "m.wm").output
        assert json.loads(said)["column"] == learned
    tagged = run("tag", "m.wm", "chunks.txt").stdout
    assert tagged == chunks()  # learned by heart, and put where they were
    unknown = "the DET\nzebra NOUN\n\n"
    (folder / "two.txt").write_text(unknown, encoding="utf-8")
    shown = run("tag", "m.wm", "two.txt").stdout  # its columns are words and parts of speech, too
    assert shown == "the DET B-NP\nzebra NOUN I-NP\n\n"
    run(*TAGGER, "chunks.txt", "--column", "upos", code=1)
    assert (
        "no column 'upos'; it has word, pos, chunk"
        in run(*TAGGER, "chunks.txt", "--column", "upos", code=1).output
    )


def test_illegal_tags_are_told_by_line(folder):
    text = "".join(f"w{i} N B-X\nv N I-X\n\n" for i in range(9)) + "a N O\nb N I-X\n"
    (folder / "bad.txt").write_text(text, encoding="utf-8")
    said = run(*TAGGER, "bad.txt", "--model", "m.wm").stderr
    assert said.strip().endswith("bad.txt:29: I-X follows O, which IOB2 does not allow")
    found = run(*TAGGER, "bad.txt", "--model", "m.wm", "--json", "--quiet")
    assert json.loads(found.stdout)["illegal_tags"] == 1
    assert "bad.txt:29" not in found.stderr


def test_smaller_models(folder):
    sizes = {}
    options = {"pruned": ["--prune", "0.001"], "half": ["--half"], "small": ["--small"]}
    for name, words in {"whole": [], **options}.items():
        said = run(*TAGGER, "chunks.txt", *words, "--json", "--model", f"{name}.wm").output
        sizes[name] = json.loads(said)["bytes"]
        assert run("tag", f"{name}.wm", "chunks.txt").stdout == chunks()
    assert load_tagger("pruned.wm").features < load_tagger("whole.wm").features
    assert sizes["half"] < sizes["whole"]
    assert sizes["small"] < sizes["whole"]
    refused = run(*TAGGER, "chunks.txt", "--half", "--small", "--model", "m.wm", code=2)
    assert "--half has no effect with --small" in refused.stderr


def test_what_a_smaller_model_costs_is_told(folder):
    text = "a\tN\tX\n\n" * 4 + "b\tN\tY\n\n" * 4
    (folder / "plain.txt").write_text(text, encoding="utf-8")
    words = [*TAGGER, "plain.txt", "--prune", "100", "--model", "m.wm"]
    said = run(*words).stdout
    assert "what the smaller model costs: accuracy 1.0000 -> 0.5000 on the training" in said
    told = json.loads(run(*words, "--half", "--valid", "plain.txt", "--json").output)
    assert (told["smaller_on"], told["smaller_figure"]) == ("held-out", "accuracy")
    assert told["before_smaller"] == 1.0
    assert told["after_smaller"] == told["accuracy"] == 0.5
    assert "smaller_on" not in json.loads(run(*TAGGER, "chunks.txt", "--json").output)
    assert told["weights"] < told["weights_before_smaller"]
    said = run(*TAGGER, "plain.txt", "--prune", "0", "--model", "m.wm").stdout
    assert "; --prune 0 drops nothing" in said


def test_options_reach_the_tagger(folder):
    words = ["--order", "2", "--rule", "perceptron", "--keep", "last", "--beam", "3"]
    words += ["--template", "word[0]", "--template", "pos[-1]|pos[0]", "--dictionary", "5"]
    words += ["--committee", "2", "--threads", "2"]
    run(*TAGGER, "chunks.txt", *words, "--valid", "0.2", "--seed", "3", "--model", "m.wm")
    told = json.loads(run("inspect", "m.wm", "--json").output)
    assert told["order"] == 2
    assert told["templates"] == ["word[0]", "pos[-1]|pos[0]"]
    assert load_tagger("m.wm").params["committee"] == 2
    params = {"rule": "perceptron", "keep": "last", "search": "beam", "beam": 3, "epochs": 5}
    params |= {"tag_dictionary": 5, "random_state": 3, "bits": 12, "validation": 0.2}
    assert params.items() <= told["params"].items()
    said = run("inspect", "m.wm").output
    assert "Tagger of 'chunk', order 2, IOB2 (learned as IOBES)" in said
    assert "strongest features" in said


# Parsers


def test_train_parse_and_test_a_parser(folder):
    words = ["train.conllu", "--valid", "dev.conllu", "--model", "p.wm"]
    said = run(*PARSER, *words).output
    assert "parser, arc-hybrid: 5 labels" in said
    assert "UAS             1.0000" in said
    dev = (folder / "dev.conllu").read_text(encoding="utf-8")
    blind = "\n".join(
        "\t".join([*cells[:6], "_", "_", *cells[8:]]) if len(cells) == 10 else line
        for line in dev.split("\n")
        for cells in [line.split("\t")]
    )
    (folder / "blind.conllu").write_text(blind, encoding="utf-8")
    assert run("parse", "p.wm", "blind.conllu").stdout == dev
    wrong = dev.replace("\tobj:dir\t", "\tobj:far\t").replace("\tamod\t", "\tdet\t")
    (folder / "wrong.conllu").write_text(wrong, encoding="utf-8")
    found = json.loads(run("test", "p.wm", "wrong.conllu", "--json").output)
    tokens = len(read_conll("dev.conllu").words)
    assert found["uas"] == 1.0
    right = 1.0 - dev.count("\tamod\t") / tokens
    assert found["las"] == pytest.approx(right)  # subtypes do not count
    low, high = found["las_interval"]
    assert low < found["las"] < high
    assert "det taken for amod" in run("test", "p.wm", "wrong.conllu").output
    assert "Parser, arc-hybrid, beam 1" in run("inspect", "p.wm").output


def test_a_parser_with_its_own_tags_reads_plain_text(folder):
    words = [*PARSER[:-2], "--model", "p.wm", "--json"]
    assert json.loads(run(*words, "train.conllu").output)["labels"] == 5
    parsed = ask("the happy dog barks\n", "parse", "p.wm")
    cells = [line.split("\t") for line in parsed.strip().split("\n")]
    assert [(c[1], c[3], c[6], c[7]) for c in cells] == [
        ("the", "DET", "3", "det"),
        ("happy", "ADJ", "3", "amod"),
        ("dog", "NOUN", "4", "nsubj"),
        ("barks", "VERB", "0", "root"),
    ]
    assert json.loads(run("test", "p.wm", "dev.conllu", "--json").output)["upos_accuracy"] == 1.0


# What goes wrong


@pytest.mark.parametrize("words", [[*TAGGER, "--column", "upos"], PARSER], ids=["tagger", "parser"])
def test_ctrl_c_saves_what_was_learned_so_far(words, monkeypatch):
    def press(watcher, moment):
        watcher.interrupted = moment.epoch == 2
        return watcher.interrupted

    monkeypatch.setattr(Watcher, "__call__", press)
    done = run(*words, "train.conllu", "--model", "m.wm", code=130)
    assert "stopped: interrupted" in done.output
    assert "Tagger" in run("inspect", "m.wm").output or "Parser" in run("inspect", "m.wm").output


@pytest.mark.parametrize(
    ("learner", "text", "message"),
    [
        (PARSER, treebank().replace("\t0\troot", "\t1\troot", 1), "own head|cycle"),
        (PARSER, treebank().replace("\t0\troot", "\t_\troot", 1), r"t\.conllu:\d+: has no head"),
        (PARSER, treebank().replace("\t0\troot", "\t77\troot", 1), r"t\.conllu:\d+: the head 77"),
        (TAGGER, treebank().replace("\tx=1\n", "\n", 1), r"t\.conllu:2: 9 columns"),
        (TAGGER, treebank().replace("# sent_id = 2", "# sent_id = 2\n5\tx"), r"t\.conllu:\d+: 2 c"),
        (TAGGER, "\n", "no sentences"),
    ],
)
def test_bad_files_end_with_file_and_line(learner, text, message, folder):
    (folder / "t.conllu").write_text(text, encoding="utf-8")
    said = run(*learner, "t.conllu", "--model", "m.wm", code=1).stderr
    lines = [line for line in said.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert re.search(message, lines[0]), lines[0]
    assert not (folder / "m.wm").exists()


def test_tags_that_were_never_seen(folder):
    run(*TAGGER, "--column", "upos", "train.conllu", "--model", "m.wm", "--quiet")
    text = treebank(20, 1).replace("\tcat\tNOUN", "\tcat\tX")
    (folder / "new.conllu").write_text(text, encoding="utf-8")
    done = run("test", "m.wm", "new.conllu")
    assert "the tag 'X' was never seen in training" in done.stderr
    assert "counted as mistakes" in done.stderr
    assert "X taken for NOUN" in done.stdout
    said = run("test", "m.wm", "new.conllu", "--column", "deprel", code=1).stderr
    assert "new.conllu:2: the tag 'det' was never seen in training, nor was any other" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*TAGGER, "--idf", "train.conllu"], "--idf is not an option of the learner tagger"),
        ([*TAGGER, "--system", "cle", "x"], "--system is not an option of the learner tagger"),
        ([*PARSER, "--column", "upos", "x"], "--column is not an option of the learner parser"),
        ([*PARSER, "chunks.txt"], "parsers learn from CoNLL-U"),
        ([*TAGGER], "needs FILES"),
        ([*TAGGER, "--format", "csv", "x"], "expected one of conll, conllu, text for sentences"),
        (["train", "--order", "2", "x"], "--order is not an option of the learner perceptron"),
    ],
)
def test_wrong_usage(words, message):
    assert message in run(*words, code=2).output


def test_only_taggers_are_compared_with_a_column(folder):
    run(*PARSER, "train.conllu", "--model", "p.wm", "--quiet")
    said = run("test", "p.wm", "dev.conllu", "--column", "upos", code=2).output
    assert "--column is for taggers: it has no effect for this parser" in said


def test_models_of_one_kind_do_not_do_for_another(folder):
    run(*TAGGER, "--column", "upos", "train.conllu", "--model", "tag.wm", "--quiet")
    (folder / "t.svm").write_text("1 1:1\n-1 2:1\n")
    run("train", "t.svm", "--model", "lin.wm", "--quiet")
    assert "is a tagger: use widemargin tag" in run("predict", "tag.wm", "t.svm", code=1).output
    told = run("update", "tag.wm", "t.svm", code=1).output
    assert "Taggers cannot be updated: train again on all sentences" in told
    told = run("parse", "tag.wm", "dev.conllu", code=1).output
    assert "is not a parser or annotator: it was made by the learner Tagger" in told
    assert "; use it with widemargin tag\n" in told
    told = run("tag", "tag.wm", "dev.conllu", "--proba")
    assert "these probabilities are not calibrated" in told.stderr
    assert (
        "is not a tagger, lemmatizer or morphologizer: it was made by the learner Perceptron"
        in run("tag", "lin.wm", "dev.conllu", code=1).output
    )
    assert (
        "holds sentences (conllu): train on them with --learner tagger"
        in run("train", "train.conllu", code=1).output
    )
    run("test", "t.svm", "dev.conllu", code=1)
    (folder / "cut.wm").write_bytes((folder / "tag.wm").read_bytes()[:-9])
    assert "cut short" in run("tag", "cut.wm", "dev.conllu", code=1).output


def test_a_model_of_a_task_is_shown_and_loaded(folder):
    task = Tagging(["DET", "NOUN"])
    model = StructuredPerceptron(task).fit([["the", "dog"]], [("DET", "NOUN")])
    model.save("task.wm")
    told = json.loads(run("inspect", "task.wm", "--json").output)
    assert told["task"] == "widemargin.structured.tasks.tagging:Tagging"
    assert dict(told["top_features"])["dog NOUN"] == model["dog NOUN"]
    said = run("inspect", "task.wm").output
    assert "StructuredPerceptron, perceptron rule, average kept" in said
    assert "dog NOUN" in said
    assert widemargin.load("task.wm").predict([["the", "dog"]]) == [("DET", "NOUN")]
    (folder / "t.svm").write_text("1 1:1\n")
    assert "a task written in Python" in run("predict", "task.wm", "t.svm", code=1).output


def test_latin_text(folder):
    text = chunks().replace("dog", "bête")
    (folder / "latin.txt").write_bytes(text.encode("latin-1"))
    said = run(*TAGGER, "latin.txt", "--model", "m.wm", code=1).stderr
    assert "the byte 0xea is not utf-8: give the encoding" in said
    run(*TAGGER, "latin.txt", "--encoding", "latin-1", "--model", "m.wm", "--quiet")
    assert run("tag", "m.wm", "latin.txt", "--encoding", "latin-1").stdout == text


def test_help_tells_of_the_commands():
    listed = run("--help").output
    for command in ("tag", "parse"):
        assert re.search(rf"^  {command} +Print sentences", listed, re.MULTILINE)
        assert "[FILES]..." in run(command, "--help").output


def test_reports_tell_of_taggers_and_parsers(folder):
    run(*TAGGER, "--column", "upos", "train.conllu", "--model", "t.wm")
    run("report", "t.wm", "-o", "t.html")
    page = (folder / "t.html").read_text(encoding="utf-8")
    assert all(told in page for told in ("Tagger", "NOUN", "[0]="))
    run(*PARSER, "train.conllu", "--model", "p.wm")
    run("report", "p.wm", "-o", "p.html")
    assert "Parser" in (folder / "p.html").read_text(encoding="utf-8")
    run("report", "t.wm", "train.conllu", "-o", "t.html")
    assert "The worst mistakes" in (folder / "t.html").read_text(encoding="utf-8")


def test_trees_are_drawn(folder):
    corpus = made_corpus(12)
    write_conll(corpus, "trees.conllu", format="conllu")
    run(*PARSER, "trees.conllu", "--model", "p.wm")
    text = run("parse", "p.wm", "trees.conllu", "--draw", "text").stdout
    assert text.count("root") == len(corpus)
    assert len([line for line in text.split("\n") if line]) == corpus.tokens
    drawn = run("parse", "p.wm", "trees.conllu", "--draw", "svg").stdout
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert drawn.count("<path") == corpus.tokens
    refused = run("parse", "p.wm", "trees.conllu", "--draw", "svg", "--margins", code=2)
    assert "--margins has no effect with --draw" in refused.stderr
    tree = load_parser("p.wm").parse(["the", "dog"], upos=["DET", "NOUN"])
    assert len(tree.draw().split("\n")) == 2
    assert ElementTree.fromstring(tree.svg()).tag.endswith("svg")


def test_words_in_the_second_column(folder):
    (folder / "t.txt").write_text("N\tdog\nV\tbarks\n\n" * 4, encoding="utf-8")
    run(*TAGGER, "t.txt", "--words", "2", "--model", "t.wm")
    assert "1.0000" in run("test", "t.wm", "t.txt", "--words", "2").stdout
    assert run("tag", "t.wm", "t.txt", "--words", "2").stdout == "N\tdog\nV\tbarks\n\n" * 4
    run(*TAGGER, "t.txt", "--words", "3", "--model", "u.wm", code=1)
