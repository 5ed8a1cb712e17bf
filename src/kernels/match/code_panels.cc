#include "kernels/match/code_panels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

int BitsOf(const ops::WeightOnly& read, DType dtype) {
  if (read.bits != 0) return read.bits;
  return dtype == DType::kU4 || dtype == DType::kI4 ? 4 : 8;
}

/// What is taken off a code so that it is signed.
int Middle(const ops::WeightOnly& read, DType dtype) {
  const bool is_signed = dtype == DType::kI4 || dtype == DType::kI8;
  return is_signed ? 0 : 1 << (BitsOf(read, dtype) - 1);
}

/// Rows read at a time: the constant may be computed as it is read.
constexpr int64_t kRowsAtOnce = 64;

class Packer {
 public:
  Packer(const ops::WeightOnly& read, const PanelLayout& layout, const Constant& weights,
         std::byte* out)
      : read_(read),
        layout_(layout),
        weights_(weights),
        middle_(Middle(read, weights.dtype())),
        out_(out) {}

  void PackCodes() {
    std::memset(out_, 0, layout_.scales_at());
    read_.by_columns ? PackColumns() : PackRows();
  }

  void PackScales(const Constant& scales) {
    auto* out = reinterpret_cast<float*>(out_ + layout_.scales_at());
    std::fill_n(out, layout_.scale_count(), 0.F);
    std::vector<float> all(scales.elements());
    ReadFloats(scales, 0, scales.elements(), all.data());
    ForEachScale(scales.elements(), [&](int64_t from, int64_t to) { out[to] = all[from]; });
  }

  void PackZeros(const Constant* zeros) {
    auto* out = reinterpret_cast<int8_t*>(out_ + layout_.zeros_at());
    std::fill_n(out, layout_.scale_count(), int8_t{0});
    const int64_t count = zeros == nullptr ? 1 : zeros->elements();
    ForEachScale(count, [&](int64_t from, int64_t to) {
      const int64_t zero = zeros == nullptr ? 0 : zeros->GetInt(from);
      out[to] = static_cast<int8_t>(zero - middle_);
    });
  }

  void PackBias(const Constant& row, float beta) {
    std::vector<float> all(row.elements());
    ReadFloats(row, 0, row.elements(), all.data());
    auto* out = reinterpret_cast<float*>(out_ + layout_.bias_at());
    std::fill_n(out, layout_.panels() * layout_.nr, 0.F);
    for (int64_t n = 0; n < read_.n; ++n) out[n] = beta * all[all.size() == 1 ? 0 : n];
  }

 private:
  void PackRows() {
    std::vector<std::byte> rows(kRowsAtOnce * read_.n);
    for (int64_t k0 = 0; k0 < read_.k; k0 += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, read_.k - k0);
      weights_.CopyTo(k0 * read_.n, count * read_.n, rows.data());
      for (int64_t k = 0; k < count; ++k) PackRow(k0 + k, rows.data() + k * read_.n);
    }
  }

  /// One row of the operand, in all panels.
  void PackRow(int64_t k, const std::byte* codes) {
    const int64_t row = k % layout_.block, nr = layout_.nr;
    std::byte* step =
        out_ + k / layout_.block * layout_.block_bytes() + row / kPanelStep * layout_.step_bytes();
    for (int64_t n = 0; n < read_.n; n += nr, step += layout_.panel_bytes()) {
      const int64_t columns = std::min<int64_t>(nr, read_.n - n);
      for (int64_t c = 0; c < columns; ++c) Put(step, row % kPanelStep, c, codes[n + c]);
    }
  }

  void PackColumns() {
    std::vector<std::byte> column(read_.k);
    for (int64_t n = 0; n < read_.n; ++n) {
      weights_.CopyTo(n * read_.k, read_.k, column.data());
      std::byte* block = out_ + n / layout_.nr * layout_.panel_bytes();
      for (int64_t k = 0; k < read_.k; k += layout_.block, block += layout_.block_bytes()) {
        const int64_t rows = std::min(layout_.block, read_.k - k);
        for (int64_t r = 0; r < rows; ++r) {
          Put(block + r / kPanelStep * layout_.step_bytes(), r % kPanelStep, n % layout_.nr,
              column[k + r]);
        }
      }
    }
  }

  /// Row `i` of a step.
  void Put(std::byte* step, int64_t i, int64_t column, std::byte code) const {
    const auto value = static_cast<unsigned>(static_cast<int>(code) - middle_);
    if (layout_.bits == 8) {
      step[i * layout_.nr + column] = static_cast<std::byte>(value);
    } else {
      const int64_t bit = i * layout_.bits;
      step[column * layout_.bits + bit / 8] |=
          static_cast<std::byte>((value & ((1U << layout_.bits) - 1)) << (bit % 8));
    }
  }

  /// f(index of the constant, index of the packed form).
  template <typename F>
  void ForEachScale(int64_t count, F f) const {
    const int64_t blocks = layout_.blocks(), nr = layout_.nr;
    for (int64_t n = 0; n < read_.n; ++n) {
      for (int64_t b = 0; b < blocks; ++b)
        f(read_.ScaleIndex(n, b, count), (n / nr * blocks + b) * nr + n % nr);
    }
  }

  const ops::WeightOnly& read_;
  const PanelLayout& layout_;
  const Constant& weights_;
  int middle_;
  std::byte* out_;
};

}  // namespace

