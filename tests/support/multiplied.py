"""Products of matrices while models fit, each checked to be free of rounding.

BLAS adds in an order that depends on how many rows there are and where a row stands, so a product of doubles over the
rows of a table lets one person move what is computed of others, in the last bit. No random test will ever see it; this
one looks at the operands instead. `a @ b` is a call in the code of the models while they are watched.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

LONG = 100
"""Axes longer than this are rows of a table."""
PUBLIC = "_ordinary"
"""Of k-means: what its points are is noisy already."""


class _Calls(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        call = ast.Call(ast.Name("__multiplied__", ast.Load()), [node.left, node.right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


@contextmanager
def watched(modules: list[ModuleType]) -> Iterator[list[str]]:
    """What is multiplied over long axes and is not exact, as the lines where it happens."""
    found: list[str] = []

    def check(*operands: Any) -> None:
        arrays = [np.asarray(operand) for operand in operands]
        if max(max(array.shape, default=0) for array in arrays) > LONG and not exact(arrays):
            callers = [frame for frame in inspect.stack() if "models" in Path(frame.filename).parts]
            if PUBLIC not in [frame.function for frame in callers]:
                found.append(f"{callers[0].filename}:{callers[0].lineno} {callers[0].function}")

    def multiplied(left: Any, right: Any) -> Any:
        check(left, right)
        return left @ right

    def matmul(left: Any, right: Any, original: Any = np.matmul, **named: Any) -> Any:
        check(left, right)
        return original(left, right, **named)

    def einsum(rule: str, *operands: Any, original: Any = np.einsum) -> Any:
        check(*operands)
        return original(rule, *operands)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "matmul", matmul)
        patch.setattr(np, "einsum", einsum)
        for module in modules:
            rewritten = _rewritten(module)
            patch.setitem(vars(module), "__multiplied__", multiplied)
            for function in _functions(module):
                code = function.__code__
                patch.setattr(function, "__code__", rewritten[code.co_qualname, code.co_firstlineno])
        yield found


def exact(arrays: list[Any]) -> bool:
    """Whether all are whole numbers whose products cannot add up to 2^53."""
    if any(array.dtype == object for array in arrays):
        return True
    whole = all((np.rint(array) == array).all() for array in arrays)
    largest = [float(np.abs(array).max(initial=0.0)) for array in arrays]
    return whole and arrays[0].shape[-1] * float(np.prod(largest)) < 2.0**53  # all sums are over the last axis


@cache
def _rewritten(module: ModuleType) -> dict[tuple[str, int], CodeType]:
    tree = _Calls().visit(ast.parse(inspect.getsource(module)))
    return dict(_codes(compile(tree, str(module.__file__), "exec", dont_inherit=True)))


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    yield (code.co_qualname, code.co_firstlineno), code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Functions and methods that were written in this module."""
    for owner in [module, *(kind for kind in vars(module).values() if isinstance(kind, type))]:
        for member in list(vars(owner).values()):
            found = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if isinstance(found, FunctionType) and found.__code__.co_filename == module.__file__:
                yield found
