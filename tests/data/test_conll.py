"""Sentences: read and written byte for byte, spans, trees, and what is wrong with them."""

import bz2
import gzip
import io
import lzma
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from widemargin.data.readers.conll import CONLLU, read_conll
from widemargin.data.readers.conll_writer import conll_text, write_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.data.readers.formats import CORPORA, format_of
from widemargin.errors import DataError
from widemargin.structured.parser.trees import check_trees, heads_of, measure_trees
from widemargin.structured.resample import Ratio
from widemargin.structured.spans import (
    SCHEMES,
    convert_tags,
    find_illegal,
    find_spans,
    is_legal,
    measure_spans,
    scheme_of,
)

UD = """\
# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tVamos\tir\tVERB\t_\tMood=Imp\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl:arg\t_\tSpaceAfter=No
5.1\tfue\tir\tVERB\t_\t_\t_\t_\t1:conj\t_

# sent_id = 2
1\tSí\tsí\tINTJ\t_\t_\t0\troot\t_\tA B

"""
NER = """\
-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

# # NN B-NP
"""


def read(text, **options):
    content = text if isinstance(text, bytes) else text.encode()
    return read_conll(io.BytesIO(content), **options)


def test_conllu_tokens_are_words_only():
    corpus = read(UD)
    assert corpus.format == "conllu"
    assert corpus.sentences() == [["Vamos", "nos", "a", "el", "mar"], ["Sí"]]
    assert corpus.names == list(CONLLU)
    assert corpus.column("head") == ["0", "1", "5", "5", "1", "0"]
    assert corpus.lines.tolist() == [4, 5, 7, 8, 9, 13]
    assert corpus.column("misc")[-1] == "A B"
    assert corpus.name_of() == "upos"
    assert corpus.column("word") == corpus.column("form") == corpus.words


def test_columns_have_the_names_of_their_shared_tasks():
    assert read("a NN B-NP\n").names == ["word", "pos", "chunk"]
    assert read("a\tO\n").names == ["word", "ner"]
    assert read("a B C O\n", format="conll").names == ["word", "pos", "chunk", "ner"]
    assert read("a 1 2 3 O\n", format="conll").names == ["word", "2", "3", "4", "5"]
    assert read("a 1 O\n", columns=["w", "x", "y"]).names == ["w", "x", "y"]
    corpus = read("a NN B-NP\nb VB O\n")
    assert corpus.name_of() == "chunk"
    assert corpus.column(2) == corpus.column("2") == corpus.column(-2) == ["NN", "VB"]


def test_columns_of_conllu_have_the_numbers_of_the_format():
    corpus = read(
        "1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tis\tbe\tAUX\tVBZ\t_\t0\troot\t_\tX=1\n"
    )
    assert corpus.column(2) == corpus.words
    assert corpus.column(4) == corpus.column("4") == corpus.column("upos") == ["PRON", "AUX"]
    assert corpus[:1].column(10) == corpus.column(-1) == ["_", "X=1"]
    assert corpus.with_column("tag", ["A", "B"]).column(11) == ["A", "B"]
    with pytest.raises(DataError, match="sentences: column 1 holds the numbers of the tokens"):
        corpus.column(1)
    with pytest.raises(DataError, match="no column 11, only columns 1 to 10"):
        corpus.column(11)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (["1-3", "1", "2"], ":1: the range 1-3 ends after the last token of the sentence"),
        (["5-6", "1", "2"], ":1: the range 5-6 does not stand before token 5, its first"),
        (["1", "1-2", "2"], ":2: the range 1-2 does not stand before token 1"),
        (["1-2", "1", "2-3", "2", "3"], ":3: the range 2-3 does not stand before token 2"),
        (["1", "2-3"], ":2: the range 2-3 does not stand before token 2"),
        (["1", "2-3", "", "1"], ":2: the range 2-3 does not stand before token 2"),
        (["1", "2-3", "2", "", "1"], ":2: the range 2-3 ends after the last token"),
    ],
)
def test_ranges_are_in_their_places(numbers, message):
    lines = [number and "\t".join([number, "a", *"_" * 8]) for number in numbers]
    with pytest.raises(DataError, match=message):
        read("\n".join([*lines, "", ""]), format="conllu")


