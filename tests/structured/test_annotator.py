"""Annotators: raw text becomes sentences with tags, morphology, lemmas and trees."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from forked import run_forked
from shell import run

from widemargin import Annotator, Tagger, load
from widemargin.errors import DataError, ModelFileError
from widemargin.pages.reports import report
from widemargin.structured import Corpus, load_annotator, load_tagger, read_conll
from widemargin.structured.annotator.document import Document
from widemargin.structured.annotator.measures import (
    MEASURES,
    compare_document,
    find_mistakes,
    measure_annotation,
)
from widemargin.structured.annotator.model import AnnotatorModel
from widemargin.structured.examination import examine_sentences
from widemargin.structured.report import measure_annotator
from widemargin.structured.tokenizer.treebank import read_paragraphs
from widemargin.web.serving.predictor import AnswerOptions
from widemargin.web.serving.served import make_predictor

#: form, lemma, UPOS, XPOS, FEATS, head, relation, MISC; the second sentence has a multiword token.
SENTENCES = (
    (
        "The dogs bark.",
        "1 The the DET DT Definite=Def 2 det _ _",
        "2 dogs dog NOUN NNS Number=Plur 3 nsubj _ _",
        "3 bark bark VERB VBP Mood=Ind|VerbForm=Fin 0 root _ SpaceAfter=No",
        "4 . . PUNCT . _ 3 punct _ _",
    ),
    (
        "It doesn't sleep!",
        "1 It it PRON PRP Number=Sing 4 nsubj _ _",
        "2-3 doesn't _ _ _ _ _ _ _ _",
        "2 does do AUX VBZ Mood=Ind|VerbForm=Fin 4 aux _ _",
        "3 n't not PART RB _ 4 advmod _ _",
        "4 sleep sleep VERB VB VerbForm=Inf 0 root _ SpaceAfter=No",
        "5 ! ! PUNCT . _ 4 punct _ _",
    ),
    (
        "Old cats sleep.",
        "1 Old old ADJ JJ Degree=Pos 2 amod _ _",
        "2 cats cat NOUN NNS Number=Plur 3 nsubj _ _",
        "3 sleep sleep VERB VBP Mood=Ind|VerbForm=Fin 0 root _ SpaceAfter=No",
        "4 . . PUNCT . _ 3 punct _ _",
    ),
)
#: The tables of the usual one are cleared for longer than these sentences are learned from.
TAGGER = Tagger(bits=12, C=0.02, epochs=10)
TEXT = "The dogs sleep. It doesn't bark!\n\nOld cats sleep."


def treebank_text(times: int = 6) -> str:
    """The sentences as CoNLL-U, in paragraphs of three."""
    lines = []
    for _ in range(times):
        lines.append("# newpar")
        for text, *words in SENTENCES:
            lines += [f"# text = {text}", *(word.replace(" ", "\t") for word in words), ""]
    return "\n".join([*lines, ""])


def treebank(times: int = 6) -> Corpus:
    return read_conll(io.StringIO(treebank_text(times)), format="conllu")


@pytest.fixture(scope="module")
def model() -> AnnotatorModel:
    return Annotator(jackknife=2, random_state=0, tagger=TAGGER).fit(treebank()).model_


def check_conllu(written: str, text: str) -> None:
    """The format level of the UD validator: numbers, heads, one root, text and places."""
    seen = set()
    for block in written.split("\n\n")[:-1]:
        lines = block.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        words = [line.split("\t") for line in lines if not line.startswith("#")]
        assert all(len(cells) == 10 and all(cells) for cells in words)
        number = next(line for line in comments if line.startswith("# sent_id = "))
        assert number not in seen
        seen.add(number)
        plain = [cells for cells in words if "-" not in cells[0]]
        assert [cells[0] for cells in plain] == [str(k + 1) for k in range(len(plain))]
        heads = [int(cells[6]) for cells in plain]
        assert heads.count(0) == 1
        assert all(0 <= head <= len(plain) for head in heads)
        assert all((cells[7] == "root") == (cells[6] == "0") for cells in plain)
        shown, inside = "", 0
        for cells in words:
            misc = dict(pair.split("=") for pair in cells[9].split("|") if pair != "_")
            if "TokenRange" in misc:
                start, end = map(int, misc["TokenRange"].split(":"))
                assert " ".join(text[start:end].split()) == cells[1]
                shown += cells[1] + " " * ("SpaceAfter" not in misc)
            inside += "-" in cells[0]
        told = next(line for line in comments if line.startswith("# text = "))
        assert told == f"# text = {shown.strip()}"


def test_text_becomes_sentences_with_everything(model: AnnotatorModel) -> None:
    document = model(TEXT)
    assert len(document) == 3
    assert repr(document).startswith("Document(3 sentences, 13 words: form, ")
    words = [[word["form"] for word in sentence] for sentence in document]
    assert words[1] == ["It", "does", "n't", "bark", "!"]
    first = next(iter(document))
    assert [word["lemma"] for word in first] == ["the", "dog", "sleep", "."]
    assert [word["upos"] for word in first] == ["DET", "NOUN", "VERB", "PUNCT"]
    assert [word["feats"] for word in first][:2] == ["Definite=Def", "Number=Plur"]
    assert [word["head"] for word in first] == [2, 3, 0, 3]
    assert (first[1]["start"], first[1]["end"]) == (4, 8)
    check_conllu(document.conllu(), TEXT)
    assert document.conllu().count("# newpar") == 2
    assert "2-3\tdoesn't\t_\t_" in document.conllu()


def test_documents_are_also_json_tables_spans_and_a_corpus(model: AnnotatorModel) -> None:
    document = model(TEXT)
    told = [json.loads(line) for line in document.json_lines().splitlines()]
    assert [one["sentence"] for one in told] == [1, 2, 3]
    assert told[0]["text"] == "The dogs sleep."
    assert TEXT[told[2]["start"] : told[2]["end"]] == "Old cats sleep."
    table = document.table()
    assert {len(column) for column in table.values()} == {document.words}
    rows = document.tab_separated().splitlines()
    assert rows[0].split("\t") == list(table)
    assert len(rows) == document.words + 1
    assert document.drawn().split("\n\n")[2] == (
        "# 3\nsleep  VERB root\n├─ cats  NOUN nsubj\n│  └─ Old  ADJ amod\n└─ .  PUNCT punct"
    )
    spans = document.spans("nsubj")
    assert [span.text for span in spans] == ["The dogs", "It", "Old cats"]
    assert all(TEXT[span.start : span.end] == span.text for span in spans)
    corpus = document.corpus()
    assert corpus.column("lemma") == document.columns["lemma"]
    assert len(corpus) == 3


@pytest.mark.parametrize("cut", [1, 7, 16, 33, 34, 35])
@pytest.mark.parametrize("input", ["text", "sentences", "tokens"])
def test_a_text_in_pieces_gives_the_same(model: AnnotatorModel, cut: int, input: str) -> None:
    pieces = [TEXT[k : k + cut] for k in range(0, len(TEXT), cut)]
    found = "".join(document.conllu() for document in model.stream(pieces, input))
    assert found == model.document(TEXT, input).conllu()


def test_given_sentences_and_tokens_are_kept(model: AnnotatorModel) -> None:
    lines = model.document("The dogs bark. It barks.\n\nOld cats sleep.", "sentences")
    assert len(lines) == 2
    tokens = model.document("The dogs bark.\n\n  It doesn't\tsleep !\n", "tokens")
    assert tokens.columns["form"] == ["The", "dogs", "bark.", "It", "doesn't", "sleep", "!"]
    assert np.diff(tokens.starts).tolist() == [3, 4]
    check_conllu(tokens.conllu(), tokens.text)
    corpus = model.annotate([["Old", "dogs", "bark"]])
    assert corpus.column("lemma") == ["old", "dog", "bark"]
    with pytest.raises(ValueError, match="must be one of"):
        model.document("a", "words")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n\n \u2003",
        "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301 Z\u0335\u0321!",
        "\u0627\u0644\u0643\u0644\u0628 \u064a\u0646\u0628\u062d. \u05e9\u05dc\u05d5\u05dd",
        "a\x00b \x07c\x1bd \ufeff\u200e",
        "The dogs\tbark.\r\n\r\nIt\u2028sleeps.\x0b\x0cNo",
        "x" * 20_000,
        "The dogs bark. " * 2_000,
    ],
    ids=[
        "empty",
        "spaces",
        "emoji",
        "right-to-left",
        "control",
        "breaks",
        "long word",
        "long line",
    ],
)
def test_odd_texts_keep_their_places(model: AnnotatorModel, text: str) -> None:
    document = model(text)
    check_conllu(document.conllu(), text)
    solid = "".join(text.split())
    places = zip(document.begins.tolist(), document.ends.tolist(), strict=True)
    assert "".join("".join(text[a:b].split()) for a, b in places) == solid
    assert all(a < b for a, b in pairwise([-1, *document.begins.tolist()]))


def test_what_is_no_text_is_refused(model: AnnotatorModel) -> None:
    for wrong, why in ((b"The", "a text must be a string"), ("a\ud800b", "half a character, at 1")):
        with pytest.raises(DataError, match=why):
            model(wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="needs a treebank here, not a share"):
        Annotator(validation=0.1).fit(treebank())
    with pytest.raises(DataError, match="expected the name of a file"):
        Annotator().fit([["a", "b"]])
    with pytest.raises(DataError, match="single string"):
        Annotator().predict("a")


def test_same_seed_same_model_and_files_keep_it(model: AnnotatorModel, tmp_path) -> None:  # type: ignore[no-untyped-def]
    again = Annotator(jackknife=2, random_state=0, tagger=TAGGER).fit(treebank())
    first, second = model.contents()[0], again.model_.contents()[0]
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    path = tmp_path / "en.wm"
    again.save(path)
    assert load(path)(TEXT).conllu() == model(TEXT).conllu()
    assert load_annotator(path)(TEXT).conllu() == model(TEXT).conllu()
    with pytest.raises(ModelFileError, match="is not a tagger"):
        load_tagger(path)


def test_a_time_limit_leaves_a_whole_model() -> None:
    # A few sentences are learned without a mistake before anybody looks at the clock.
    long = treebank(times=200)
    annotator = Annotator(jackknife=2, max_seconds=1e-6, random_state=0, tagger=TAGGER).fit(long)
    assert annotator.history_.stopped == "deadline"
    check_conllu(annotator(TEXT).conllu(), TEXT)


def test_a_treebank_without_lemmas_and_features_is_learned() -> None:
    bare = treebank()
    for name in ("lemma", "xpos", "feats"):
        bare = bare.with_column(name, ["_"] * bare.tokens)
    stages = []
    annotator = Annotator(jackknife=0, random_state=0, tagger=TAGGER)
    document = annotator.fit(bare, watch=lambda moment: stages.append(moment.stage))(TEXT)  # type: ignore[func-returns-value]
    assert {stage.partition(",")[0] for stage in stages} == {"tokens", "tags", "trees"}
    assert set(document.columns) == {"form", "upos", "head", "deprel"}
    check_conllu(document.conllu(), TEXT)


def test_bad_trees_are_found_before_anything_is_trained(model: AnnotatorModel) -> None:
    def train(_: object) -> bool:
        raise AssertionError("trained")

    right = treebank(1)
    bad = right.with_column("head", ["_", *right.column("head")[1:]])
    for fit in (
        lambda: Annotator().fit(bad, watch=train),
        lambda: Annotator().fit(right, valid=bad, watch=train),
        lambda: measure_annotator(model, bad),
        lambda: measure_annotation(model, bad),
    ):
        with pytest.raises(DataError, match=r"sentences:3: has no head"):
            fit()


def answered(**changed: list[str]) -> dict[str, float]:
    """The measures of the first two sentences, if some columns are answered differently."""
    right = treebank(1)[:2]
    paragraphs = read_paragraphs(right)
    columns = {name: list(right.column(name)) for name in right.names} | changed
    begins = [0, 4, 9, 13, 15, 18, 26, 31]
    ends = [3, 8, 13, 14, 17, 25, 31, 32]
    tokens = [0, 1, 2, 3, 4, 5, 5, 6, 7]
    arrays = (np.array(one, np.int64) for one in (tokens, begins, ends))
    document = Document(paragraphs[0].text, columns, right.starts, *arrays)
    return {name: one.f1 for name, one in compare_document(right, paragraphs, document).items()}


def test_mistakes_are_told_by_stage_with_examples(model: AnnotatorModel) -> None:
    right = treebank(1)
    upos = right.column("upos").copy()
    upos[1] = "PROPN"
    report = measure_annotator(model, right.with_column("upos", upos))
    first = next(one for one in report.mistakes if one.right == "upos PROPN")
    assert (first.found, first.times) == ("NOUN", 1)
    assert first.examples == ["The [dogs] bark. It doesn't sl"]


def test_measures_by_hand() -> None:
    assert set(answered().values()) == {1.0}
    assert tuple(answered()) == MEASURES
    right = treebank(1)[:2]
    # One wrong tag of nine: content words are dogs, bark, It, n't and sleep.
    upos = right.column("upos").copy()
    upos[1] = "PROPN"
    found = answered(upos=upos)
    assert found["UPOS"] == found["AllTags"] == pytest.approx(8 / 9)
    assert found["MLAS"] == pytest.approx(4 / 5)
    assert found["LAS"] == found["CLAS"] == found["BLEX"] == found["Lemmas"] == 1.0
    # The tag of a function word counts for the content word above it: does, of sleep.
    upos = right.column("upos").copy()
    upos[5] = "VERB"
    assert answered(upos=upos)["MLAS"] == pytest.approx(4 / 5)
    # A wrong lemma of a function word is none of BLEX's business; that of a content word is.
    lemma = right.column("lemma").copy()
    lemma[0] = "a"
    found = answered(lemma=lemma)
    assert (found["Lemmas"], found["BLEX"]) == (pytest.approx(8 / 9), 1.0)
    lemma[2] = "barking"
    assert answered(lemma=lemma)["BLEX"] == pytest.approx(4 / 5)
    # A wrong head: that of The.
    head = right.column("head").copy()
    head[0] = "3"
    found = answered(head=head)
    assert found["UAS"] == found["LAS"] == pytest.approx(8 / 9)
    # The loses dogs its determiner, which MLAS asks for; bark gains one.
    assert (found["CLAS"], found["MLAS"]) == (1.0, pytest.approx(3 / 5))
    # Subtypes of relations and features that are not universal do not count.
    deprel, feats = right.column("deprel").copy(), right.column("feats").copy()
    deprel[1], feats[1] = "nsubj:pass", "Number=Plur|Style=Coll"
    assert set(answered(deprel=deprel, feats=feats).values()) == {1.0}
    # Another relation that is no content word's: precision counts four, recall five.
    deprel[1] = "punct"
    found = answered(deprel=deprel)
    assert found["CLAS"] == pytest.approx(2 * 4 / (5 + 4))


def test_any_lemma_will_do_where_the_treebank_has_none() -> None:
    right = treebank(1)[:2]
    lemma = right.column("lemma").copy()
    lemma[1] = "_"
    paragraphs = read_paragraphs(right)
    document = Document(
        paragraphs[0].text,
        {name: right.column(name) for name in right.names},
        right.starts,
        np.array([0, 1, 2, 3, 4, 5, 5, 6, 7]),
        np.array([0, 4, 9, 13, 15, 18, 26, 31]),
        np.array([3, 8, 13, 14, 17, 25, 31, 32]),
    )
    found = compare_document(right.with_column("lemma", lemma), paragraphs, document)
    assert found["Lemmas"].f1 == found["BLEX"].f1 == 1.0


def test_the_shell_goes_from_a_treebank_to_trees(tmp_path) -> None:  # type: ignore[no-untyped-def]
    train, model = tmp_path / "train.conllu", tmp_path / "en.wm"
    train.write_text(treebank_text())
    done = run("train", "--learner", "annotator", train, "--valid", train, "--model", model)
    assert "LAS" in done.stdout
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    annotator = load_annotator(model)
    assert run("parse", model, text).stdout == annotator(TEXT).conllu()
    assert "--write trees" in run("parse", model, text, "--draw", "text", code=2).output
    told = run("parse", model, text, "--write", "json", "--input", "sentences").stdout
    assert [json.loads(line)["sentence"] for line in told.splitlines()] == [1, 2]
    assert run("parse", model, text, "--write", "table").stdout == annotator(TEXT).tab_separated()
    assert run("parse", model, train).stdout.count("2-3\tdoesn't") == 6
    assert json.loads(run("test", model, train, "--json").stdout)["Tokens"] == 1.0
    run("inspect", model)
    told = run("test", model, text, code=1).stderr
    assert f"{text}:1: 1 column between tabs, where CoNLL-U has 10: to test the annotator" in told
    assert "for plain text, use widemargin parse" in told
    told = run("explain", model, train, code=1).stderr
    assert "is an annotator, whose parts cannot be explained" in told
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"The dogs\n\nb\xffrk.")
    refused = run("parse", model, bad, code=1)
    assert f"{bad}:3: the byte 0xff is not utf-8" in refused.stderr
    odd = run("parse", model, text, "--margins", code=2)
    assert "--margins has no effect for an annotator" in odd.stderr
    for asked in (("--valid", "0.1"), ("--no-holdout",)):
        run("train", "--learner", "annotator", train, *asked, "--model", model, code=2)
    done = run(
        "train", "--learner", "annotator", train, "--valid", train, "--small", "--model", model
    )
    assert "what the smaller model costs: LAS " in done.stdout
    assert "weights left: " in done.stdout


def test_a_smaller_annotator_is_the_same_from_its_file(model: AnnotatorModel, tmp_path) -> None:  # type: ignore[no-untyped-def]
    small, sizes = model.smaller(), {}
    for name, one in (("whole", model), ("small", small)):
        one.save(tmp_path / name)
        sizes[name] = (tmp_path / name).stat().st_size
    assert sizes["small"] < sizes["whole"]
    assert load_annotator(tmp_path / "small")(TEXT).conllu() == small(TEXT).conllu()
    weights = np.random.default_rng(0).normal(size=1 << 10).astype(np.float16).astype(np.float32)
    kept = replace(small.lemmas.chooser, W=weights).smaller().W
    left = kept != 0
    assert 0 < np.count_nonzero(~left) < 100
    # Six bits, one of them the sign: no weight moves by more than a 32nd part.
    assert np.all(np.abs(kept - weights)[left] <= np.abs(weights)[left] / 32)
    assert np.abs(weights[~left]).max() <= 0.02 * np.abs(weights).max()
    assert len(set(np.frexp(kept[left])[0].tolist())) <= 32
    assert replace(model, lemmas=None).smaller().lemmas is None


def test_a_pipe_is_answered_paragraph_by_paragraph(model: AnnotatorModel, tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "en.wm"
    model.save(path)
    piped = run_forked("-m", "widemargin", "parse", str(path), input=TEXT)
    assert piped.stdout == model(TEXT).conllu(), piped.stderr


def test_a_server_annotates_texts(model: AnnotatorModel) -> None:
    asked = make_predictor("en.wm", *model.contents())
    told = json.loads(asked.answer("texts", [TEXT], AnswerOptions())[0])
    assert [word["lemma"] for word in told["sentences"][2]["words"]] == ["old", "cat", "sleep", "."]


# Reports


def test_ends_of_sentences_that_were_missed_or_found_too_soon_are_mistakes(
    model: AnnotatorModel,
) -> None:
    corpus = treebank(1)
    right = read_paragraphs(corpus)
    document = model(right[0].text)
    assert find_mistakes(corpus, right, document) == []
    # The first two sentences as one, and the third cut after its second word.
    starts = np.array([0, 9, 11, 13])
    heads = [max(0, min(int(head), 2)) for head in document.columns["head"]]
    cut = replace(
        document, starts=starts, columns={**document.columns, "head": list(map(str, heads))}
    )
    found = [one for one in find_mistakes(corpus, right, cut) if one.stage == "sentence"]
    text = document.text
    missed = text.index(".") + 1
    assert found[0] == ("sentence", "ends", "goes on", missed - 1, missed)
    end = text.index("cats") + 4
    assert found[1] == ("sentence", "goes on", "ends", end - 1, end)


def test_the_report_tells_errors_by_stage(model: AnnotatorModel, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model.save("en.wm")
    wrong = treebank_text(2).replace("\tNOUN\t", "\tX\t").replace("\tdog\t", "\thound\t")
    (tmp_path / "wrong.conllu").write_text(wrong)
    exam = examine_sentences(model, read_conll("wrong.conllu"))
    assert [(stage.name, stage.wrong) for stage in exam.stages] == [("upos", 4), ("lemma", 2)]
    told = exam.stages[0].mistakes[0]
    assert (told.right, told.found, told.times) == ("X", "NOUN", 4)
    assert told.examples[0] == "The [dogs] bark. It doesn't sl"
    run("report", "en.wm", "wrong.conllu", "-o", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "X taken for NOUN, 4 times" in page
    assert "hound taken for dog, 2 times" in page
    assert "Tags (UPOS): 4 wrong" in page
    assert "its F1, from raw text, is: Tokens 100.00 %" in page
    report(model, "alone.html")
    assert "How good the answers are" not in (tmp_path / "alone.html").read_text()
    report(model, "good.html", treebank())
    assert "every answer was right" in (tmp_path / "good.html").read_text()
    done = run("report", "en.wm", "wrong.conllu", "--column", "upos", "-o", "page.html", code=2)
    assert "--column is for taggers: it has no effect for this annotator" in done.stderr


def test_words_without_a_head_are_roots_and_no_others(model: AnnotatorModel) -> None:
    heads, labels = ["0", "1", "1"], ["nsubj", "root", "punct"]
    assert model._with_roots(heads, labels) == ["root", "dep", "punct"]
    other = replace(model, parser=replace(model.parser, labels=["a", "b"]))
    assert other._with_roots(heads, labels) == labels
