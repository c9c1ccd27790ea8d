"""Who may ask: hosts, origins and tokens."""

import os

import pytest

from widemargin.errors import DataError
from widemargin.web.security import Hosts, Tokens, bearer, is_loopback, new_token, read_tokens

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("name", ["127.0.0.1:80", "localhost:80", "[::1]:80", "LOCALHOST:80"])
def test_a_local_server_owns_the_names_of_this_machine(name):
    assert Hosts("127.0.0.1", 80).owns(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "evil.example",
        "evil.example:8000",
        "127.0.0.1",
        "127.0.0.1:8001",
        "localhost.evil.example:8000",
    ],
)
def test_other_hosts_are_refused(name):
    assert not Hosts("127.0.0.1", 8000).owns(name)


def test_names_behind_a_proxy_are_accepted_when_told():
    hosts = Hosts("127.0.0.1", 8000, ["models.example", "other.example:99"])
    assert hosts.owns("models.example")
    assert hosts.owns("models.example:443")
    assert hosts.owns("other.example:99")
    assert not hosts.owns("other.example:98")
    assert not hosts.owns("sub.models.example")


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("", True),
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("null", False),
        ("http://evil.example", False),
        ("http://127.0.0.1:8001", False),
        ("file://", False),
        ("chrome-extension://127.0.0.1:8000", False),
    ],
)
def test_pages_of_other_origins_are_refused(origin, own):
    assert Hosts("127.0.0.1", 8000).wrote(origin) is own


def test_an_address_is_no_host():
    with pytest.raises(DataError, match="is not a host"):
        Hosts("127.0.0.1", 80, ["http://models.example/"])


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("name", False)],
)
def test_loopback_addresses(host, local):
    assert is_loopback(host) is local


def test_tokens_are_compared_whole():
    tokens = Tokens([TOKEN, TOKEN[::-1]])
    assert tokens
    assert tokens.accept(TOKEN)
    assert tokens.accept(TOKEN[::-1].encode())
    for wrong in ("", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "ä" * 16):
        assert not tokens.accept(wrong)
    assert not Tokens([])
    assert not Tokens([]).accept("")


def test_every_token_is_compared_whichever_is_right(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "widemargin.web.security.hmac.compare_digest", lambda a, b: calls.append(1) or a == b
    )
    Tokens([TOKEN, TOKEN[::-1], "f" * 16]).accept(TOKEN)
    assert len(calls) == 3


def test_short_tokens_are_refused():
    with pytest.raises(DataError, match="at least 16 characters"):
        Tokens(["secret"])


def test_a_file_of_tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"# for the shop\n{TOKEN}\n\n")
    os.chmod(path, 0o600)
    assert read_tokens(str(path)).accept(TOKEN)
    os.chmod(path, 0o644)
    with pytest.raises(DataError, match="others can read"):
        read_tokens(str(path))
    os.chmod(path, 0o600)
    path.write_text("# none\n")
    with pytest.raises(DataError, match="has no token"):
        read_tokens(str(path))


def test_new_tokens_differ_and_are_accepted():
    assert new_token() != new_token()
    assert Tokens([new_token()])


def test_authorization_headers():
    assert bearer(b"Bearer  abc ") == b"abc"
    assert bearer("bearer abc") == b"abc"
    assert bearer(b"Basic abc") == b""
    assert bearer(b"") == b""
