"""What structured learners cannot use is refused in words: features, tasks, committees' epochs."""

import pytest
from tagged_sentences import made_sentences

from widemargin.errors import DataError, ModelFileError
from widemargin.structured import StructuredPerceptron, Tagger, Task
from widemargin.structured.tasks.tagging import Tagging


class Choice(Task):
    """Choose a or b; the features are made by a function."""

    def __init__(self, made):
        self.made = made

    def features(self, x, y):
        return self.made(x, y)

    def candidates(self, x):
        return ["a", "b"]

    def params(self):
        return {}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda x, y: {(x, y): 1.0}, r"\('x', '[ab]'\) has type tuple; .* must be strings"),
        (lambda x, y: {7 if y == "a" else 8: 1.0}, "has type int"),
        (lambda x, y: {y: float("nan")}, "feature '[ab]' is not a finite number"),
        (lambda x, y: {y: float("inf")}, "not a finite number"),
    ],
)
def test_features_that_cannot_be_learned(made, message):
    with pytest.raises(DataError, match=f"example 0: .*{message}"):
        StructuredPerceptron(Choice(made), epochs=2).fit(["x"], ["b"])


def test_a_model_of_another_task_is_not_loaded(tmp_path):
    path = tmp_path / "m.wm"
    StructuredPerceptron(Choice(lambda x, y: [x + y]), epochs=2).fit(["x"], ["b"]).save(path)
    with pytest.raises(ModelFileError, match=r"trained for the task Choice, but .* Tagging"):
        StructuredPerceptron.load(path, Tagging(["a"]))
    again = StructuredPerceptron.load(path, Choice(lambda x, y: [x + y]))
    assert again.predict(["x"]) == ["b"]


def test_the_epochs_of_a_committee_are_those_of_a_member():
    sentences, tags = made_sentences(3)
    alone = Tagger(bits=10, epochs=3, random_state=0).fit(sentences, tags)
    several = Tagger(bits=10, epochs=3, committee=4, random_state=0).fit(sentences, tags)
    assert alone.certificate_.epochs == several.certificate_.epochs == 3
    assert [row.epoch for row in several.history_] == [1, 2, 3] * 4
