"""The shell program as a process with pipes and signals, forked from one that has imported it.

To start Python and to import what a command needs takes longer than most commands that tests run.
"""

import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys

#: What the processes have in common; it is imported, and nothing is run: threads are not forked.
MODULES = ("numpy", "scipy.sparse", "pyarrow.csv", "pyarrow.json", "widemargin.models.linear")
#: Linux gives processes whose parent has ended to the nearest ancestor that has asked for it.
ADOPT_CHILDREN = 36


class Program(subprocess.Popen):
    """`python -m widemargin` with these words; options as of `subprocess.Popen`."""

    def __init__(self, *words, **options):
        command = [sys.executable, "-m", "widemargin", *map(str, words)]
        super().__init__(command, **options)

    def _execute_child(self, args, executable, before, *more):
        _, _, folder, environment, _, _, _, *pipes = more[:13]
        if not sys.platform.startswith("linux") or before is not None:
            super()._execute_child(args, executable, before, *more)
            return
        request = {"words": args[3:], "folder": os.path.abspath(folder or "."), "environment": {}}
        request["environment"] = dict(os.environ if environment is None else environment)
        ends = (pipes[0], pipes[3], pipes[5])
        files = [own if given == -1 else given for own, given in enumerate(ends)]
        socket.send_fds(server(), [json.dumps(request).encode()], files)
        self.pid = int(server().recv(64))
        self._child_created = True
        self._close_pipe_fds(*pipes)


@functools.cache
def server():
    """The connection to the process that forks; it ends when this process does."""
    ctypes.CDLL(None).prctl(ADOPT_CHILDREN, 1, 0, 0, 0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C is for the tests
    )
    theirs.close()
    return ours


def serve(connection):
    """Fork a process for every request. Returns in each of them, and at the end."""
    import widemargin.cli

    for module in pkgutil.iter_modules(widemargin.cli.__path__):
        importlib.import_module(f"widemargin.cli.{module.name}")
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        message, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            sys.exit()
        receiver, sender = os.pipe()
        if not (between := os.fork()):
            child = os.fork()
            if child:
                os.write(sender, str(child).encode())
                os._exit(0)  # so that the child is adopted by the tests
            connection.close()
            for own, given in enumerate(files):
                os.dup2(given, own)
            os.closerange(3, 1 << 10)
            return json.loads(message)
        os.waitpid(between, 0)
        connection.send(os.read(receiver, 64))
        for file in (receiver, sender, *files):
            os.close(file)


if __name__ == "__main__":
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = ""  # where `python -m` looks first, instead of the folder of the tests
    sys.argv = ["widemargin", *request["words"]]
    runpy.run_module("widemargin", run_name="__main__", alter_sys=True)
