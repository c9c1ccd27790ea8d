"""Models of every kind, and a server of them."""

import pytest
from serving_models import save_all


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("models")
    save_all(found)
    return found


@pytest.fixture(scope="session")
def models(folder):
    pytest.importorskip("httptools")
    from widemargin.web.serving.served import load_served

    return [load_served(str(path), path.stem) for path in sorted(folder.glob("*.wm"))]


@pytest.fixture
def serve(models):
    """Starts servers without sockets, and closes them."""
    from http_client import Server

    started = []

    def start(*names, **options):
        chosen = [served for served in models if not names or served.name in names]
        started.append(Server(chosen, **options))
        return started[-1]

    yield start
    for server in started:
        server.close()
