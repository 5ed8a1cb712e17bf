"""More functions for random_operators.py: operators of com.microsoft on quantised constants."""

import numpy as np

base = None  # random_operators, which has the functions that draw


def gather_quantised():
    width, block, rows, blocks = base.pick(4, 8), 16, base.n(1, 9), base.n(1, 4)
    columns = block * blocks * width // 8
    zeros = base.pick(None, base.data((rows, (blocks * width + 7) // 8), "u1", 0, 255))
    table, indices = base.data((rows, columns), "u1", 0, 255), base.data(base.shape(base.n(0, 2)), "i8", 0, rows - 1)
    return base.Case("GatherBlockQuantized", [table, indices, base.data((rows, blocks), "f4", 0.01, 0.1), zeros],
                     domain="com.microsoft", bits=width, block_size=block, gather_axis=0, quantize_axis=1, const=[0, 2, 3])


def quantised_lstm():
    # One step from a state of zeros, of numbers that bytes hold: ONNX Runtime rounds nothing then.
    ways, batch, size, hidden = base.n(1, 2), base.n(1, 3), base.n(1, 9), base.n(1, 9)
    x = base.R.integers(0, 256, (1, batch, size)).astype(np.float32)
    x[0, 0, 0] = 255
    kind = base.pick("u1", "i1")
    scales = [base.data((ways,) if base.R.random() < 0.5 else (ways, 4 * hidden), "f4", 0.0001, 0.0004) for _ in range(2)]
    zeros = [np.full(s.shape, 128 if kind == "u1" else 0, kind) for s in scales]
    low = 0 if kind == "u1" else -99
    weights = [base.data((ways, rows, 4 * hidden), kind, low, 99) for rows in (size, hidden)]
    bias = base.data((ways, 8 * hidden))
    return base.Case("DynamicQuantizeLSTM", [x, *weights, bias, None, None, None, None, scales[0], zeros[0], scales[1], zeros[1]],
                     outputs=3, domain="com.microsoft", hidden_size=hidden, const=[1, 2, 3, 8, 9, 10, 11],
                     direction="forward" if ways == 1 else "bidirectional")


def makers(module):
    """The functions above, which draw by those of `module`: random_operators, whatever its name."""
    global base
    base = module
    return [gather_quantised, quantised_lstm]
