#include "kernels/cpu/gemm/pack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/move/tile_transpose.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Elements converted at a time: small enough for the first-level cache.
constexpr int64_t kChunk = 4096;

/// Whole panels of rows that lie apart, which prefetchers do not follow: each asks for one behind.
template <int kColumns>
void CopyPanel(const StridedMatrix& b, int64_t depth, float* out) {
  constexpr int64_t kAhead = 16, kLine = 64 / sizeof(float);
  for (int64_t k = 0; k < depth; ++k, out += kColumns) {
    const float* row = b.data + k * b.row_stride;
    for (int64_t n = 0; n < kColumns; n += kLine)
      __builtin_prefetch(row + kAhead * b.row_stride + n);
    std::memcpy(out, row, kColumns * sizeof(float));
  }
}

/// Columns 1 apart: rows are copied as they are.
void PackRows(const StridedMatrix& b, int64_t depth, int64_t columns, int nr, float* out) {
  if (columns == nr && nr == 32) return CopyPanel<32>(b, depth, out);
  if (columns == nr && nr == 16) return CopyPanel<16>(b, depth, out);
  for (int64_t k = 0; k < depth; ++k, out += nr) {
    const float* row = b.data + k * b.row_stride;
    int64_t n = 0;
    for (; n < columns; ++n) out[n] = row[n];
    for (; n < nr; ++n) out[n] = 0;
  }
}

/// Columns apart, each of which is contiguous or not.
void PackColumns(const StridedMatrix& b, int64_t depth, int64_t columns, int nr, float* out) {
  if (b.row_stride == 1) {
    TransposeMatrix(b.data, b.column_stride, out, int64_t{nr}, columns, depth);
  } else {
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t k = 0; k < depth; ++k)
        out[k * nr + n] = b.data[n * b.column_stride + k * b.row_stride];
    }
  }
  if (columns == nr) return;
  for (int64_t k = 0; k < depth; ++k) std::fill(out + k * nr + columns, out + (k + 1) * nr, 0.0F);
}

void Scale(float scale, int64_t count, float* x) {
  if (scale == 1) return;
  for (int64_t i = 0; i < count; ++i) x[i] *= scale;
}

/// One group of weights [oc][ic][taps]: reads each channel's contiguous piece, writes it as a
/// column.
void PackGroup(const Constant& weights, int64_t at, const WeightShape& shape, int nr, float scale,
               float* out) {
  // Channels at a time; divides nr.
  const int64_t width = std::min(16, nr);
  const int64_t ic_chunk = std::max<int64_t>(1, kChunk / (width * shape.taps));
  std::vector<float> piece(width * ic_chunk * shape.taps), turned(piece.size());
  const int64_t panel_elements = shape.depth() * nr, block = shape.block();
  for (int64_t o0 = 0; o0 < shape.oc; o0 += width) {
    const int64_t os = std::min(width, shape.oc - o0);
    float* panel = out + o0 / nr * panel_elements + o0 % nr;
    for (int64_t i0 = 0; i0 < shape.ic; i0 += ic_chunk) {
      const int64_t count = std::min(ic_chunk, shape.ic - i0) * shape.taps;
      for (int64_t o = 0; o < os; ++o) {
        ReadFloats(weights, at + ((o0 + o) * shape.ic + i0) * shape.taps, count,
                   piece.data() + o * count);
      }
      Scale(scale, os * count, piece.data());
      if (shape.taps == 1) {
        TransposeMatrix(piece.data(), count, panel + i0 * nr, int64_t{nr}, os, count);
        continue;
      }
      TransposeMatrix(piece.data(), count, turned.data(), width, os, count);
      for (int64_t t = 0; t < shape.taps; ++t) {
        const int64_t tap = shape.Position(t);
        for (int64_t e = t, i = i0; e < count; e += shape.taps, ++i) {
          float* row = panel + ((i / block * shape.taps + tap) * block + i % block) * nr;
          std::copy_n(turned.data() + e * width, os, row);
        }
      }
    }
  }
}

/// One group of weights [ic][oc][taps].
void PackTransposedGroup(const Constant& weights, int64_t at, const WeightShape& shape, int nr,
                         float scale, float* out) {
  std::vector<float> piece(nr * shape.taps);
  for (int64_t i = 0; i < shape.ic; ++i) {
    for (int64_t o0 = 0; o0 < shape.oc; o0 += nr) {
      const int64_t os = std::min<int64_t>(nr, shape.oc - o0);
      ReadFloats(weights, at + (i * shape.oc + o0) * shape.taps, os * shape.taps, piece.data());
      float* panel = out + o0 * shape.ic * shape.taps;
      for (int64_t t = 0; t < shape.taps; ++t) {
        float* row = panel + (shape.Position(t) * shape.ic + i) * nr;
        for (int64_t o = 0; o < os; ++o) {
          row[o] = scale * piece[o * shape.taps + t];
        }
      }
    }
  }
}

