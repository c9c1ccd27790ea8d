"""Shorter ways through numba's compiler, taken while it compiles a loop (`shortened`).

Numba answers the same questions again and again, and prepares answers that nobody asks for. So:

- the types of an operation are found once for each combination of types of its operands;
- the size of an LLVM type is found once;
- where variables are alive is computed when it is asked for, not after every pass;
- passes and calls of LLVM are not announced, if nobody listens;
- functions that numba implements in Python are not wrapped for C;
- `scipy.linalg` is imported when a loop calls BLAS, not before.

The code that is compiled stays the same. This relies on private names of numba and llvmlite, and
does nothing if one is missing (`is_known`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from llvmlite import binding
from llvmlite.ir import types as llvm
from numba.core import (
    compiler,
    compiler_machinery,
    event,
    ir,
    postproc,
    transforms,
    types,
    utils,
)
from numba.core.compiler_machinery import PassManager
from numba.core.types.functions import BaseFunction

#: Types that fully determine what an operator does with their values.
_PLAIN = (types.Number, types.Boolean, types.Array)
#: Modules of operators and functions that depend only on the types of their arguments.
_OPERATORS = ("_operator", "builtins")
#: A module that numba imports only to see whether it exists.
_BLAS = "scipy.linalg.cython_blas"

#: Types of parts of statements that hold no variables.
_HOLDS_NONE = {ir.Loc, str, int, bool, float, type(None)}

#: What was found before.
_calls: dict[Any, tuple[Any, Any]] = {}
_sizes: dict[str, int] = {}
_orders: dict[Any, list[Any]] = {}


def is_known() -> bool:
    """Whether numba and llvmlite have the private names used here."""
    wanted = (
        (BaseFunction, "get_call_type"),
        (compiler_machinery, "_pass_registry"),
        (PassManager, "_runPass"),
        (event, "_registered"),
        (event, "TimingListener"),
        (compiler, "compile_extra"),
        (ir.Inst, "_rec_list_vars"),
        (postproc, "VariableLifetime"),
        (postproc.PostProcessor, "run"),
        (transforms, "canonicalize_cfg"),
        (utils, "order_by_target_specificity"),
        (llvm.Type, "get_abi_size"),
    )
    return all(hasattr(place, name) for place, name in wanted)


@contextlib.contextmanager
def shortened() -> Iterator[None]:
    """Let numba take the shorter ways; one thread compiles at a time."""
    if not is_known() or BaseFunction.get_call_type is _get_call_type:
        yield
        return
    ways = [*_WAYS, *_unheard()]
    before = [(place, name, getattr(place, name)) for place, name, _ in ways]
    try:
        for place, name, way in ways:
            setattr(place, name, way)
        yield
    finally:
        for place, name, way in before:
            setattr(place, name, way)


def register() -> None:
    """Import what numba compiles with, except `scipy.linalg`, which it imports if it needs it."""
    if _BLAS in sys.modules or importlib.util.find_spec("scipy") is None:
        return
    sys.modules[_BLAS] = ModuleType(_BLAS)
    try:
        from numba.np import arraymath  # noqa: F401
    finally:
        del sys.modules[_BLAS]


_long_get_call_type = BaseFunction.get_call_type
_long_get_abi_size = llvm.Type.get_abi_size
_long_run = postproc.PostProcessor.run
_long_order = utils.order_by_target_specificity
_long_list_vars = ir.Inst._rec_list_vars
_long_compile_extra = compiler.compile_extra


def _get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call of a function of Python, from memory if only its types matter."""
    module = getattr(self.typing_key, "__module__", None)
    if kws or module not in _OPERATORS or not all(isinstance(one, _PLAIN) for one in args):
        return _long_get_call_type(self, context, args, kws)
    key = (id(self), context, tuple(args))
    if key in _calls:
        return _calls[key][0]
    signature = _long_get_call_type(self, context, args, kws)
    # Numba compiles an `overload` with the options of the caller, so it has to be asked again.
    if signature is not None and self.get_impl_key(signature) is self.typing_key:
        _calls[key] = (signature, self)  # the function is kept, so that its id stays its own
    return signature


def _get_abi_size(self: Any, target_data: Any, context: Any = None) -> int:
    """The bytes of an LLVM type."""
    if context is not None:
        return int(_long_get_abi_size(self, target_data, context))
    name = str(self)
    if name not in _sizes:
        _sizes[name] = _long_get_abi_size(self, target_data)
    return _sizes[name]


def _order(target: Any, templates: Any, fnkey: Any = "") -> Any:
    """The signatures that a target may use, the most specific first."""
    if not isinstance(templates, tuple):
        return _long_order(target, templates, fnkey)
    key = (target, templates)
    if key not in _orders:
        _orders[key] = _long_order(target, templates, fnkey)
    return _orders[key]


def _run(self: Any, emit_dels: bool = False, *others: Any, **named: Any) -> None:
    """Tidy up after a pass."""
    function = self.func_ir
    if emit_dels or function.is_generator:
        _long_run(self, emit_dels, *others, **named)
        return
    function.blocks = transforms.canonicalize_cfg(function.blocks)
    function.variable_lifetime = postproc.VariableLifetime(function.blocks)
    function.generator_info = None


def _list_vars(self: Any, value: Any) -> list[Any]:
    """The variables in a part of a statement: most parts are variables, or hold none."""
    kind = type(value)
    if kind is ir.Var:
        return [value]
    if kind in _HOLDS_NONE:
        return []
    if kind is dict:
        value = value.values()
    elif kind is not tuple and kind is not list:
        return _long_list_vars(self, value)
    found = []
    for one in value:
        kind = type(one)
        if kind is ir.Var:
            found.append(one)
        elif kind not in _HOLDS_NONE:
            found.extend(_list_vars(self, one))
    return found


def _compile_extra(*arguments: Any, **named: Any) -> Any:
    """Compile a function that a loop calls; C calls it only if Python may call it, too."""
    flags = named.get("flags")
    if flags is not None and flags.no_cpython_wrapper and not flags.no_cfunc_wrapper:
        named["flags"] = flags.copy()
        named["flags"].no_cfunc_wrapper = True
    return _long_compile_extra(*arguments, **named)


def _run_pass(self: Any, _index: int, one: Any, state: Any) -> None:
    """Run one pass."""
    one.analysis = self._analysis
    changed = one.run_initialization(state)
    changed |= one.run_pass(state)
    changed |= one.run_finalizer(state)
    if changed and compiler_machinery._pass_registry.get(type(one)).mutates_CFG:
        postproc.PostProcessor(state.func_ir).run()


_WAYS: list[tuple[Any, str, Callable[..., Any]]] = [
    (BaseFunction, "get_call_type", _get_call_type),
    (llvm.Type, "get_abi_size", _get_abi_size),
    (utils, "order_by_target_specificity", _order),
    (postproc.PostProcessor, "run", _run),
    (ir.Inst, "_rec_list_vars", _list_vars),
    (compiler, "compile_extra", _compile_extra),
]


def _unheard() -> list[tuple[Any, str, Any]]:
    """Announcements that nobody listens to, except numba's own stop-watches."""
    found: list[tuple[Any, str, Any]] = []
    if not event._registered.get("numba:run_pass"):
        found.append((PassManager, "_runPass", _run_pass))
    listeners = event._registered.get("numba:llvm_lock", ())
    lock = getattr(getattr(binding.ffi, "lib", None), "_lock", None)
    if hasattr(lock, "_cblist") and all(type(one) is event.TimingListener for one in listeners):
        found.append((lock, "_cblist", []))
    return found
