"""The page for trying models by hand; it loads nothing from other hosts."""

from __future__ import annotations

from importlib.resources import files

from widemargin.web.serving.messages import Answer

#: Scripts and styles from this server only, no frames, no forms, nothing inline: even if a model's
#: answer were taken for HTML by mistake, nothing in it would run.
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    b" base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


def _answer(name: str, content_type: bytes) -> Answer:
    body = files("widemargin.web.serving").joinpath("tryout", name).read_bytes()
    return Answer(200, body, content_type, _HEADERS)


#: The files of the page, by path.
PAGE = {
    b"/": _answer("tryout.html", b"text/html; charset=utf-8"),
    b"/tryout.js": _answer("tryout.js", b"text/javascript; charset=utf-8"),
    b"/tryout.css": _answer("tryout.css", b"text/css; charset=utf-8"),
}