def test_ranges_one_after_another():
    numbers = ["1-2", "1", "2", "2.1", "3-4", "3", "4", "", "0.1", "1-1", "1"]
    lines = [number and "\t".join([number, "a", *"_" * 8]) for number in numbers]
    assert read("\n".join([*lines, "", ""]), format="conllu").tokens == 5


def test_documents_and_hashes():
    corpus = read(NER.replace("# # NN B-NP", "# # I-NP O"))
    assert corpus.sentences() == [["EU", "rejects"], ["#"]]
    assert corpus.where(1) == "sentences:4"


@pytest.mark.parametrize(
    "text",
    [
        UD,
        UD.rstrip("\n"),
        UD.replace("\n", "\r\n"),
        "\ufeff" + UD,
        "\n\n" + UD + "\n\n# the end\n",
        NER.replace("# # NN B-NP", "# # B-NP O"),
        "a NN  B-NP \nb\tVB   O\n\n\n c X O\n",
        "a\u00a0b\tB-X\nc\u3000d\tO\n",
        "a O\nb O",
        "\n",
        "",
    ],
)
def test_written_again_byte_for_byte(text, tmp_path):
    format = "conllu" if "sent_id" in text else "conll"
    corpus = read(text, format=format)
    assert conll_text(corpus, {}) == text
    name = corpus.names[-1] if format == "conll" else "upos"
    assert conll_text(corpus, {name: corpus.column(name)}) == text
    write_conll(corpus, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == text.encode()
    parts = [corpus[i : i + 1] for i in range(len(corpus))]
    if parts and corpus.layout.open_end is False:
        assert "".join(conll_text(part, {}) for part in parts) == text


_CELLS = st.text(st.characters(exclude_characters=" \t\r\n\ufeff", codec="utf-8"), min_size=1)


@given(st.integers(1, 4), st.data())
def test_any_columns_round_trip(width, data):
    row = st.lists(_CELLS, min_size=width, max_size=width)
    sentences = data.draw(st.lists(st.lists(row, min_size=1, max_size=4), max_size=4))
    if any(row[0].startswith("-DOCSTART-") for rows in sentences for row in rows):
        return
    text = "".join("".join("\t".join(row) + "\n" for row in rows) + "\n" for rows in sentences)
    corpus = read(text, format="conll")
    assert corpus.sentences() == [[row[0] for row in rows] for rows in sentences]
    assert conll_text(corpus, {}) == text
    made = Corpus.of(
        {str(j): [[row[j] for row in rows] for rows in sentences] for j in range(width)}
    )
    assert conll_text(made, {}) == text


def test_replaced_cells():
    corpus = read(UD)
    upos = [tag.lower() for tag in corpus.column("upos")]
    text = conll_text(corpus, {"upos": upos, "head": ["0"] * 6})
    again = read(text)
    assert again.column("upos") == upos
    assert again.column("head") == ["0"] * 6
    assert [line for line in text.split("\n") if line[:1] == "#" or "-" in line.split("\t")[0]] == [
        line for line in UD.split("\n") if line[:1] == "#" or "-" in line.split("\t")[0]
    ]
    ner = read("-DOCSTART- O\n\na O\nb O\n")
    assert conll_text(ner, {"mine": ["X", "Y"]}) == "-DOCSTART- O O\n\na O X\nb O Y\n"
    with pytest.raises(DataError, match="2 cells for 6 tokens"):
        conll_text(corpus, {"upos": ["X", "Y"]})
    with pytest.raises(DataError, match="no column 'mine'"):
        conll_text(corpus, {"mine": ["X"] * 6})


def test_columns_that_were_changed_are_written():
    corpus = read(UD).with_column("upos", list("ABCDEF"))
    assert read(conll_text(corpus, {})).column("upos") == list("ABCDEF")
    assert read(conll_text(corpus[1:], {})).column("upos") == ["F"]
    assert conll_text(corpus, {"upos": read(UD).column("upos")}) == UD
    ner = read("a O\nb B-X\n").with_column("new", ["Y", "Z"])
    assert conll_text(ner, {}) == "a O Y\nb B-X Z\n"
    assert conll_text(ner, {"new": ["V", "W"], "ner": ["O", "O"]}) == "a O V\nb O W\n"
    assert conll_text(ner[np.array([0])], {}) == conll_text(ner, {})


def test_plain_text_and_lists():
    text = read("the dog\n\nit barks\n", format="text")
    assert text.sentences() == [["the", "dog"], [], ["it", "barks"]]
    assert text.where(2) == "sentences:3"
    assert conll_text(text, {"tag": list("abcd")}) == "the\ta\ndog\tb\n\n\nit\tc\nbarks\td\n\n"
    made = conll_text(text[:1], {"upos": ["DET", "NOUN"]}, format="conllu")
    assert made.split("\n")[1] == "2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_"
    assert read(made).column("upos") == ["DET", "NOUN"]


def test_some_of_the_sentences():
    text = "".join(f"w{i} A\nv{i} B\n\n" for i in range(6))
    corpus = read(text, format="conll")
    chosen = corpus[np.array([4, 1, 2])]
    assert chosen.sentences() == [["w4", "v4"], ["w1", "v1"], ["w2", "v2"]]
    assert chosen.where(0) == "sentences:13"
    assert conll_text(chosen, {}) == "w4 A\nv4 B\n\nw1 A\nv1 B\n\nw2 A\nv2 B\n\n"
    assert corpus[corpus.lengths > 5].sentences() == []
    assert corpus[-1].words == ["w5", "v5"]
    with pytest.raises(IndexError, match="no sentence 6"):
        corpus[6]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_files_one_after_the_other(pack, tmp_path):
    (tmp_path / "1.conllu").write_bytes(pack(UD.encode()))
    (tmp_path / "2.conllu").write_bytes(pack(UD.encode()))
    corpus = read_conll(str(tmp_path / "*.conllu"))
    assert len(corpus) == 4
    assert corpus.where(6) == f"{tmp_path}/2.conllu:4"
    assert corpus[3:].where(0) == f"{tmp_path}/2.conllu:13"
    assert conll_text(corpus, {}) == UD + UD


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a NN O\nb O\n", "sentences:2: 2 columns between blanks, where the first line has 3"),
        ("a\tO\nb\n", "sentences:2: 1 column between tabs, where the first line has 2"),
        ("a\tO\n\tO\n", "sentences:2: column 1 is empty"),
        ("1\ta\n", "sentences:1: 2 columns between tabs, where CoNLL-U has 10"),
        (UD.replace("5\tmar", "7\tmar"), "sentences:9: the token number is 7, expected 5"),
        (UD.replace("5.1\t", "x.1\t"), "sentences:10: 'x.1' is not the number"),
        (UD.replace("mar\tmar", "mar\t"), "sentences:9: column 3 is empty"),
        (b"a O\n\xe9t\xe9 O\n", "sentences:2: the byte 0xe9 is not utf-8"),
    ],
)
def test_bad_files_are_told_with_their_line(text, message):
    format = "conllu" if text[:1] in ("1", "#") else "conll"
    with pytest.raises(DataError, match=message):
        read(text, format=format)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("a NN B-NP\nb VB O\n\n", "conll"),
        ("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", "conllu"),
        ("the dog NOUN\na cat NOUN\n\nno dog NOUN\nb c d\n\n", "conll"),
        ("the dog\n\na cat\n", "text"),
        ("the dog barks\nit is\n", "text"),
    ],
)
def test_formats_are_recognised(text, format):
    assert read(text, plain=True).format == format
    assert format_of("<stdin>", text.encode(), (*CORPORA, "text")) == format


