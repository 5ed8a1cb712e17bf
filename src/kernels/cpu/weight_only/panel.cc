#include "kernels/cpu/weight_only/panel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace fettle::kernels {
namespace {

/// What is taken off a code so that it is signed.
int Middle(DType dtype) {
  switch (dtype) {
    case DType::kU4: return 8;
    case DType::kU8: return 128;
    default: return 0;
  }
}

int BitsOf(DType dtype) { return dtype == DType::kU4 || dtype == DType::kI4 ? 4 : 8; }

/// Rows read at a time: the constant may be computed as it is read.
constexpr int64_t kRowsAtOnce = 64;

class Packer {
 public:
  Packer(const ops::WeightOnly& read, const PanelLayout& layout, const Constant& weights,
         std::byte* out)
      : read_(read),
        layout_(layout),
        weights_(weights),
        panel_bytes_(layout.panel_bytes()),
        middle_(Middle(weights.dtype())),
        out_(out) {}

  void PackCodes() {
    std::memset(out_, 0, layout_.scales_at());
    if (read_.by_columns) {
      std::vector<std::byte> column(read_.k);
      for (int64_t n = 0; n < read_.n; ++n) {
        weights_.CopyTo(n * read_.k, read_.k, column.data());
        for (int64_t k = 0; k < read_.k; ++k) Put(RowOf(k), n, column[k]);
      }
      return;
    }
    std::vector<std::byte> rows(kRowsAtOnce * read_.n);
    for (int64_t k0 = 0; k0 < read_.k; k0 += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, read_.k - k0);
      weights_.CopyTo(k0 * read_.n, count * read_.n, rows.data());
      for (int64_t k = 0; k < count; ++k) {
        const Row row = RowOf(k0 + k);
        for (int64_t n = 0; n < read_.n; ++n) Put(row, n, rows[k * read_.n + n]);
      }
    }
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

 private:
  /// A row of the operand in each panel: where its step begins, and which of the step it is.
  struct Row {
    int64_t step = 0, i = 0;
  };
  Row RowOf(int64_t k) const {
    const int64_t row = k % layout_.block;
    return {k / layout_.block * layout_.block_bytes() + row / kPanelStep * layout_.step_bytes(),
            row % kPanelStep};
  }

  void Put(const Row& row, int64_t n, std::byte code) {
    const int64_t column = n % layout_.nr, nr = layout_.nr;
    std::byte* step = out_ + n / nr * panel_bytes_ + row.step;
    const auto value = static_cast<unsigned>(static_cast<int>(code) - middle_);
    if (layout_.bits == 8) {
      step[row.i * nr + column] = static_cast<std::byte>(value);
    } else {
      step[column * 4 + row.i / 2] |= static_cast<std::byte>((value & 15U) << (row.i % 2 * 4));
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
  int64_t panel_bytes_;
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

bool HasZeroPoints(const Constant& weights, const Constant* zeros) {
  const int middle = Middle(weights.dtype());
  if (zeros == nullptr) return middle != 0;
  std::array<std::byte, 4096> piece;
  const int64_t count = zeros->is_splat() ? 1 : zeros->elements();
  for (int64_t begin = 0; begin < count; begin += std::ssize(piece)) {
    const int64_t size = std::min<int64_t>(std::ssize(piece), count - begin);
    zeros->CopyTo(begin, size, piece.data());
    const auto is_middle = [=](std::byte zero) { return zero == std::byte(middle); };
    if (!std::all_of(piece.begin(), piece.begin() + size, is_middle)) return true;
  }
  return false;
}

PanelLayout LayoutOf(const ops::WeightOnly& read, DType dtype, int nr) {
  return {.nr = nr, .bits = BitsOf(dtype), .n = read.n, .k = read.k, .block = read.block};
}

void PackPanels(const ops::WeightOnly& read, const PanelLayout& layout, const Constant& weights,
                const Constant& scales, const Constant* zeros, std::byte* out) {
  Packer packer(read, layout, weights, out);
  packer.PackCodes();
  packer.PackScales(scales);
  if (layout.has_zeros) packer.PackZeros(zeros);
}

}  // namespace fettle::kernels
