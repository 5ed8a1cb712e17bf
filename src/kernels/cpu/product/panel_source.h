// Constant right operands that stay in fewer bits than f32 has, as a product reads them: few rows
// multiply a panel as it is, for more a slice of it becomes floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// C[rows, columns] = clamp(bias + A * B + addend), B a panel in whatever form it has.
struct RowsByPanel {
  const float* a = nullptr;  // rows a_stride elements apart
  int64_t a_stride = 0;
  int64_t rows = 0;
  float* c = nullptr;
  int64_t c_stride = 0;
  int64_t columns = 0;
  const float* bias = nullptr;    // for each column of the panel, or null for zero
  const float* addend = nullptr;  // lies as C does; or null
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

/// A matrix [k, n] as panels of nr columns; `packed` is what Request() packs. Immutable.
class PanelSource {
 public:
  virtual ~PanelSource() = default;

  virtual PackRequest Request() const = 0;
  /// What is added to the columns from `column` on, padded to whole panels; null: nothing.
  virtual const float* Bias(const std::byte* packed, int64_t column) const = 0;

  /// Rows of A up to which panels are multiplied as they are read.
  virtual int64_t direct_rows() const = 0;
  /// Rows of one Multiply, at most.
  virtual int64_t most_rows() const = 0;
  /// Panels that one Multiply reads where A has `rows` rows in all.
  virtual int64_t panels_at_once(int64_t /*rows*/) const { return 1; }
  /// `work.columns` reach into the panels behind where several are read at once.
  virtual void Multiply(const std::byte* packed, int64_t panel, const RowsByPanel& work) const = 0;

  /// Where a slice ends that begins at `row`: at most kSliceRows later.
  static constexpr int64_t kSliceRows = 256;
  virtual int64_t SliceEnd(int64_t row) const = 0;
  /// Rows [begin, end) of a panel, a slice, as floats [row][nr]: `out` is aligned to 64 bytes.
  virtual void Decode(const std::byte* packed, int64_t panel, int64_t begin, int64_t end,
                      float* out) const = 0;
  /// The bytes that Decode reads most of: to be fetched ahead of it. They may lie behind the last
  /// panel.
  virtual std::span<const std::byte> Slice(const std::byte* packed, int64_t panel, int64_t begin,
                                           int64_t end) const = 0;
};

}  // namespace fettle::kernels
