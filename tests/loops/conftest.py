"""The marker of the tests that compile loops without the LLVM that is written by hand."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "plain_loops: compiles loops again, with WIDEMARGIN_PLAIN_LOOPS=1"
    )