def test_linear_learners_are_told_what_sentences_are():
    assert format_of("x", b"1.5\t2\tB\n2.5\t1\tS\n") == "tsv"
    with pytest.raises(
        DataError, match=r"holds sentences \(conllu\): train on them with --learner tagger"
    ):
        format_of("x.conllu.gz", b"")


@pytest.mark.parametrize("text", ["the dog\na cat\n", "the dog\n\na cat\n"])
def test_lines_of_words_are_not_taken_for_columns(text, tmp_path):
    (tmp_path / "raw.txt").write_text(text)
    told = r"raw\.txt: may be text, .* or columns, .*; give the format \(--format\), text or conll$"
    for skip_bad in (0, 2):
        with pytest.raises(DataError, match=told):
            read_conll(tmp_path / "raw.txt", skip_bad=skip_bad)
    assert read_conll(tmp_path / "raw.txt", plain=True).format == "text"
    assert read(text, format="conll").words == ["the", "a"]
    assert read(text, columns=["word", "pos"]).column("pos") == ["dog", "cat"]
    assert read("the dog\na cat\n\none fish\nnow then\n").names == ["word", "ner"]


def test_other_complaints():
    assert read("é\tO\n".encode("latin-1"), encoding="latin-1").words == ["é"]
    with pytest.raises(DataError, match="no column 'upos'; it has word, ner"):
        read("a\tO\n").column("upos")
    with pytest.raises(DataError, match="no column 3, only columns 1 to 2"):
        read("a\tO\n").column(3)
    with pytest.raises(DataError, match="has 2 columns, but the names given are a, b, c"):
        read("a O\n", columns=["a", "b", "c"])
    with pytest.raises(DataError, match="sentence 1: 'word' has 2 cells, but 'tag' has 1"):
        Corpus.of([["a", "b"]], [["X"]])
    with pytest.raises(DataError, match="give a list of strings"):
        Corpus.of(["a b"])
    with pytest.raises(DataError, match="sentence 2: 'word' holds 3, of type int"):
        Corpus.of([["a"], [3]])


