"""Processes with their own pipes, signals and environment, forked from a warm process.

Starting Python and importing what a program needs takes longer than most programs in the tests.
"""

import ctypes
import functools
import gc
import importlib
import importlib.machinery
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys

#: Modules that commands share, imported but not run, because threads do not survive a fork.
MODULES = ("numpy", "scipy.sparse", "pyarrow.csv", "pyarrow.json", "widemargin.models.linear")
#: On Linux, orphaned processes are adopted by the nearest ancestor that set this option.
ADOPT_CHILDREN = 36


class Forked(subprocess.Popen):
    """A forked process with the options of `subprocess.Popen`; `preexec_fn` starts a new one.

    Parameters
    ----------
    command : list of str
        The arguments of Python: `-m widemargin` and its arguments, or `-c` and a program.
    """

    def __init__(self, *command, **options):
        super().__init__([sys.executable, *map(str, command)], **options)

    def _execute_child(self, args, executable, before, *more):
        _, _, folder, environment, _, _, _, *pipes = more[:13]
        if not sys.platform.startswith("linux") or before is not None:
            super()._execute_child(args, executable, before, *more)
            return
        request = {
            "command": args[1:],
            "folder": os.path.abspath(folder or "."),
            "environment": dict(os.environ if environment is None else environment),
        }
        ends = (pipes[0], pipes[3], pipes[5])
        files = [own if given == -1 else given for own, given in enumerate(ends)]
        connection = server(args[1])
        socket.send_fds(connection, [json.dumps(request).encode()], files)
        self.pid = int(connection.recv(64))
        self._child_created = True
        self._close_pipe_fds(*pipes)


def run_forked(*command, **options):
    """Run a process to completion, like `subprocess.run` with output captured as text."""
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    text = options.pop("input", None)
    if text is not None:
        pipes["stdin"] = subprocess.PIPE
    with Forked(*command, text=True, **pipes, **options) as process:
        out, err = process.communicate(text)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@functools.cache
def server(kind):
    """The connection to the process that forks, which ends when this process does."""
    ctypes.CDLL(None).prctl(ADOPT_CHILDREN, 1, 0, 0, 0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno()), kind],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # so that Ctrl-C reaches only the tests
    )
    theirs.close()
    return ours


class Kept:
    """Modules that are already imported, but hidden until a program imports them itself."""

    def __init__(self, *packages):
        for package in packages:
            importlib.import_module(package)
        names = [name for name in sys.modules if name.split(".")[0] in packages]
        self.modules = {name: sys.modules.pop(name) for name in names}
        self.specs = {name: module.__spec__ for name, module in self.modules.items()}
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules:
            return None
        known = self.specs[name]
        found = importlib.machinery.ModuleSpec(name, self, origin=known.origin)
        found.submodule_search_locations = known.submodule_search_locations
        return found

    def create_module(self, spec):
        sys.meta_path.remove(self)
        sys.modules.update(self.modules)
        return self.modules[spec.name]

    def exec_module(self, module):
        module.__spec__ = self.specs[module.__name__]
        sys.modules["numba"].core.config.reload_config()  # the environment has changed


def serve(connection, kind):
    """Fork a process for every request; return the request in the child."""
    if kind == "-m":
        import widemargin.cli

        for module in pkgutil.iter_modules(widemargin.cli.__path__):
            importlib.import_module(f"widemargin.cli.{module.name}")
        for name in MODULES:
            importlib.import_module(name)
    else:
        import numba

        # The first function that numba compiles takes ten times as long as the next.
        numba.njit(lambda x: x)(0)
        for context in ("_toplevel_typing_context", "_toplevel_target_context"):
            # They are for this processor; a program may request another.
            vars(numba.core.registry.cpu_target).pop(context, None)
        Kept("numba", "llvmlite")
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


def run_here(command, folder, environment):
    """Run a command in this process as Python would in this folder and environment."""
    os.chdir(folder)
    for path in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        sys.path.remove(path)
    found = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = ["", *found]  # the first was the folder of the tests
    os.environ.clear()
    os.environ.update(environment)
    if command[0] == "-m":
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *command[2:]]
        exec(compile(command[1], "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    run_here(**serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]))