/// The groups that one stands for, as a block diagonal.
void PackJoined(const Constant& weights, int64_t at, const WeightShape& shape, int nr, float scale,
                float* out) {
  const int64_t oc = shape.oc / shape.joined, ic = shape.ic / shape.joined;
  const int64_t step_o = shape.transposed ? shape.taps : ic * shape.taps;
  const int64_t step_i = shape.transposed ? oc * shape.taps : shape.taps;
  std::vector<float> piece(oc * ic * shape.taps);
  std::fill_n(out, shape.group_elements(nr), 0.F);
  for (int64_t j = 0; j < shape.joined; ++j) {
    ReadFloats(weights, at + j * std::ssize(piece), std::ssize(piece), piece.data());
    for (int64_t t = 0; t < shape.taps; ++t) {
      float* row = out + (shape.Position(t) * shape.ic + j * ic) * nr + j * oc;
      for (int64_t i = 0; i < ic; ++i, row += nr) {
        for (int64_t o = 0; o < oc; ++o) row[o] = scale * piece[o * step_o + i * step_i + t];
      }
    }
  }
}

}  // namespace

WeightShape JoinGroups(WeightShape shape, int nr) {
  for (int64_t count = nr / 2 / std::max<int64_t>(shape.oc, 1); count > 1; --count) {
    if (shape.groups % count != 0) continue;
    shape.joined = count;
    shape.groups /= count;
    shape.oc *= count;
    shape.ic *= count;
    break;
  }
  return shape;
}

void PackPanel(const StridedMatrix& b, int64_t depth, int64_t columns, int nr, float scale,
               float* out) {
  (b.column_stride == 1 ? PackRows : PackColumns)(b, depth, columns, nr, out);
  Scale(scale, depth * nr, out);
}

void CopyRows(const StridedMatrix& a, int64_t rows, int64_t depth, int64_t stride, float* out) {
  if (a.column_stride == 1) {
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(a.data + r * a.row_stride, depth, out + r * stride);
    return;
  }
  if (a.row_stride == 1) {
    TransposeMatrix(a.data, a.column_stride, out, stride, depth, rows);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < depth; ++k)
      out[r * stride + k] = a.data[r * a.row_stride + k * a.column_stride];
  }
}

void PackWeights(const Constant& weights, const WeightShape& shape, int nr, float scale,
                 float* out) {
  const int64_t group_source = shape.oc * shape.ic * shape.taps / shape.joined;
  for (int64_t g = 0; g < shape.groups; ++g, out += shape.group_elements(nr)) {
    if (shape.joined > 1) {
      PackJoined(weights, g * group_source, shape, nr, scale, out);
      continue;
    }
    const int64_t panel = shape.depth() * nr;
    if (shape.depth() != shape.ic * shape.taps) {
      std::fill_n(out, shape.panels(nr) * panel, 0.F);
    } else if (shape.oc % nr != 0) {
      std::fill_n(out + (shape.panels(nr) - 1) * panel, panel, 0.F);
    }
    (shape.transposed ? PackTransposedGroup : PackGroup)(weights, g * group_source, shape, nr,
                                                         scale, out);
  }
}

void PackWeightPanel(const float* weights, const WeightShape& shape, int nr, int64_t group,
                     int64_t panel, float* out) {
  const int64_t first = panel * nr, columns = std::min<int64_t>(nr, shape.oc - first);
  const float* from = weights + (group * shape.oc + first) * shape.ic * shape.taps;
  for (int64_t t = 0; t < shape.taps; ++t) {
    PackPanel({from + t, shape.taps, shape.ic * shape.taps}, shape.ic, columns, nr, 1,
              out + shape.Position(t) * shape.ic * nr);
  }
}

void PackBias(const Constant* bias, int64_t begin, int64_t count, int64_t padded, float scale,
              float* out) {
  std::fill_n(out, padded, 0.F);
  if (bias == nullptr) return;
  if (bias->elements() == 1) {
    ReadFloats(*bias, 0, 1, out);
    std::fill_n(out, count, out[0]);
  } else {
    ReadFloats(*bias, begin, count, out);
  }
  for (int64_t i = 0; i < count; ++i) out[i] *= scale;
}

}  // namespace fettle::kernels