# Spans


def naive_spans(tags, starts):
    """Spans by the letter: one token after the other, with a state."""
    spans = set()
    for a, b in pairwise(starts):
        open_at, open_kind, before = None, None, "O"
        for i in range(a, b):
            letter, _, kind = tags[i].partition("-")
            closes = before in ("E", "S", "L", "U") or letter in ("B", "S", "U", "O")
            if open_at is not None and (closes or kind != open_kind):
                spans.add((open_at, i, open_kind))
                open_at = None
            if open_at is None and letter != "O":
                open_at, open_kind = i, kind
            before = letter
        if open_at is not None:
            spans.add((open_at, b, open_kind))
    return spans


def naive_f1(answers, found, starts):
    a, b = naive_spans(answers, starts), naive_spans(found, starts)
    return 2 * len(a & b) / max(1, len(a) + len(b))


_TAGS = st.sampled_from(["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XY")])
_SENTENCES = st.lists(st.lists(st.tuples(_TAGS, _TAGS), max_size=7), max_size=5)


def flat(sentences):
    starts = np.cumsum([0] + [len(sentence) for sentence in sentences])
    pairs = [pair for sentence in sentences for pair in sentence]
    return [a for a, _ in pairs], [b for _, b in pairs], starts


@given(_SENTENCES)
def test_spans_are_those_of_conlleval(sentences):
    answers, found, starts = flat(sentences)
    assert set(find_spans(answers, starts)) == naive_spans(answers, starts)
    measures = measure_spans(answers, found, starts)
    assert measures.overall.f1 == pytest.approx(naive_f1(answers, found, starts))
    for kind, ratio in measures.by_kind.items():
        only = [[t if t.endswith(kind) else "O" for t in tags] for tags in (answers, found)]
        assert ratio.wanted == len(naive_spans(only[0], starts))
        assert ratio.found == len(naive_spans(only[1], starts))