Panel PanelOf(const PanelLayout& layout, const std::byte* packed, int64_t panel) {
  const int64_t scales = panel * layout.blocks() * layout.nr;
  Panel view;
  view.codes = packed + panel * layout.panel_bytes();
  view.scales = reinterpret_cast<const float*>(packed + layout.scales_at()) + scales;
  if (layout.has_zeros)
    view.zeros = reinterpret_cast<const int8_t*>(packed + layout.zeros_at()) + scales;
  view.k = layout.k;
  view.block = layout.block;
  view.block_bytes = layout.block_bytes();
  return view;
}

bool HasZeroPoints(const ops::WeightOnly& read, const Constant& weights, const Constant* zeros) {
  const int middle = Middle(read, weights.dtype());
  if (zeros == nullptr) return middle != 0;
  std::array<std::byte, 4096> piece{};
  const int64_t count = zeros->is_splat() ? 1 : zeros->elements();
  for (int64_t begin = 0; begin < count; begin += std::ssize(piece)) {
    const int64_t size = std::min<int64_t>(std::ssize(piece), count - begin);
    zeros->CopyTo(begin, size, piece.data());
    const auto is_middle = [=](std::byte zero) { return zero == std::byte(middle); };
    if (!std::all_of(piece.begin(), piece.begin() + size, is_middle)) return true;
  }
  return false;
}

Result<CodeProduct> ReadCodeProduct(const ir::Graph& group) {
  if (group.nodes().size() < 2) return Unsupported("computes products of dequantised weights only");
  for (size_t i = 2; i < group.nodes().size(); ++i) {
    if (group.nodes()[i].op == "DequantizeLinear"_op)
      return Unsupported("more than one operand is dequantised");
  }
  CodeProduct read;
  ASSIGN_OR_RETURN(read.weights, ops::ReadWeightOnly(group, group.nodes()[0], group.nodes()[1]));
  ASSIGN_OR_RETURN(read.product, ReadProduct(group, group.nodes()[1], true));
  read.anchor = group.nodes()[1].output(0);
  return read;
}

PanelLayout LayoutOf(const ops::WeightOnly& read, DType dtype, int nr) {
  return {.nr = nr, .bits = BitsOf(read, dtype), .n = read.n, .k = read.k, .block = read.block};
}

PackRequest RequestPanels(const ops::WeightOnly& read, const PanelLayout& layout, DType dtype,
                          ir::ValueId bias, float beta) {
  PackRequest request;
  request.constants = {read.weights, read.scales};
  const bool takes_zeros = read.zeros != ir::kAbsent;
  if (takes_zeros) request.constants.push_back(read.zeros);
  if (layout.has_bias) request.constants.push_back(bias);
  request.recipe =
      fmt::format("weight_only.{}x{}.block{}.t{}.nr{}.zeros{}{}.bias{}", DTypeName(dtype),
                  layout.bits, layout.block, read.by_columns, layout.nr, takes_zeros,
                  layout.has_zeros, layout.has_bias ? beta : 0);
  request.bytes = layout.bytes();
  request.pack = [=](std::span<const Constant* const> constants, std::byte* out) {
    Packer packer(read, layout, *constants[0], out);
    packer.PackCodes();
    packer.PackScales(*constants[1]);
    if (layout.has_zeros) packer.PackZeros(takes_zeros ? constants[2] : nullptr);
    if (layout.has_bias) packer.PackBias(*constants.back(), beta);
    return OkStatus();
  };
  return request;
}

}  // namespace fettle::kernels
