"""Steps of random networks that compute with their own extents, as exporters write them (open_extents.py)."""

import contextlib

import numpy
from onnx import TensorProto, helper


class ShapeArithmetic:
    """What `Network` takes beside its plain steps: extents are read, computed with, and given to operators."""

    # Numbers of one element each.
    def extent(self, axis, value=None):
        value = value or self.value
        if self.random.random() < 0.4:
            return self.node("Shape", value, start=axis, end=axis + 1)
        shape = self.node("Shape", value)
        if self.random.random() < 0.5:
            return self.node("Slice", shape, self.integers(axis), self.integers(axis + 1), self.integers(0))
        return self.node("Unsqueeze", self.scalar_extent(axis, value), self.integers(0))

    def scalar_extent(self, axis, value=None):
        return self.node("Gather", self.node("Shape", value or self.value), self.keep(numpy.int64(axis)), axis=0)

    def joined(self, *parts):
        return self.node("Concat", *parts, axis=0)

    def picture_sizes(self):
        """The network's value has its places from the third axis on."""
        return range(2, len(self.inputs["x"]))

    @contextlib.contextmanager
    def body(self):
        """Nodes of a branch or a loop: those that are made meanwhile."""
        outer, self.nodes = self.nodes, []
        yield self.nodes
        self.nodes = outer

    def graph(self, nodes, inputs, outputs):
        info = [helper.make_tensor_value_info(name, kind, None) for name, kind in inputs]
        outs = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
        return helper.make_graph(list(nodes), self.named("body"), info, outs)

    def named(self, what):
        self.names += 1
        return f"{what}{self.names}"

    # Steps on rows of three axes: batch, time, channels.
    def heads(self):
        """Reshape, Transpose and back, of extents that were read."""
        count = self.any(*[n for n in (1, 2, 4) if self.channels % n == 0])
        batch, time = self.extent(0), self.extent(1)
        split = self.joined(batch, self.any(time, self.integers(-1)), self.integers(count), self.integers(self.channels // count))
        x = self.node("Transpose", self.node("Reshape", self.value, split), perm=[0, 2, 1, 3])
        scores = self.node("MatMul", x, self.node("Transpose", x, perm=[0, 1, 3, 2]))
        scores = self.node("Mul", scores, self.keep(numpy.float32(0.2)))
        if self.random.random() < 0.6:
            scores = self.masked(scores, self.scalar_extent(1))
        y = self.node("MatMul", self.node("Softmax", scores, axis=-1), x)
        y = self.node("Transpose", y, perm=[0, 2, 1, 3])
        self.value = self.node("Reshape", y, self.joined(batch, time, self.integers(self.channels)))

    def masked(self, scores, time):
        """A causal mask by Range and comparison, or by Trilu."""
        zero, one = self.keep(numpy.int64(0)), self.keep(numpy.int64(1))
        if self.random.random() < 0.5:
            places = self.node("Range", zero, time, one)
            rows, columns = (self.node("Unsqueeze", places, self.integers(axis)) for axis in (1, 0))
            later = self.node("Greater", columns, rows)
            return self.node("Where", later, self.keep(numpy.float32(self.any(-1e9, -3.4e38))), scores)
        one_extent = self.node("Unsqueeze", time, self.integers(0))
        filled = helper.make_tensor("value", TensorProto.FLOAT, [1], [-1e4])
        square = self.node("ConstantOfShape", self.joined(one_extent, one_extent), value=filled)
        return self.node("Add", scores, self.node("Trilu", square, one, upper=1))

    def positions(self):
        """A row of a table for each place."""
        places = self.node("Range", self.keep(numpy.int64(0)), self.scalar_extent(1), self.keep(numpy.int64(1)))
        if self.random.random() < 0.4:
            places = self.node("Mod", places, self.keep(numpy.int64(7)))
        elif self.random.random() < 0.5:
            places = self.node("Min", places, self.keep(numpy.int64(11)))
        else:
            places = self.node("Min", places, self.keep(numpy.int64(31)))
        self.value = self.node("Add", self.value, self.node("Gather", self.constant(32, self.channels), places))

    def class_token(self):
        """One more row, the same for each of the batch; at times it is taken off again."""
        shape = self.joined(self.extent(0), self.integers(1), self.integers(self.channels))
        token = self.node("Expand", self.constant(1, 1, self.channels), shape)
        self.value = self.node("Concat", token, self.value, axis=1)
        if self.random.random() < 0.4:
            self.value = self.node("Slice", self.activated(self.value), self.integers(1), self.integers(2**63 - 1), self.integers(1))

    def half(self):
        """The first or the second half by computed ends, whole where there is one row alone."""
        time, two, one = self.extent(1), self.integers(2), self.integers(1)
        middle = self.node("Div", time, two)
        if self.random.random() < 0.5:
            begin, end = self.integers(0), self.node("Max", middle, one)
        else:
            begin, end = middle, time
        self.value = self.node("Slice", self.value, begin, end, self.integers(1), one)

    def ends_joined(self):
        """The rows in another order: what is behind a computed place comes first."""
        cut = self.node("Div", self.extent(1), self.integers(self.any(2, 3)))
        axis, most = self.integers(1), self.integers(2**63 - 1)
        behind = self.node("Slice", self.value, cut, most, axis)
        before = self.node("Slice", self.value, self.integers(0), cut, axis)
        self.value = self.node("Concat", behind, before, axis=1)

    def best_rows(self):
        """TopK of as many as there are, five at most, along time or channels."""
        axis = self.any(1, 1, 2)
        if axis == 2:
            self.value = self.picked(self.integers(min(4, self.channels)), 2)
            self.channels = min(4, self.channels)
            return
        self.value = self.picked(self.node("Min", self.extent(1), self.integers(5)), 1)

    def picked(self, count, axis):
        values, places = self.named("v"), self.named("v")
        self.nodes.append(helper.make_node("TopK", [self.value, count], [values, places], axis=axis))
        return values if self.random.random() < 0.6 else self.node("GatherElements", self.value, places, axis=axis)

    def loop(self):
        """A sum over rows, or rows gathered by a Loop of as many turns as there are."""
        gathers = self.random.random() < 0.5
        counter, go_in, state_in = self.named("i"), self.named("b"), self.named("s")
        with self.body() as nodes:
            row = self.node("Gather", self.value, counter, axis=1)
            state = self.activated(self.node("Add", row, state_in))
            outputs = [self.node("Identity", go_in), state] + ([self.node("Mul", state, row)] if gathers else [])
        kinds = [TensorProto.BOOL] + [TensorProto.FLOAT] * (len(outputs) - 1)
        inputs = ((counter, TensorProto.INT64), (go_in, TensorProto.BOOL), (state_in, TensorProto.FLOAT))
        body = self.graph(nodes, inputs, zip(outputs, kinds))
        first = self.node("ReduceMax", self.value, self.integers(1), keepdims=0)
        names = [self.named("v") for _ in outputs[1:]]
        operands = [self.scalar_extent(1), self.keep(numpy.bool_(True)), first]
        self.nodes.append(helper.make_node("Loop", operands, names, body=body))
        if gathers:
            self.value = self.node("Transpose", names[1], perm=[1, 0, 2])
        else:
            self.value = self.node("Add", self.value, self.node("Unsqueeze", names[0], self.integers(1)))

    def scan(self):
        """A running state over time."""
        state_in, row = self.named("s"), self.named("r")
        with self.body() as nodes:
            state = self.activated(self.node("Add", self.node("Mul", state_in, self.keep(numpy.float32(0.5))), row))
            out = self.node("Add", state, row)
        kinds = TensorProto.FLOAT
        body = self.graph(nodes, ((state_in, kinds), (row, kinds)), ((state, kinds), (out, kinds)))
        shape = self.joined(self.extent(0), self.integers(self.channels))
        first = self.node("ConstantOfShape", shape)
        last, rows = self.named("v"), self.named("v")
        self.nodes.append(helper.make_node("Scan", [first, self.value], [last, rows], body=body, num_scan_inputs=1,
                                           scan_input_axes=[1], scan_output_axes=[1]))
        self.value = rows if self.random.random() < 0.6 else self.node("Add", self.value, self.node("Unsqueeze", last, self.integers(1)))

    # Steps on any.
    def branch(self):
        """If the second last axis is long, one branch, else the other."""
        axis = len(self.inputs["x"]) - (1 if self.kind == "signals" else 2)
        long = self.node("Greater", self.scalar_extent(axis), self.keep(numpy.int64(self.any(3, 8, 16))))
        branches = {}
        for name in ("then_branch", "else_branch"):
            with self.body() as nodes:
                out = self.activated(self.value)
                if self.random.random() < 0.5:
                    out = self.node("Add", out, self.value)
            branches[name] = self.graph(nodes, (), ((out, TensorProto.FLOAT),))
        self.value = self.node("If", long, **branches)

    def flat(self):
        """One long row for each of the batch, and back."""
        shape = self.node("Shape", self.value)
        rest = self.node("ReduceProd", self.node("Slice", shape, self.integers(1), self.integers(9)), keepdims=1)
        flat = self.node("Reshape", self.value, self.joined(self.extent(0), rest))
        moved = self.node("Sub", flat, self.node("ReduceMean", flat, self.integers(1), keepdims=1))
        self.value = self.node("Reshape", moved, shape)

    def where_true(self):
        """NonZero finds places, GatherND reads them, and ScatterND writes them changed."""
        high = self.node("Greater", self.value, self.keep(numpy.float32(self.any(0.1, 0.5, 3))))
        places = self.node("Transpose", self.node("NonZero", high), perm=[1, 0])
        found = self.activated(self.node("GatherND", self.value, places))
        self.value = self.node("ScatterND", self.value, places, found)

    def wider_by_rest(self):
        """Pads to a multiple, as windows and codecs ask for it; at times the pad is cut off again."""
        axis = 1 if self.kind in ("rows", "pairs") else len(self.inputs["x"]) - 1
        rank, step = len(self.inputs["x"]), self.integers(self.any(2, 4, 8))
        old = self.extent(axis)
        after = self.node("Mod", self.node("Sub", step, self.node("Mod", old, step)), step)
        zeros = [self.integers(*[0] * n) if n else None for n in (rank + axis, rank - axis - 1)]
        pads = self.joined(*[part for part in (zeros[0], after, zeros[1]) if part])
        padded = self.node("Pad", self.value, pads, self.keep(numpy.float32(self.any(0, 0.5))), mode=self.any("constant", "edge"))
        if self.random.random() < 0.5:
            cut = self.activated(padded)
            padded = self.node("Slice", cut, self.integers(0), old, self.integers(axis))
        self.value = padded

    def repeated(self):
        """A constant of one as large as the value, by Expand or Tile."""
        shape = self.node("Shape", self.value)
        ones = self.keep(numpy.full([1] * len(self.inputs["x"]), 0.3, numpy.float32))
        self.value = self.node(self.any("Add", "Mul"), self.value, self.node(self.any("Expand", "Tile"), ones, shape))

    # Steps on pictures.
    def sized(self):
        """Resize to computed sizes, and at times back to those of the value before."""
        old = self.node("Shape", self.value)
        places = self.node("Slice", old, self.integers(2), self.integers(4), self.integers(0))
        scaled = self.node("Mul", places, self.integers(2))
        if self.random.random() < 0.4:
            scaled = self.node("Div", self.node("Add", places, self.integers(1)), self.integers(2))
        leading = self.node("Slice", old, self.integers(0), self.integers(2), self.integers(0))
        mode = self.any("nearest", "linear")
        how = {"mode": mode, "coordinate_transformation_mode": self.any("asymmetric", "half_pixel")}
        if mode == "nearest":
            how = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        small = self.node("Resize", self.value, "", "", self.joined(leading, scaled), **how)
        if self.random.random() < 0.5:
            small = self.node("Add", self.value, self.node("Resize", self.activated(small), "", "", old, **how))
        self.value = small

    def table_of_places(self):
        """A learned picture of places, as large as the value."""
        places = self.node("Shape", self.value, start=2, end=4)
        table = self.constant(1, self.channels, 5, 5)
        sizes = self.joined(self.integers(1, self.channels), places)
        larger = self.node("Resize", table, "", "", sizes, mode="linear", coordinate_transformation_mode="half_pixel")
        self.value = self.node("Add", self.value, larger)

    def windows(self):
        """Windows of 2x2 of a padded picture, a product in each, and the picture again."""
        c, two = self.channels, self.integers(2)
        height, width = (self.node("Add", self.extent(axis), self.node("Mod", self.extent(axis), two)) for axis in (2, 3))
        down, right = (self.node("Mod", self.extent(axis), two) for axis in (2, 3))
        padded = self.node("Pad", self.value, self.joined(self.integers(0, 0, 0, 0, 0, 0), down, right))
        rows, columns = self.node("Div", height, two), self.node("Div", width, two)
        cut = self.joined(self.extent(0), self.integers(c), rows, two, columns, two)
        x = self.node("Transpose", self.node("Reshape", padded, cut), perm=[0, 2, 4, 3, 5, 1])
        x = self.node("Reshape", x, self.integers(-1, 4, c))
        x = self.node("MatMul", x, self.constant(c, c, scale=0.3))
        x = self.node("Softmax", x, axis=1) if self.random.random() < 0.4 else self.activated(x)
        x = self.node("Reshape", x, self.joined(self.extent(0), rows, columns, two, two, self.integers(c)))
        x = self.node("Transpose", x, perm=[0, 5, 1, 3, 2, 4])
        x = self.node("Reshape", x, self.joined(self.extent(0), self.integers(c), height, width))
        begin, ends = self.integers(0, 0), self.node("Shape", self.value, start=2, end=4)
        self.value = self.node("Slice", x, begin, ends, self.integers(2, 3))

    def tokens(self):
        """Pictures as rows and back, around a product."""
        shape, c = self.node("Shape", self.value), self.channels
        rows = self.node("Reshape", self.value, self.joined(self.extent(0), self.integers(c, -1)))
        rows = self.node("Transpose", rows, perm=[0, 2, 1])
        rows = self.node("Add", self.node("MatMul", rows, self.constant(c, c, scale=0.3)), self.constant(c))
        back = self.node("Transpose", self.activated(rows), perm=[0, 2, 1])
        self.value = self.node("Reshape", back, shape)

    EVERYWHERE = (branch, flat, where_true, wider_by_rest, repeated)
    ON_ROWS = (heads, positions, class_token, half, ends_joined, best_rows, loop, scan)
    ON_PICTURES = (sized, table_of_places, windows, tokens)