@given(_SENTENCES, st.sampled_from(SCHEMES))
def test_converted_tags_mean_the_same_and_are_legal(sentences, scheme):
    tags, _, starts = flat(sentences)
    made = convert_tags(tags, scheme, starts)
    assert set(find_spans(made, starts)) == set(find_spans(tags, starts))
    assert find_illegal(made, starts, scheme) == []
    assert convert_tags(made, scheme, starts) == made


def test_schemes_are_recognised():
    tags = ["I-X", "B-X", "O", "I-Y", "I-X"]
    for scheme in SCHEMES:
        assert scheme_of(convert_tags(tags, scheme)) == scheme
    assert scheme_of(["NOUN", "VERB"]) is None
    assert scheme_of(["O", "O"]) is None
    assert scheme_of(["B-X", "I-X", "O", "I-X", "B-X", "B-X"]) == "IOB2"  # with one mistake


def test_illegal_transitions_are_told():
    tags = ["I-X", "O", "I-X", "B-X", "I-Y"]
    assert find_illegal(tags, [0, 3, 5], "IOB2") == [
        (0, "I-X begins a sentence"),
        (2, "I-X follows O"),
        (4, "I-Y follows B-X"),
    ]
    assert find_illegal(tags, [0, 3, 5], "IOB1") == [(3, "B-X begins a sentence")]
    assert find_illegal(["B-X", "O"], None, "IOBES") == [(1, "O follows B-X")]
    assert find_illegal(["O", "B-X"], None, "IOBES") == [(1, "B-X ends a sentence")]
    assert is_legal("E-X", "S-X", "IOBES")
    with pytest.raises(ValueError, match="scheme='IOBX' is unknown"):
        is_legal("O", "O", "IOBX")


def test_interval_is_around_the_figure():
    rng = np.random.default_rng(0)
    right = rng.random(3000) < 0.9
    ratio = Ratio.of_tokens(right, np.arange(0, 3001, 10))
    low, high = ratio.interval()
    assert low < ratio.f1 == ratio.precision == right.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.09 / 3000), rel=0.2)


# Trees


def tree(heads, labels=None):
    n = len(heads)
    labels = labels or ["x"] * n
    rows = [f"{i + 1}\tw\t_\t_\t_\t_\t{heads[i]}\t{labels[i]}\t_\t_\n" for i in range(n)]
    return "".join(rows) + "\n"


def is_tree(heads):
    """Every token comes to the root in at most n steps."""
    for token in range(1, len(heads) + 1):
        at = token
        for _ in heads:
            at = heads[at - 1] if at else 0
        if at:
            return False
    return True


