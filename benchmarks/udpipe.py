"""UDPipe 1 as a peer: trained on the same treebanks, and run on the same sentences."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.harness import LeftOut, Side
from widemargin.structured import Corpus, write_conll
from widemargin.structured.tokenizer.treebank import Paragraph, Token

PACKAGE = "ufal.udpipe"
#: The published models learn tags and lemmas separately; everything else is as by default in
#: UDPipe's manual, with early stopping on the dev part.
TAGGER = "models=2"
#: Trained models are cached here, a file for each stage, because training takes most of an hour.
CACHE = (
    pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    / "widemargin-benchmarks"
)


#: If this environment variable is set, stages that are not cached are skipped instead of trained.
KEPT_ONLY = "WIDEMARGIN_KEPT_PEERS"


class Options(NamedTuple):
    """How UDPipe's stages are trained: "" for the defaults, None to leave a stage out."""

    tokenizer: str | None = ""
    tagger: str | None = TAGGER
    parser: str | None = ""

    def up_to(self, stage: str) -> Options:
        """The options that a stage's model depends on: a parser learns from its tagger's tags."""
        if stage == "tokenizer":
            return Options(self.tokenizer, None, None)
        return Options(None, self.tagger, self.parser if stage == "parser" else None)


class UDPipe:
    """UDPipe 1, trained on a treebank in `stages`, with their processor time and model size."""

    def __init__(
        self, train: Corpus, dev: Corpus, options: Options, cache: pathlib.Path = CACHE
    ) -> None:
        from ufal import udpipe

        self.udpipe, self.error = udpipe, udpipe.ProcessingError()
        self.seconds, self.stages = 0.0, []
        texts = _written(train), _written(dev)
        kept: dict[str, pathlib.Path] = {}
        for stage, option in options._asdict().items():
            if option is None or (stage == "parser" and "tagger" not in kept):
                continue
            path = self._trained(*texts, stage, options.up_to(stage), cache, kept)
            if path is not None:
                kept[stage] = path
                self.seconds += json.loads(path.with_suffix(".json").read_text())["seconds"]
        if not kept:
            raise LeftOut("no stage of UDPipe is cached")
        self.stages = list(kept)
        kept["tagger"] = kept.get("parser", kept.get("tagger", kept["tokenizer"]))  # in one file
        kept.pop("parser", None)
        self.size = sum(path.stat().st_size for path in set(kept.values()))
        models = {stage: udpipe.Model.load(str(path)) for stage, path in kept.items()}
        self.tokenizer, self.tagger = models.get("tokenizer"), models["tagger"]

    def _trained(
        self,
        train: str,
        dev: str,
        stage: str,
        options: Options,
        cache: pathlib.Path,
        kept: dict[str, pathlib.Path],
    ) -> pathlib.Path | None:
        """The file of a stage, which is trained now if it does not exist."""
        path = model_file(train, dev, options, cache)
        if path.exists():
            return path
        if os.environ.get(KEPT_ONLY):
            return None
        off = self.udpipe.Trainer.NONE
        given = [off if part is None else part for part in options]
        if stage == "parser":
            given[1] = f"from_model=file:{kept['tagger']}"
        sentences = self._sentences(train), self._sentences(dev)
        began = time.process_time()
        model = self.udpipe.Trainer.train("morphodita_parsito", *sentences, *given, self.error)
        seconds = time.process_time() - began
        if self.error.occurred():
            raise LeftOut(f"UDPipe: {self.error.message}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps({"seconds": seconds}))
        path.write_bytes(model)
        return path

    def _sentences(self, text: str) -> Any:
        reader = self.udpipe.InputFormat.newConlluInputFormat()
        reader.setText(text)
        found = self.udpipe.Sentences()
        while True:
            sentence = self.udpipe.Sentence()
            if not reader.nextSentence(sentence, self.error):
                return found
            found.append(sentence)

    def cut(self, text: str) -> list[list[Any]]:
        """The sentences of each paragraph of a text, in UDPipe's form."""
        return [list(self._cut_paragraph(part)) for part in text.split("\n\n")]

    def _cut_paragraph(self, text: str) -> Iterator[Any]:
        tokenizer = self.tokenizer.newTokenizer("ranges")
        tokenizer.setText(text)
        while True:
            sentence = self.udpipe.Sentence()
            if not tokenizer.nextSentence(sentence, self.error):
                return
            yield sentence

    def paragraphs(self, text: str) -> list[Paragraph]:
        """The paragraphs of a text, in our form."""
        found, begin = [], 0
        for part, sentences in zip(text.split("\n\n"), self.cut(text), strict=True):
            tokens = [list(_tokens(sentence, begin)) for sentence in sentences]
            found.append(Paragraph(text, tokens))
            begin += len(part) + 2
        return found

    def conllu(self, text: str) -> str:
        """A fully annotated text as CoNLL-U; token offsets count from their paragraph."""
        writer = self.udpipe.OutputFormat.newConlluOutputFormat()
        written = []
        for part in text.split("\n\n"):
            for sentence in self._cut_paragraph(part):
                if "tagger" in self.stages:
                    self.tagger.tag(sentence, "", self.error)
                if "parser" in self.stages:
                    self.tagger.parse(sentence, "", self.error)
                written.append(writer.writeSentence(sentence))
        return "".join(written)


def model_file(train: str, dev: str, options: Options, cache: pathlib.Path = CACHE) -> pathlib.Path:
    """The cache file of a stage trained on these treebanks, given as CoNLL-U."""
    key = hashlib.sha256("\n".join([train, dev, repr(options)]).encode()).hexdigest()[:16]
    return cache / f"udpipe-{key}.model"


def udpipe_side(what: str, how: str, work: Callable[[Any], Any], **more: Any) -> Side:
    """UDPipe as a side of a comparison, named after its task."""
    return Side(f"UDPipe, {what}", how, work=work, package=PACKAGE, **more)


def _written(corpus: Corpus) -> str:
    """A corpus as CoNLL-U."""
    written = io.StringIO()
    write_conll(corpus, written)
    return written.getvalue()


def _tokens(sentence: Any, begin: int) -> Iterator[Token]:
    """The tokens of a UDPipe sentence."""
    words: Sequence[Any] = list(sentence.words)[1:]
    several = {token.idFirst: token for token in sentence.multiwordTokens}
    at = 0
    while at < len(words):
        token = several.get(words[at].id, words[at])
        size = token.idLast - token.idFirst + 1 if words[at].id in several else 1
        forms = tuple(word.form for word in words[at : at + size])
        start, end = token.getTokenRangeStart(), token.getTokenRangeEnd()
        yield Token(begin + start, begin + end, forms)
        at += size
