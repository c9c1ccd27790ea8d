"""A treebank with every column: a few sentences, each repeated several times."""

import io

from widemargin.data.readers.conll import read_conll

#: number, form, lemma, UPOS, XPOS, FEATS, head, relation; the last sentence has a multiword token.
_SENTENCES = (
    "1 The the DET DT _ 2 det _ _|2 dogs dog NOUN NNS Number=Plur 3 nsubj _ _"
    "|3 bark bark VERB VBP Mood=Ind 0 root _ SpaceAfter=No|4 . . PUNCT . _ 3 punct _ _",
    "1 A a DET DT _ 2 det _ _|2 dog dog NOUN NN Number=Sing 3 nsubj _ _"
    "|3 barks bark VERB VBZ Mood=Ind 0 root _ SpaceAfter=No|4 . . PUNCT . _ 3 punct _ _",
    "1 Cats cat NOUN NNS Number=Plur 4 nsubj _ _|2-3 don't _ _ _ _ _ _ _ _"
    "|2 do do AUX VBP Mood=Ind 4 aux _ _|3 n't not PART RB _ 4 advmod _ _"
    "|4 bark bark VERB VB _ 0 root _ SpaceAfter=No|5 ! ! PUNCT . _ 4 punct _ _",
)


def annotated_text(times=4):
    """The sentences as CoNLL-U."""
    return "".join(
        line.replace(" ", "\t").replace("|", "\n") + "\n\n" for line in _SENTENCES * times
    )


def annotated_corpus(times=4):
    """The sentences as a corpus."""
    return read_conll(io.StringIO(annotated_text(times)), format="conllu")
