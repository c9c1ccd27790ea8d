"""Small models of every kind, as files."""

import io

import numpy as np
from shell import run_shell
from small_language import made_corpus
from tagged_sentences import SENTENCES, TAGS

import widemargin
from widemargin.structured import read_conll
from widemargin.structured.parser.parser import Parser

TEXTS = ["cheap pills now", "win money <b>now</b>", "see you at lunch", "how is the family"]
KINDS = ["spam", "spam", "ham", "ham"]
#: An empty column of CoNLL-U.
EMPTY = "\t_"
#: Sentences with a full stop each.
TREEBANK = "".join(
    f"1\t{first}{8 * EMPTY}\n2\tbarks{7 * EMPTY}\tSpaceAfter=No\n3\t.{8 * EMPTY}\n\n"
    for first in ("It", "She", "It", "She")
)
PETS = {
    "weight": [4.0, 30.0, 3.5, None, 25.0, 5.0],
    "indoor": [True, False, True, True, False, True],
    "food": ["fish", "meat", "fish", "fish", "bone", "milk"],
    "kind": ["cat", "dog", "cat", "cat", "dog", "cat"],
}


def clouds(classes=3, n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 2.0 * np.eye(classes, d)[y]
    return X, y


def save_all(folder):
    """Write the models; returns their names."""
    X, y = clouds()
    two = y < 2
    widemargin.Perceptron(random_state=0).fit(X, y).save(folder / "vectors.wm")
    widemargin.OnlineLogistic(random_state=0).fit(X[two], y[two]).save(folder / "logistic.wm")
    widemargin.KernelSVM(random_state=0).fit(X, y).save(folder / "kernel.wm")
    widemargin.KernelPerceptron(kernel="poly", random_state=0).fit(X[two], y[two]).save(
        folder / "poly.wm"
    )
    several = [{"a", "b"} if x[0] > 1 else {"b"} if x[1] > 1 else {"c"} for x in X]
    widemargin.Perceptron(random_state=0).fit(X, several).save(folder / "several.wm")
    widemargin.TextClassifier(random_state=0).fit(TEXTS * 3, KINDS * 3).save(folder / "texts.wm")
    widemargin.TableClassifier(random_state=0).fit(PETS, "kind").save(folder / "table.wm")
    named = widemargin.Perceptron()
    for size, colour, label in ((1, "red", "apple"), (2, "yellow", "melon"), (1.5, "red", "apple")):
        named.learn_one({"size": size, "colour": colour}, label)
    named.save(folder / "named.wm")
    widemargin.KernelPerceptron(kernel="ngrams", random_state=0).fit(TEXTS, KINDS).save(
        folder / "strings.wm"
    )
    widemargin.Tagger(epochs=3, random_state=0).fit(SENTENCES, TAGS).save(folder / "tagger.wm")
    dicts = [[{"lower": word, "length": len(word)} for word in words] for words in SENTENCES]
    widemargin.Tagger(epochs=3, random_state=0).fit(dicts, TAGS).save(folder / "dicts.wm")
    sizes = [[{"word": "dog", "size": 1.5}, {"word": "barks", "size": -2.0}]]
    features = widemargin.Tagger(epochs=3, random_state=0).fit(sizes, [["N", "V"]])
    features.save(folder / "features.wm")
    treebank = read_conll(io.StringIO(TREEBANK), format="conllu")
    widemargin.Tokenizer(epochs=3, random_state=0).fit(treebank).save(folder / "words.wm")
    Parser(epochs=2, random_state=0).fit(made_corpus(40)).save(folder / "parser.wm")
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{value:.4g}" for j, value in enumerate(x))
        for x, label in zip(X, y, strict=True)
    ]
    (folder / "train.svm").write_text("\n".join(lines) + "\n")
    run_shell(folder, "train", "train.svm", "--model", "svmlight.wm", "--quiet")
    vw = [
        f"{1 if label == 'spam' else -1} | {text.replace(':', '')}"
        for text, label in zip(TEXTS, KINDS, strict=True)
    ]
    (folder / "train.vw").write_text("\n".join(vw * 3) + "\n")
    run_shell(folder, "train", "train.vw", "--model", "vw.wm", "--quiet")
    return sorted(path.stem for path in folder.glob("*.wm"))
