"""Building blocks of LLVM shared by the handwritten versions."""

from __future__ import annotations

from llvmlite import ir

_I32, _I64 = ir.IntType(32), ir.IntType(64)


def emit_data(context, builder, kind, array):
    """Emit the address of the first element of an array."""
    return context.make_array(kind)(context, builder, array).data


def emit_loop(builder, first, last, step, values, body):
    """Emit `for k in range(first, last, step): values = body(k, values)`; gives the last values."""
    before = builder.block
    head = builder.append_basic_block("head")
    inside = builder.append_basic_block("inside")
    after = builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    k = builder.phi(_I64)
    k.add_incoming(first, before)
    found = [builder.phi(value.type) for value in values]
    for one, value in zip(found, values, strict=True):
        one.add_incoming(value, before)
    builder.cbranch(builder.icmp_unsigned("<", k, last), inside, after)
    builder.position_at_end(inside)
    new = body(k, found)
    for one, value in zip(found, new, strict=True):
        one.add_incoming(value, builder.block)
    k.add_incoming(builder.add(k, _I64(step)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return found


def emit_splat(builder, x, lanes):
    """Emit a vector that is x everywhere."""
    nothing = ir.Constant(ir.VectorType(x.type, lanes), ir.Undefined)
    zeros = ir.Constant(ir.VectorType(_I32, lanes), None)
    return builder.shuffle_vector(builder.insert_element(nothing, x, _I32(0)), nothing, zeros)


def emit_prefetch(builder, address):
    """Emit the hint that the data at an address will be needed soon."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    name = "llvm.prefetch.p0"
    hint = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    # for reading, into every level of the cache, data rather than code
    builder.call(hint, [builder.bitcast(address, byte), number(0), number(3), number(1)])
