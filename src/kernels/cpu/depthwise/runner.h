// Output rows of a depthwise convolution from their geometry: which lines they read, and how.
#pragma once

#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/depthwise/row.h"

namespace fettle::kernels {

/// The memory of one launch. `common.weights` is [tap][padded channel].
struct DepthwiseMemory {
  DepthwiseCommon common;  // but for `out`
  const std::byte* x = nullptr;
  const std::byte* zeros = nullptr;
};

/// Fails with kUnsupported where `node` is no depthwise convolution.
Result<ConvGeometry> ReadDepthwiseGeometry(const ir::Graph& group, const ir::Node& node);

/// Immutable.
class DepthwiseRunner {
 public:
  DepthwiseRunner(const ConvGeometry& geometry, int64_t in_bytes, int64_t out_bytes, int lanes);

  const ConvGeometry& geometry() const { return g_; }
  int64_t rows() const { return g_.batch * g_.out[0] * g_.out[1]; }
  /// Rows that make a task.
  int64_t rows_per_task() const { return rows_per_task_; }
  int64_t padded_channels() const { return padded_; }
  /// Scratch of a lane, 64-byte aligned.
  int64_t lane_bytes() const { return PointerBytes() + CopyBytes(); }
  /// Writes output row `row` to `out`.
  void RunRow(const DepthwiseMemory& memory, int64_t row, std::byte* out, std::byte* scratch) const;

 private:
  int64_t PointerBytes() const;
  int64_t CopyBytes() const;
  int64_t LineBytes() const { return g_.in[2] * g_.oc * in_bytes_; }
  const std::byte* Line(const DepthwiseMemory& memory, int64_t row, int64_t kd, int64_t kh,
                        std::byte* copies) const;
  void RunByRow(const DepthwiseMemory& memory, int64_t row, std::byte* out,
                std::byte* copies) const;
  void RunByPixels(const DepthwiseMemory& memory, int64_t row, std::byte* out, std::byte* copies,
                   const std::byte** pointers) const;

  ConvGeometry g_;
  int64_t in_bytes_, out_bytes_;
  int64_t padded_;
  bool by_rows_;
  int64_t rows_per_task_ = 1;
};

}  // namespace fettle::kernels
