"""Blocks of matrix products whose sums stay in registers, written with LLVM vectors, because loops are not reliably
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
INT_LANES = 16 if _has("avx512bw") else 8 if _has("avx2") else 4
"""Number of int32 in a vector register of this processor."""
_HAS_FMA = _has("fma", "neon", "fp-armv8")
"""Whether this processor has fused multiply-add (one instruction, one rounding)."""
_FLOAT, _INT16, _INT32 = ir.FloatType(), ir.IntType(16), ir.IntType(32)


def _broadcast(builder: Any, value: Any, lanes: int) -> Any:
    """A vector of `lanes` times the same value."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(_INT32, lanes), [0] * lanes))


def _pointer(builder: Any, base: Any, step: Any, row: int, offset: Any, kind: Any) -> Any:
    """A pointer to values of a kind, `offset` bytes from the start of a row."""
    word = base.type
    address = builder.add(builder.add(base, builder.mul(step, ir.Constant(word, row))), offset)
    return builder.inttoptr(address, kind.as_pointer())


def _add_float_product(builder: Any, a: Any, b: Any, total: Any) -> Any:
    if not _HAS_FMA:
        return builder.fadd(total, builder.fmul(a, b))
    fused, name = ir.FunctionType(a.type, [a.type] * 3), f"llvm.fma.v{a.type.count}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, fused, name), [a, b, total])


def _add_pair_products(builder: Any, a: Any, b: Any, total: Any) -> Any:
    """Add the products of both int16 of each int32 to the int32 of `total`: LLVM makes this one instruction or two, if
    the processor has them (vpdpwssd, pmaddwd)."""
    lanes = a.type.count
    halves, wide = ir.VectorType(_INT16, 2 * lanes), ir.VectorType(_INT32, 2 * lanes)
    products = builder.mul(*(builder.sext(builder.bitcast(x, halves), wide) for x in (a, b)))
    undefined = ir.Constant(wide, ir.Undefined)
    for half in range(2):
        chosen = ir.Constant(ir.VectorType(_INT32, lanes), list(range(half, 2 * lanes, 2)))
        total = builder.add(total, builder.shuffle_vector(products, undefined, chosen))
    return total


def _sum_products(
    builder: Any, arguments: Any, rows: int, vectors: int, vector: ir.VectorType, add_product: Callable[..., Any]
) -> list[list[Any]]:
    """Generate the loop of a block over the k values of 4 bytes of each row at the left, and k rows at the right; the
    builder is after it then. Returns the sums of each row."""
    left, left_step, right, right_step, k = arguments
    word, lanes = left.type, vector.count
    zero = ir.Constant(vector, [0] * lanes)
    before = builder.block
    loop, after = builder.append_basic_block("products"), builder.append_basic_block("sums")
    builder.branch(loop)
    builder.position_at_end(loop)
    p = builder.phi(word)
    p.add_incoming(ir.Constant(word, 0), before)
    totals = [[builder.phi(vector) for _ in range(vectors)] for _ in range(rows)]
    row_of_right = builder.add(right, builder.mul(p, right_step))
    right_vectors = [
        builder.load(_pointer(builder, row_of_right, right_step, 0, ir.Constant(word, 4 * lanes * v), vector), align=4)
        for v in range(vectors)
    ]
    column = builder.mul(p, ir.Constant(word, 4))
    sums = []
    for row in range(rows):
        single = builder.load(_pointer(builder, left, left_step, row, column, vector.element), align=4)
        value = _broadcast(builder, single, lanes)
        sums.append([add_product(builder, value, right_vectors[v], totals[row][v]) for v in range(vectors)])
    following = builder.add(p, ir.Constant(word, 1))
    p.add_incoming(following, loop)
    for row in range(rows):
        for v in range(vectors):
            totals[row][v].add_incoming(zero, before)
            totals[row][v].add_incoming(sums[row][v], loop)
    builder.cbranch(builder.icmp_signed("<", following, k), loop, after)
    builder.position_at_end(after)
    return sums


def make_block(rows: int, vectors: int, lanes: int = LANES) -> Callable[..., None]:
    """Make a function for kernels, block(left, left_step, right, right_step, out, out_step, k), that writes to `out`
    the product of `rows` rows of k values at `left` and k rows of `vectors` · `lanes` values at `right`.

    Values are float32. `left`, `right`, `out` are addresses; steps from row to row are in bytes; k ≥ 1. Each output is
    the sum of its products in order of k, fused if the processor can, so it has the same bits in a block of any shape.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, left_step, right, right_step, out, out_step, k = arguments
        vector = ir.VectorType(_FLOAT, lanes)
        factors = left, left_step, right, right_step, k
        sums = _sum_products(builder, factors, rows, vectors, vector, _add_float_product)
        for row in range(rows):
            for v in range(vectors):
                target = _pointer(builder, out, out_step, row, ir.Constant(out.type, 4 * lanes * v), vector)
                builder.store(sums[row][v], target, align=4)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def block(typing_context, left, left_step, right, right_step, out, out_step, k):  # type: ignore[no-untyped-def]
        return types.void(*[types.intp] * 7), generate

    return block


def make_int16_block(rows: int, vectors: int, lanes: int = INT_LANES) -> Callable[..., None]:
    """Make a function for kernels, block(left, left_step, right, right_step, out, out_step, k, row_factors,
    column_factors), that writes to `out` the product of `rows` rows of 2 k int16 at `left` and of k rows of `vectors` ·
    `lanes` pairs of int16 at `right`, times a factor for each row and one for each column.

    `out` and the factors are float32; all arguments but k and the steps, which are in bytes, are addresses; k ≥ 1. The
    sums are int32, which must be large enough, and so have the same bits on every processor.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, left_step, right, right_step, out, out_step, k, row_factors, column_factors = arguments
        word, floats = left.type, ir.VectorType(_FLOAT, lanes)
        factors = left, left_step, right, right_step, k
        sums = _sum_products(builder, factors, rows, vectors, ir.VectorType(_INT32, lanes), _add_pair_products)
        step = ir.Constant(word, 4)
        for row in range(rows):
            single = builder.load(_pointer(builder, row_factors, step, row, ir.Constant(word, 0), _FLOAT), align=4)
            row_factor = _broadcast(builder, single, lanes)
            for v in range(vectors):
                offset = ir.Constant(word, 4 * lanes * v)
                scaled = builder.fmul(builder.sitofp(sums[row][v], floats), row_factor)
                column_factor = builder.load(_pointer(builder, column_factors, step, 0, offset, floats), align=4)
                target = _pointer(builder, out, out_step, row, offset, floats)
                builder.store(builder.fmul(scaled, column_factor), target, align=4)
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def block(typing_context, left, left_step, right, right_step, out, out_step, k, row_factors, column_factors):  # type: ignore[no-untyped-def]
        return types.void(*[types.intp] * 9), generate

    return block
