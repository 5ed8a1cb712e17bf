// Scalar oracles of the matrix products: one dot product per output element.
#include <cmath>
#include <concepts>
#include <type_traits>

#include "ops/matmul/op.h"
#include "ops/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

/// Sums wrap for integers, so they are taken unsigned.
template <typename T>
using Sum = std::conditional_t<kIsFloating<T>, double, uint64_t>;

template <typename T>
Sum<T> Dot(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t k) {
  Sum<T> sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum +=
        static_cast<Sum<T>>(Widen(a[i * a_stride])) * static_cast<Sum<T>>(Widen(b[i * b_stride]));
  return sum;
}

/// Strides of an operand over [batch..., m, n], and along k.
struct Operand {
  Dims strides;
  int64_t k_stride = 0;
};

/// `rows` is true for A, whose matrix axes are (m, k); those of B are (k, n).
Operand MakeOperand(const HostView& view, const MatMulShape& shape, bool rows) {
  const int rank = view.shape.rank();
  const bool vector = rank == 1;
  Operand operand;
  HostView batch = view;
  batch.shape = vector ? Shape() : Shape(Dims(view.shape.begin(), view.shape.end() - 2));
  batch.strides.resize(batch.shape.rank());
  operand.strides = BroadcastStrides(batch, shape.batch);
  const auto stride = [&](int from_end) { return view.strides[rank - from_end]; };
  operand.k_stride = rows || vector ? stride(1) : stride(2);
  operand.strides.push_back(rows && !vector ? stride(2) : 0);
  operand.strides.push_back(rows || vector ? 0 : stride(1));
  return operand;
}

/// Strides of the output over [batch..., m, n].
Dims OutputStrides(const HostView& y, const MatMulShape& shape) {
  Dims strides = y.strides;
  if (shape.vector_b) strides.push_back(0);
  if (shape.vector_a) strides.insert(strides.end() - 1, 0);
  return strides;
}

Walker WalkMatMul(const HostView& y, const MatMulShape& shape, const Operand& a, const Operand& b,
                  int64_t begin) {
  Dims loops = shape.batch.dims();
  loops.push_back(shape.m);
  loops.push_back(shape.n);
  return Walker(Shape(loops), {a.strides, b.strides, OutputStrides(y, shape)}, begin);
}

int64_t ZeroPoint(const RefContext& context, size_t i, int64_t index) {
  if (!context.has_input(i)) return 0;
  const HostView& points = context.inputs[i];
  return points.GetInt(points.shape.elements() == 1 ? 0 : index * points.strides[0]);
}

}  // namespace

Status MatMulReference(const RefContext& context, const Region& region) {
  const HostView &a = context.inputs[0], &b = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const MatMulShape shape, ReadMatMul(a.shape, b.shape));
  const Operand left = MakeOperand(a, shape, true), right = MakeOperand(b, shape, false);
  Walker walk = WalkMatMul(y, shape, left, right, region.begin);
  DispatchDType(a.dtype, [&]<typename T>() {
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      y.as<T>()[walk[2]] = Narrow<T>(
          Dot(a.as<T>() + walk[0], left.k_stride, b.as<T>() + walk[1], right.k_stride, shape.k));
    }
  });
  return OkStatus();
}

Status MatMulIntegerReference(const RefContext& context, const Region& region) {
  const HostView &a = context.inputs[0], &b = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const MatMulShape shape, ReadMatMul(a.shape, b.shape));
  const Operand left = MakeOperand(a, shape, true), right = MakeOperand(b, shape, false);
  Walker walk = WalkMatMul(y, shape, left, right, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const size_t rank = walk.coordinate().size();
    const int64_t a_zero = ZeroPoint(context, 2, walk.coordinate()[rank - 2]);
    const int64_t b_zero = ZeroPoint(context, 3, walk.coordinate()[rank - 1]);
    int64_t sum = 0;
    for (int64_t k = 0; k < shape.k; ++k) {
      sum += (a.GetInt(walk[0] + k * left.k_stride) - a_zero) *
             (b.GetInt(walk[1] + k * right.k_stride) - b_zero);
    }
    y.SetInt(walk[2], sum);
  }
  return OkStatus();
}

