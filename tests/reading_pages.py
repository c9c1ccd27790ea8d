"""Checks of HTML pages: well-formed, small, and without scripts or requests."""

import html.parser

EVIL = '<script>document.title="broken in"</script>'


class Page(html.parser.HTMLParser):
    """The elements of a page, and whether they are properly closed."""

    EMPTY = frozenset({"meta", "link", "img", "br", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.words, self.targets = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.ids += [value for key, value in attributes if key == "id"]
        self.targets += [value for key, value in attributes if key in ("src", "href")]
        assert not any(key.startswith("on") for key, _ in attributes)
        if name not in self.EMPTY:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.tags.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.words.append(data)


def read(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) <= 500_000
    found = Page(text)
    assert "script" not in found.tags
    assert all(target.startswith("data:") for target in found.targets)
    assert "url(" not in text
    assert "@import" not in text
    return text, found
