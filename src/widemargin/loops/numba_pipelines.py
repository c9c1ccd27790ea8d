"""Numba's compiler for loops, without the work that loops do not need.

Numba treats all functions alike. It wraps each for Python and for C, optimises it, compiles it to
machine code, and then copies the optimised code into each caller, where all of this happens again.
A function that Python never calls needs only the last step: it is a `_Part` of its callers. A loop
that both Python and loops call is compiled once as a whole and once as a part.

For all loops, the following is skipped:

- passes over functions in functions, inlined Python and strings, which a loop does not contain;
- counting references to arrays that the loop only borrows (`_borrows_all`): its caller holds them;
- optimising declarations, a manager of optimisations for each function, and optimising the wrapper
  for Python twice;
- importing all of numba's modules again for each of its functions;
- the garbage collector, which would look at all objects of the process again and again;
- what `loops/numba_shortcuts.py` lists.

This relies on private names of numba, which are used only in this module. If one is missing,
`INNER` and `WHOLE` are empty, and numba compiles in its own way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from inspect import signature
from types import CodeType
from typing import Any

from numba import types
from numba.core import ir, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass

from widemargin.loops.garbage_collector import uncollected
from widemargin.loops.numba_shortcuts import register, shortened

#: How the names of functions that Python calls begin.
_WRAPPER = "_ZN7cpython"


class _Whole(JITCodeLibrary):
    """Code of a loop that Python calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise the functions that the module defines, one after the other."""
        if "llvm_module" in signature(self._codegen._function_pass_manager).parameters:  # 0.61
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            # The wrapper for Python has no loops: optimising the whole module does for it.
            if not (function.is_declaration or function.name.startswith(_WRAPPER)):
                manager.run(function, builder)


class _Part(_Whole):
    """Code to be copied into callers: neither optimised nor made executable."""

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the environment serves code that uses Python objects, and no loop does."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):
    """Numba's lowering from typed statements to LLVM, counting references only where needed."""

    _name = "lowering_of_loops"

    def run_pass(self, state: Any) -> bool:
        if _borrows_all(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return bool(super().run_pass(state))


def _borrows_all(state: Any) -> bool:
    """Whether all arrays that a function handles are its arguments or views of them."""
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def counted(kind: Any) -> bool:
        return bool(models[kind].contains_nrt_meminfo())

    def borrows(statement: Any) -> bool:
        if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
            # Numba copies an array before it writes it over itself.
            return not counted(kinds[statement.value.name])
        if isinstance(statement, ir.Assign) and counted(kinds[statement.target.name]):
            return _is_view(statement.value, kinds)
        return True

    if counted(state.return_type):
        return False
    return all(borrows(one) for block in state.func_ir.blocks.values() for one in block.body)


#: Expressions whose value is already held elsewhere, or is a part of such a value.
_VIEWS = ("getattr", "build_tuple", "exhaust_iter", "cast", "phi")
_STEPS = ("getiter", "iternext", "pair_first")


def _is_view(value: Any, typemap: Any) -> bool:
    """Whether the arrays that an expression yields are held by something else."""
    if isinstance(value, (ir.Arg, ir.Var, ir.Global, ir.FreeVar)):
        return True
    if not isinstance(value, ir.Expr):
        return False
    if value.op in ("getitem", "static_getitem"):
        index = value.index if value.op == "getitem" else value.index_var
        whole = isinstance(typemap[value.value.name], types.BaseTuple)
        return whole or (index is not None and _is_place(typemap[index.name]))
    return value.op in _VIEWS + _STEPS


def _is_place(index: Any) -> bool:
    """Whether an index is made of whole numbers and slices, so that it gives a view."""
    if isinstance(index, types.BaseTuple):
        return all(map(_is_place, index))
    return isinstance(index, (types.Integer, types.SliceType))


#: Passes over what no loop contains.
_NEEDLESS = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.AnnotateTypes,
    typed_passes.DumpParforDiagnostics,
}


class _LoopCompiler(Compiler):
    """Numba's compiler for a loop."""

    library_class: type = _Whole

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        register()
        if library is None:
            library = self.library_class(targetctx.codegen(), "loop")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *others)

    def define_pipelines(self) -> list[Any]:
        whole = DefaultPassBuilder.define_nopython_pipeline(self.state)
        constants = self.state.func_id.code.co_consts
        if any(isinstance(constant, CodeType) for constant in constants):
            return [whole]
        passes = PassManager("loops")
        for one, why in whole.passes:
            if one not in _NEEDLESS:
                passes.add_pass(_Lowering if one is typed_passes.NativeLowering else one, why)
        passes.finalize()
        return [passes]

    def _compile_core(self) -> Any:
        # Nearly nothing that numba makes is garbage.
        pause = uncollected(count_as_old=True)
        with pause, _registered(self.state.targetctx), shortened():
            return super()._compile_core()


class _PartCompiler(_LoopCompiler):
    """The same, for a function that only loops call."""

    library_class = _Part


@contextlib.contextmanager
def _registered(context: Any) -> Iterator[None]:
    """Keep numba from importing its own modules again for every function of a loop.

    It has already imported them by now. It still looks for what was registered since.
    """
    name = "load_additional_registries"
    if name in vars(context):  # a part of a loop
        yield
        return
    setattr(context, name, _do_nothing)
    try:
        yield
    finally:
        delattr(context, name)


def _do_nothing() -> None:
    """Replaces a step that has already been done."""


def _is_known() -> bool:
    """Whether numba has the private names used here."""
    names = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")
    return all(hasattr(JITCodeLibrary, name) for name in (*names, "_ensure_finalized"))


#: Options of numba for a function that only loops call.
INNER: dict[str, Any] = (
    {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler} if _is_known() else {}
)
#: Options of numba for a loop that Python calls.
WHOLE: dict[str, Any] = {"pipeline_class": _LoopCompiler} if _is_known() else {}


def keep_inside(compiled: Any, interpreted: bool) -> Any:
    """Let only loops call a function compiled with `INNER`, and compile it once for all constants.

    There is no code for Python to call: a call from Python is an error or, if `interpreted`, runs
    the function as Python, which suits a formula but not a loop. Numba would compile again for each
    constant argument, and for arguments that look constant until it has seen the whole caller.
    """
    if not INNER:
        return compiled

    def code_for(*_arguments: Any, **_named: Any) -> Any:
        if interpreted:
            return compiled.py_func
        name = compiled.py_func.__name__
        raise TypeError(f"{name} is compiled only as part of other loops; call {name}.py_func")

    def ignore(*_arguments: Any) -> None:
        """Store no code for calls from Python."""

    template = compiled.get_call_template

    def without_constants(args: Any, kws: Any) -> Any:
        plain = tuple(types.unliteral(kind) for kind in args)
        return template(plain, {name: types.unliteral(kind) for name, kind in kws.items()})

    compiled._compile_for_args = code_for
    compiled._insert = ignore
    compiled.get_call_template = without_constants
    return compiled


def call_inside(compiled: Any, part: Any) -> None:
    """Let loops that call `compiled` use `part`, the same function as `keep_inside` gives it."""
    compiled.get_call_template = part.get_call_template
    compiled.get_overload = part.get_overload