Status GemmReference(const RefContext& context, const Region& region) {
  const HostView &a = context.inputs[0], &b = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const GemmAttributes gemm, ReadGemm(context.node, a.shape, b.shape));
  const int64_t a_row = a.strides[gemm.trans_a ? 1 : 0], a_k = a.strides[gemm.trans_a ? 0 : 1];
  const int64_t b_k = b.strides[gemm.trans_b ? 1 : 0], b_column = b.strides[gemm.trans_b ? 0 : 1];
  std::vector<Dims> strides = {{a_row, 0}, {0, b_column}, y.strides};
  if (context.has_input(2)) strides.push_back(BroadcastStrides(context.inputs[2], y.shape));
  Walker walk(y.shape, std::move(strides), region.begin);
  DispatchDType(a.dtype, [&]<typename T>() {
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      const Sum<T> dot = Dot(a.as<T>() + walk[0], a_k, b.as<T>() + walk[1], b_k, gemm.k);
      if constexpr (kIsFloating<T>) {
        const double c =
            context.has_input(2) ? gemm.beta * Widen(context.inputs[2].as<T>()[walk[3]]) : 0;
        y.as<T>()[walk[2]] = Narrow<T>(gemm.alpha * dot + c);
      } else {
        // Factors of integer products are whole numbers in practice; fractions truncate once.
        const auto scale = [](double factor, Wide<T> value) {
          return factor == 1 ? value : static_cast<Wide<T>>(factor * static_cast<double>(value));
        };
        Sum<T> sum = static_cast<Sum<T>>(scale(gemm.alpha, static_cast<Wide<T>>(dot)));
        if (context.has_input(2))
          sum += static_cast<Sum<T>>(scale(gemm.beta, Widen(context.inputs[2].as<T>()[walk[3]])));
        y.as<T>()[walk[2]] = Narrow<T>(sum);
      }
    }
  });
  return OkStatus();
}

Status EinsumReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  std::vector<Shape> shapes;
  for (const HostView& input : context.inputs) shapes.push_back(input.shape);
  ASSIGN_OR_RETURN(const Einsum einsum, ReadEinsum(context.attributes().Text("equation"), shapes));
  const size_t outer = einsum.output_rank;
  const Shape summed(Dims(einsum.extents.begin() + einsum.output_rank, einsum.extents.end()));
  std::vector<Dims> outer_strides, inner_strides;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    // A label that stands twice in a term walks the diagonal: its strides add up.
    Dims strides(einsum.extents.size(), 0);
    for (size_t axis = 0; axis < einsum.operand_axes[i].size(); ++axis) {
      if (shapes[i][static_cast<int>(axis)] != 1)
        strides[einsum.operand_axes[i][axis]] += context.inputs[i].strides[axis];
    }
    outer_strides.emplace_back(strides.begin(), strides.begin() + einsum.output_rank);
    inner_strides.emplace_back(strides.begin() + static_cast<ptrdiff_t>(outer), strides.end());
  }
  outer_strides.push_back(y.strides);
  Walker walk(y.shape, std::move(outer_strides), region.begin);
  const int64_t terms = summed.elements();
  DispatchDType(y.dtype, [&]<typename T>() {
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      Sum<T> sum = 0;
      Walker inner(summed, inner_strides, 0);
      for (int64_t t = 0; t < terms; ++t, inner.Next()) {
        Sum<T> product = 1;
        for (size_t k = 0; k < context.inputs.size(); ++k)
          product *= static_cast<Sum<T>>(Widen(context.inputs[k].as<T>()[walk[k] + inner[k]]));
        sum += product;
      }
      y.as<T>()[walk[context.inputs.size()]] = Narrow<T>(sum);
    }
  });
  return OkStatus();
}

namespace {

/// Gaussian elimination with partial pivoting on an n x n row-major matrix, which it destroys.
double Determinant(std::vector<double>& m, size_t n) {
  double determinant = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::fabs(m[row * n + column]) > std::fabs(m[pivot * n + column])) pivot = row;
    }
    const double value = m[pivot * n + column];
    if (value == 0) return 0;
    determinant *= pivot == column ? value : -value;
    for (size_t k = 0; k < n; ++k) std::swap(m[pivot * n + k], m[column * n + k]);
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = m[row * n + column] / value;
      for (size_t k = column; k < n; ++k) m[row * n + k] -= factor * m[column * n + k];
    }
  }
  return determinant;
}

}  // namespace

Status DetReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  AxisMask matrix(x.shape.rank(), false);
  matrix[matrix.size() - 1] = matrix[matrix.size() - 2] = true;
  const std::vector<int64_t> offsets = RowOffsets(x, matrix);
  Walker walk(y.shape, {Dims(x.strides.begin(), x.strides.end() - 2), y.strides}, region.begin);
  std::vector<double> elements(offsets.size());
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    for (size_t k = 0; k < offsets.size(); ++k) elements[k] = x.GetDouble(walk[0] + offsets[k]);
    y.SetDouble(walk[1], Determinant(elements, x.shape[x.shape.rank() - 1]));
  }
  return OkStatus();
}

}  // namespace fettle::ops
