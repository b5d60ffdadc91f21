"""Blocks of matrix products whose sums stay in registers, written with LLVM vectors, because loops are not reliably
compiled to such code."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, codegen, config, types
from numba.extending import intrinsic

_FEATURES = set((codegen.get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES).split(","))
"""The processor's features for which numba compiles, as LLVM writes them: +avx2."""


def _has(*names: str) -> bool:
    return any(f"+{name}" in _FEATURES for name in names)


LANES = 16 if _has("avx512f") else 8 if _has("avx") else 4
"""Number of float32 in a vector register of this processor."""
INT_LANES = 16 if _has("avx512bw") else 8 if _has("avx2") else 4
"""Number of int32 in a vector register of this processor."""
HAS_INT8_PRODUCTS = _has("avx512vnni") if INT_LANES == 16 else INT_LANES == 8 and _has("avxvnni")
"""Whether this processor adds products of four int8 to an int32 in one instruction (vpdpbusd)."""
_HAS_FMA = _has("fma", "neon", "fp-armv8")
"""Whether this processor has fused multiply-add (one instruction, one rounding)."""
_FLOAT, _INT8, _INT16, _INT32 = ir.FloatType(), ir.IntType(8), ir.IntType(16), ir.IntType(32)


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
    halves = ir.VectorType(_INT16, 2 * a.type.count)
    return _add_products(builder, *(builder.bitcast(x, halves) for x in (a, b)), total, builder.sext)


def _add_quad_products(builder: Any, a: Any, b: Any, total: Any) -> Any:
    """Add the products of the four uint8 of each int32 of `a` and the four int8 of `b` to the int32 of `total`."""
    lanes = a.type.count
    if HAS_INT8_PRODUCTS and lanes == INT_LANES:
        fused, name = ir.FunctionType(a.type, [a.type] * 3), f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        return builder.call(cgutils.get_or_insert_function(builder.module, fused, name), [total, a, b])
    quarters = ir.VectorType(_INT8, 4 * lanes)
    return _add_products(builder, *(builder.bitcast(x, quarters) for x in (a, b)), total, builder.zext)


def _add_products(builder: Any, a: Any, b: Any, total: Any, extend_a: Callable[..., Any]) -> Any:
    """Add to each int32 of `total` the products of the smaller integers at its place in `a` and `b`."""
    lanes, size = total.type.count, a.type.count // total.type.count
    wide = ir.VectorType(_INT32, size * lanes)
    products, undefined = builder.mul(extend_a(a, wide), builder.sext(b, wide)), ir.Constant(wide, ir.Undefined)
    for part in range(size):
        chosen = ir.Constant(ir.VectorType(_INT32, lanes), list(range(part, size * lanes, size)))
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


def make_integer_block(rows: int, vectors: int, lanes: int = INT_LANES) -> Callable[..., None]:
    """Make a function for kernels, block(rounded, left, left_step, right, right_step, out, out_step, k, row_factors,
    column_factors, shifts), that writes to `out` the product of `rows` rows of k groups of integers at `left` and of k
    rows of `vectors` · `lanes` groups at `right`, minus a shift for each column, times a factor for each row and one
    for each column.

    `rounded`: the array of the rows at `left`, for its type only. If it is int16, a group is two int16, at `right`,
    too; if it is uint8, four, at `right` of int8. `out` and the factors are float32; shifts and sums are int32, which
    must be large enough for the sums, and so these have the same bits on every processor. All arguments but `rounded`,
    k and the steps, which are in bytes, are addresses; k ≥ 1.
    """

    def generate_for(add_product: Callable[..., Any]) -> Callable[..., Any]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, left, left_step, right, right_step, out, out_step, k, row_factors, column_factors, shifts = arguments
            word, floats, integers = left.type, ir.VectorType(_FLOAT, lanes), ir.VectorType(_INT32, lanes)
            factors = left, left_step, right, right_step, k
            sums = _sum_products(builder, factors, rows, vectors, integers, add_product)
            step = ir.Constant(word, 4)
            for row in range(rows):
                single = builder.load(_pointer(builder, row_factors, step, row, ir.Constant(word, 0), _FLOAT), align=4)
                row_factor = _broadcast(builder, single, lanes)
                for v in range(vectors):
                    offset = ir.Constant(word, 4 * lanes * v)
                    shift = builder.load(_pointer(builder, shifts, step, 0, offset, integers), align=4)
                    whole = builder.sitofp(builder.sub(sums[row][v], shift), floats)
                    column_factor = builder.load(_pointer(builder, column_factors, step, 0, offset, floats), align=4)
                    target = _pointer(builder, out, out_step, row, offset, floats)
                    builder.store(builder.fmul(builder.fmul(whole, row_factor), column_factor), target, align=4)
            return context.get_dummy_value()

        return generate

    @intrinsic  # type: ignore[untyped-decorator]
    def block(  # type: ignore[no-untyped-def]
        typing_context,
        rounded,
        left,
        left_step,
        right,
        right_step,
        out,
        out_step,
        k,
        row_factors,
        column_factors,
        shifts,
    ):
        add_product = _add_quad_products if rounded.dtype == types.uint8 else _add_pair_products
        return types.void(rounded, *[types.intp] * 10), generate_for(add_product)

    return block
