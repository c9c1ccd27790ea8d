"""The SVM that ends sentences: its problem, its form as a tagger, and what it learns."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import LinearSVC

from widemargin.data.encode.templates import Templates
from widemargin.data.readers.cells import Columns
from widemargin.data.readers.corpus import Corpus
from widemargin.structured.tagger.model import TaggerModel
from widemargin.structured.tagger.training import encode_corpus
from widemargin.structured.tokenizer import boundary_svm
from widemargin.structured.tokenizer.boundaries import (
    BOUNDARIES,
    ENDS,
    GOES_ON,
    LAST,
    training_tokens,
)
from widemargin.structured.tokenizer.boundary_svm import learn_boundaries
from widemargin.structured.tokenizer.treebank import Paragraph, Token
from widemargin.training.run import Moment

NAMES = ("Ada", "Bob", "Mr. Bell", "Eve", "Mrs. Hill", "Tom")
VERBS = ("sleeps", "barks", "runs fast", "sings", "eats . 5 plums")


def paragraph_of(sentences: Iterable[str]) -> Paragraph:
    """A paragraph; its tokens are separated by spaces."""
    text, found = "", []
    for sentence in sentences:
        tokens = []
        for word in sentence.split(" "):
            start = len(text) + bool(text)
            text += " " * bool(text) + word
            tokens.append(Token(start, len(text), (word,)))
        found.append(tokens)
    return Paragraph(text, found)


def paragraphs(count: int = 12, seed: int = 0) -> list[Paragraph]:
    """Paragraphs of five sentences, whose full stops do not always end a sentence."""
    rng = np.random.default_rng(seed)
    return [
        paragraph_of(
            f"{rng.choice(NAMES)} {rng.choice(VERBS)} {rng.choice(('.', '!'))}" for _ in "12345"
        )
        for _ in range(count)
    ]


def learn(given: list[Paragraph], **more) -> TaggerModel:
    """Learn where sentences end."""
    model = learn_boundaries(given, np.random.default_rng(0), **more)
    assert model is not None
    return model


def ends(model: TaggerModel, text: str) -> list[int]:
    """The tokens that end sentences, where tokens are separated by spaces."""
    words = text.split(" ")
    columns = Columns({"word": words, "gap": ["space"] * len(words)})
    found = model.flat_tags(Corpus(columns, np.array([0, len(words)])))
    return [place for place, tag in enumerate(found) if tag == ENDS]


def test_it_ends_sentences_where_the_treebank_does() -> None:
    model = learn(paragraphs())
    assert model.tags == [ENDS, GOES_ON]
    assert ends(model, "Eve eats . 5 plums . Mr. Bell sings ! Tom runs fast .") == [5, 9, 13]


def test_its_weights_are_those_of_an_svm() -> None:
    """The objective is that of scikit-learn's solver (LIBLINEAR) on the same features."""
    given = paragraphs()
    model = learn(given)
    corpus = training_tokens(given)
    assert corpus is not None
    y = np.where(np.array(corpus.column("label")) == ENDS, 1.0, -1.0)
    encoded = encode_corpus(corpus, Templates(BOUNDARIES), 64 - int(model.index.shift))
    ids = encoded.ids.reshape(len(y), -1)
    values = np.ones(encoded.size)
    values[ids[:, BOUNDARIES.index(LAST)]] = boundary_svm._MORE
    places = np.repeat(np.arange(len(y)), ids.shape[1])
    X = scipy.sparse.csr_matrix(
        (values[ids.ravel()], (places, ids.ravel().astype(np.int64))), (len(y), encoded.size)
    )

    def objective(w: np.ndarray) -> float:
        short = np.maximum(0.0, 1.0 - y * (X @ w))
        return 0.5 * float(w @ w) + boundary_svm._C * float(short @ short)

    found = model.W[: encoded.size, 0].astype(np.float64) / values
    peer = LinearSVC(C=boundary_svm._C, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y)
    assert objective(found) == pytest.approx(objective(peer.coef_[0]), rel=2e-3)
    # The tagger answers like the SVM: one label gets its scores, and no transition has any.
    assert np.array_equal(model.codes(corpus) == 0, X @ found > 0.0)
    assert not model.W[:, 1:].any()
    assert not model.W[encoded.size :].any()


def test_order_and_seeds_hardly_matter() -> None:
    given = paragraphs()
    model = learn(given)
    same = learn(given)
    assert np.array_equal(same.W, model.W)
    other = learn_boundaries(given[::-1], np.random.default_rng(7))
    assert other is not None
    assert np.abs(other.W - model.W).max() < 0.05 * np.abs(model.W).max()


def test_exceptions_are_not_learned_by_heart() -> None:
    """Where the same tokens end a sentence or do not, the more frequent answer is learned."""
    usual = paragraph_of(["Ada sings !", "Bob sings ."] * 20)
    odd = paragraph_of(["Ada sings ! Bob sings .", "Tom barks ."])
    assert ends(learn([usual, odd]), "Ada sings ! Bob sings . Tom barks .") == [2, 5, 8]


def test_a_mark_that_is_part_of_an_unknown_word_ends_a_sentence() -> None:
    """Tokens of text without spaces may be too long; their last character still counts."""
    chinese = [paragraph_of(["他 睡觉 。", "我 在 唱歌 。", "你 唱歌 。"] * 4)] * 3
    assert ends(learn(chinese), "我 睡觉主。 他 唱歌 。") == [1, 4]


def test_paragraphs_of_one_sentence_teach_nothing_and_single_tokens_are_allowed() -> None:
    assert learn_boundaries([paragraph_of(["Ada sings ."])] * 3, np.random.default_rng(0)) is None
    assert ends(learn([paragraph_of(["Yes", "No", "Yes"])] * 3), "Yes No") == [0, 1]


def test_it_stops_when_asked_and_in_time() -> None:
    seen: list[Moment] = []

    def watch(moment: Moment) -> bool:
        seen.append(moment)
        return True

    assert learn(paragraphs(), watch=watch).history.stopped in ("interrupted", "gap reached")
    assert seen
    model = learn(paragraphs(), max_seconds=1e-9)
    assert np.isfinite(model.W).all()
