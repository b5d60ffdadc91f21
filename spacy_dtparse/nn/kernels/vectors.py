"""Blocks of a matrix product whose sums stay in registers, written with LLVM vectors, because loops are not reliably
compiled to such code."""

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_FEATURES = binding.get_host_cpu_features()


def _has(*names: str) -> bool:
    return any(_FEATURES.get(name, False) for name in names)


LANES = 16 if _has("avx512f") else 8 if _has("avx") else 4
"""Number of float32 in a vector register of this processor."""
_HAS_FMA = _has("fma", "neon", "fp-armv8")
"""Whether this processor has fused multiply-add (one instruction, one rounding)."""


def make_block(rows: int, vectors: int, lanes: int = LANES) -> Callable[..., None]:
    """Make a function for kernels, block(left, left_step, right, right_step, out, out_step, k), that writes to `out`
    the product of `rows` rows of k values at `left` and k rows of `vectors` · `lanes` values at `right`.

    Values are float32. `left`, `right`, `out` are addresses; steps from row to row are in bytes; k ≥ 1. Each output is
    the sum of its products in order of k, fused if the processor can, so it has the same bits in a block of any shape.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, left_step, right, right_step, out, out_step, k = arguments
        word, vector = left.type, ir.VectorType(ir.FloatType(), lanes)
        zero = ir.Constant(vector, [0.0] * lanes)

        def constant(value: int) -> ir.Constant:
            return ir.Constant(word, value)

        def pointer(base: Any, step: Any, row: int, offset: Any, kind: Any) -> Any:
            address = builder.add(builder.add(base, builder.mul(step, constant(row))), offset)
            return builder.inttoptr(address, kind.as_pointer())

        def broadcast(value: Any) -> Any:
            single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
            first = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
            return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), first)

        def add_product(a: Any, b: Any, total: Any) -> Any:
            if not _HAS_FMA:
                return builder.fadd(total, builder.fmul(a, b))
            fused = ir.FunctionType(vector, [vector] * 3)
            name = f"llvm.fma.v{lanes}f32"
            return builder.call(cgutils.get_or_insert_function(builder.module, fused, name), [a, b, total])

        before = builder.block
        loop, after = builder.append_basic_block("products"), builder.append_basic_block("sums")
        builder.branch(loop)
        builder.position_at_end(loop)
        p = builder.phi(word)
        p.add_incoming(constant(0), before)
        totals = [[builder.phi(vector) for _ in range(vectors)] for _ in range(rows)]
        row_of_right = builder.add(right, builder.mul(p, right_step))
        pointers = [pointer(row_of_right, right_step, 0, constant(4 * lanes * v), vector) for v in range(vectors)]
        right_vectors = [builder.load(one, align=4) for one in pointers]
        column = builder.mul(p, constant(4))
        sums = []
        for row in range(rows):
            value = broadcast(builder.load(pointer(left, left_step, row, column, ir.FloatType()), align=4))
            sums.append([add_product(value, right_vectors[v], totals[row][v]) for v in range(vectors)])
        following = builder.add(p, constant(1))
        p.add_incoming(following, loop)
        for row in range(rows):
            for v in range(vectors):
                totals[row][v].add_incoming(zero, before)
                totals[row][v].add_incoming(sums[row][v], loop)
        builder.cbranch(builder.icmp_signed("<", following, k), loop, after)
        builder.position_at_end(after)
        for row in range(rows):
            for v in range(vectors):
                target = pointer(out, out_step, row, constant(4 * lanes * v), vector)
                builder.store(sums[row][v], target, align=4)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def block(typing_context, left, left_step, right, right_step, out, out_step, k):  # type: ignore[no-untyped-def]
        return types.void(*[types.intp] * 7), generate

    return block
