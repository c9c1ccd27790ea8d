"""The registry of learners of sentences."""

import pytest

from widemargin.structured.perceptron import StructuredPerceptron
from widemargin.structured.registry import SENTENCE_LEARNERS, TASK_LEARNER


@pytest.mark.parametrize("learner", SENTENCE_LEARNERS.values(), ids=SENTENCE_LEARNERS)
def test_every_name_leads_to_what_it_names(learner):
    assert learner.load_estimator().__name__ == learner.name
    assert learner.load_model().learner == learner.name
    assert learner.load_measure().__name__ == learner.measure
    assert learner.called.split()[1] == learner.name.lower()


def test_tasks_are_not_among_them():
    assert StructuredPerceptron.__name__ == TASK_LEARNER
    assert TASK_LEARNER not in SENTENCE_LEARNERS
