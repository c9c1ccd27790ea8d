"""Files with correct digests in which one array or value is replaced: refused, or as good as any.

`python -m fuzz.altered` tries all of these alterations; here a sample of them is tried.
"""

import pytest
from fuzz.altered import alterations, altered_files
from fuzz.forged import save_models

#: One in so many alterations is tried: of every file, and of those that are large or slow.
QUICK, SLOW_QUICK = 199, {"annotator": 2503, "parser": 997}
THOROUGH, SLOW_THOROUGH = 3, {"annotator": 41, "parser": 29, "texts": 7, "words": 7}
MODELS = (
    *("annotator", "dicts", "feats", "features", "gram", "kernel", "lemmas", "logistic", "named"),
    *("network", "parser", "poly", "several", "small", "strings", "svmlight", "table", "tagger"),
    *("task", "texts", "vectors", "voted", "votes", "vw", "words"),
)
NAMES = (*MODELS, *(f"cache{k}" for k in range(4)), *(f"checkpoint{k}" for k in range(5)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files to alter: their contents, and a function that does with a file what users do."""
    folder = tmp_path_factory.mktemp("altered")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUZZ_MODELS", str(folder / "models"))
        save_models(folder / "models")
        yield {name: (whole, use) for name, whole, use in altered_files(folder)}


def use_altered(files, name, every):
    """Use altered files; an error other than those that are allowed fails the test."""
    whole, use = files[name]
    assert use(whole) == "fine"
    fared = set()
    for told, parts in alterations(*whole, every):
        try:
            fared.add(use(parts))
        except Exception as error:
            error.add_note(f"{name}: {told}")
            raise
    return fared


def test_all_files_are_altered(files):
    assert set(files) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_some_altered_files_are_refused_or_can_be_used(name, files):
    use_altered(files, name, SLOW_QUICK.get(name, QUICK))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_altered_files_are_refused_or_can_be_used(name, files):
    assert "refused" in use_altered(files, name, SLOW_THOROUGH.get(name, THOROUGH))