@given(st.lists(st.integers(0, 6), min_size=6, max_size=6))
def test_cycles_are_found(heads):
    if any(head == i + 1 for i, head in enumerate(heads)):
        return
    corpus = read(tree([0, 1]) + tree(heads))
    found = heads_of(corpus)
    assert found.tolist() == [0, 1, *heads]
    if is_tree(heads):
        check_trees(corpus, found)
    else:
        with pytest.raises(DataError, match=r"sentences:\d+: the heads form a cycle"):
            check_trees(corpus, found)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, "_"], "sentences:2: has no head"),
        ([0, "x"], "sentences:2: the head 'x' is not a number"),
        ([0, 3], "sentences:2: the head 3 is not a token of the sentence, which has 2"),
        ([0, 10**30], "sentences:2: the head 10+ is not a token"),
        ([0, 2], "sentences:2: the token is its own head"),
        ([0, 3, 4, 2], "sentences:2: the heads form a cycle: 2 -> 3 -> 4 -> 2"),
        ([0, 1, 0], "sentences:3: a second root"),
    ],
)
def test_bad_trees_are_told_with_their_line(heads, message):
    corpus = read(tree(heads))
    with pytest.raises(DataError, match=message):
        check_trees(corpus, heads_of(corpus), single_root=True)


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 2, *[st.sampled_from("ab")] * 2), max_size=9))
def test_attachment_is_that_of_the_conll_evaluation(tokens):
    def sentence(which):
        heads = [token[which] for token in tokens]
        return heads, [("a:x" if token[2 + which] == "a" else "b") for token in tokens]

    heads, labels = sentence(0)
    heads = [0 if head == i + 1 or head > len(tokens) else head for i, head in enumerate(heads)]
    found, guessed = sentence(1)
    guessed = [label.replace(":x", ":y") for label in guessed]
    corpus = read(tree(heads, labels), format="conllu")
    try:
        check_trees(corpus, heads_of(corpus))
    except DataError:
        assume(False)
    measured = measure_trees(corpus, found, guessed)
    uas = sum(a == b for a, b in zip(heads, found, strict=True))
    las = sum(
        (a, c.split(":")[0]) == (b, d.split(":")[0])
        for a, b, c, d in zip(heads, found, labels, guessed, strict=True)
    )
    assert (measured.uas.right, measured.las.right) == (uas, las)
    assert measured.uas.wanted == len(tokens)
    strict = measure_trees(corpus, found, guessed, subtypes=True)
    assert strict.las.right == sum(
        (a, c) == (b, d) for a, b, c, d in zip(heads, found, labels, guessed, strict=True)
    )


# Words in another column, and what is told with its line


def test_words_in_another_column(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("NOUN\tdogs\nVERB\tbark\n\nNOUN\tcats\n", encoding="utf-8")
    for corpus in (read_conll(path, columns=["pos", "word"]), read_conll(path, words=2)):
        assert corpus.sentences() == [["dogs", "bark"], ["cats"]]
        assert corpus.column() == ["NOUN", "VERB", "NOUN"]
        out = io.StringIO()
        write_conll(corpus, out, {corpus.names[1]: ["A", "B", "C"]})
        assert out.getvalue() == "A\tdogs\nB\tbark\n\nC\tcats\n"
    path.write_text("A\tx\tdogs\nB\ty\tbark\n\nA\tx\tcats\n", encoding="utf-8")
    whole = read_conll(path, words=3)
    for corpus, tags in ((whole, ["A", "B", "A"]), (whole[[1, 0]], ["A", "A", "B"])):
        assert corpus.column(1) == tags  # columns are numbered as in the file
        assert corpus.column("3") == corpus.column(-1) == corpus.words
        assert [word for sentence in corpus.sentences() for word in sentence] == corpus.words
    path.write_text("NOUN\tdogs\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column 3 for the words"):
        read_conll(path, words=3)
    with pytest.raises(ValueError, match="words has no effect with columns"):
        read_conll(path, columns=["pos", "word"], words=2)


def test_ranges_that_end_before_they_begin(tmp_path):
    path = tmp_path / "t.conllu"
    rest = "\t_" * 8
    path.write_text(f"1\ta{rest}\n2-1\tab{rest}\n2\tb{rest}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.conllu:2: the range 2-1 ends before it begins"):
        read_conll(path)
    with pytest.raises(DataError, match="is conllu, whose words"):
        read_conll(path, words=2)


def test_two_roots_are_told_with_their_line():
    columns = {"word": [["a", "b"]], "head": [["0", "0"]], "deprel": [["root", "root"]]}
    with pytest.raises(DataError, match="token 2: a second root: token 2 has the head 0, as has"):
        check_trees(Corpus.of(columns), np.array([0, 0]), single_root=True)
