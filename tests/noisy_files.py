"""Files of random examples that no learner gets right, so that mistakes never end."""

import pathlib
import random

import numpy as np


def noisy_treebank(sentences, seed=0):
    """CoNLL-U whose tags, heads and labels are random."""
    chance, lines = random.Random(seed), []
    for _ in range(sentences):
        length = chance.randint(2, 9)
        for i in range(1, length + 1):
            word, tags = f"w{chance.randrange(30)}", [chance.choice("ABC"), chance.choice("XY")]
            cells = [i, word, f"{word}{i % 3}", *tags]
            cells += ["_", i - 1, "root" if i == 1 else chance.choice("pq"), "_", "_"]
            lines.append("\t".join(map(str, cells)))
        lines.append("")
    return "\n".join(lines) + "\n"


def noisy_vectors(rows, seed=0):
    """Lines of svmlight whose labels are random."""
    rng = np.random.default_rng(seed)
    return "".join(
        f"{rng.choice([-1, 1])} " + " ".join(f"{j}:{x:.3f}" for j, x in enumerate(row, 1)) + "\n"
        for row in rng.normal(size=(rows, 5))
    )


def write_noisy_files(folder, rows, sentences):
    """Write files of both kinds, f.svm and f.conllu."""
    (pathlib.Path(folder) / "f.svm").write_text(noisy_vectors(rows))
    (pathlib.Path(folder) / "f.conllu").write_text(noisy_treebank(sentences))
