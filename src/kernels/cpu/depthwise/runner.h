// Output rows of a depthwise convolution: chooses the lines that they read, and the function.
#pragma once

#include <vector>

#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/depthwise/padded.h"
#include "kernels/cpu/depthwise/row.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// The memory of one launch. `common` has all channels, but no `out`; its weights are [tap][padded
/// channel]. The runner sets the pixel strides.
struct DepthwiseMemory {
  DepthwiseCommon common;
  const std::byte* x = nullptr;
  const std::byte* zeros = nullptr;
};

/// Fails with kUnsupported where `node` is not a depthwise convolution.
Result<ConvGeometry> ReadDepthwiseGeometry(const ir::Graph& group, const ir::Node& node);

/// The layouts that depthwise kernels beside the channels-last one read and write. Fails with
/// kUnsupported where a channel multiplier or the rank rules them out.
Result<std::vector<ConvLayouts>> DepthwiseBlockLayouts(const ir::Graph& group,
                                                       const ConvGeometry& geometry);

/// Padded copies of lines from which rows are computed; none where the tensor's own lines are
/// better.
struct PaddedPlan {
  int64_t lines = 0;                 // copies at a time
  int64_t outputs = 0, columns = 0;  // of a piece of an output row, and of its lines
};

/// A depthwise convolution between two states.
struct DepthwiseProblem {
  ConvGeometry g;
  ConvPixels pixels;
  int64_t in_bytes = 4, out_bytes = 4;

  /// Channels that one pass may take: all, or a block.
  int64_t most_channels() const;
  /// Rows come from padded copies of lines.
  PaddedPlan PlanPadded() const;
  bool pads() const { return PlanPadded().lines > 0; }
};

/// How it is cut into tasks: output rows, and channels that one pass over them takes.
struct DepthwiseBlocking {
  int64_t rows = 1, channels = 1;
};
DepthwiseBlocking ChooseDepthwiseBlocking(const DepthwiseProblem& problem, int lanes);
/// As tunable parameters "rows" and "channels"; those that `params` leaves out are chosen here.
std::vector<Tunable> DepthwiseTunables(const DepthwiseProblem& problem, int lanes);
Params DepthwiseDefaults(const DepthwiseProblem& problem, int lanes);
DepthwiseBlocking ReadDepthwiseBlocking(const Params& params, const DepthwiseProblem& problem,
                                        int lanes);

/// Immutable.
class DepthwiseRunner {
 public:
  DepthwiseRunner(const DepthwiseProblem& problem, const DepthwiseBlocking& blocking);

  /// Rows [row, end) of all images, channels [channel, channel + channels).
  struct Task {
    int64_t row, end;
    int64_t channel, channels;
  };
  int64_t tasks() const { return row_tasks_ * channel_tasks_; }
  Task TaskAt(int64_t i) const;

  const ConvGeometry& geometry() const { return p_.g; }
  const PixelLayout& in() const { return p_.pixels.in; }
  const PixelLayout& out() const { return p_.pixels.out; }
  int64_t padded_channels() const { return padded_; }
  /// True: of padded copies, with weights as [channels / kDepthwisePad][tap][kDepthwisePad].
  bool pads() const { return padded_plan_.lines > 0; }
  /// The image and the first pixel of an output row.
  int64_t ImageOf(int64_t row) const { return row / (p_.g.out[0] * p_.g.out[1]); }
  int64_t PixelOf(int64_t row) const { return row % (p_.g.out[0] * p_.g.out[1]) * p_.g.out[2]; }
  /// Scratch of a lane, 64-byte aligned.
  int64_t lane_bytes() const { return pads() ? PaddedBytes() : PointerBytes() + CopyBytes(); }
  /// Writes the channels of `task` in output row `row` to `out`, pixels `out_pixel` elements apart.
  void RunRow(const DepthwiseMemory& memory, const Task& task, int64_t row, std::byte* out,
              int64_t out_pixel, std::byte* scratch) const;
  /// Writes `task` to the tensor `y`.
  void RunTask(const DepthwiseMemory& memory, const Task& task, std::byte* y,
               std::byte* scratch) const;

 private:
  bool Multiplies() const { return p_.g.oc != p_.g.ic; }
  int64_t KernelRows() const { return p_.g.kernel[0] * p_.g.kernel[1]; }
  bool IsVolume() const { return p_.g.kernel[0] > 1; }
  /// Whether the kernel rows that an output row meets follow each other: not so at the upper and
  /// lower borders of a volume's planes.
  bool LinesFollow(int64_t row) const;
  /// Elements from pixel to pixel of the lines that the rows read.
  int64_t InPixel() const { return Multiplies() ? p_.g.oc : p_.pixels.in.block; }
  int64_t PointerBytes() const;
  int64_t CopyBytes() const;
  int64_t LineBytes() const { return p_.g.in[2] * p_.g.oc * p_.in_bytes; }
  const std::byte* Line(const DepthwiseMemory& memory, int64_t row, int64_t channel, int64_t kd,
                        int64_t kh, std::byte* copies) const;
  /// `memory` for the channels of `task`.
  DepthwiseCommon CommonOf(const DepthwiseMemory& memory, const Task& task) const;
  /// The lines of the input that an output row uses, and the weights of each.
  struct LinesOfRow {
    const std::byte** lines;
    const float** weights;
  };
  struct FewLines {
    const std::byte* lines[kMaxDepthwiseLines];
    const float* weights[kMaxDepthwiseLines];
    operator LinesOfRow() { return {lines, weights}; }
  };
  void PlanRow(const DepthwiseCommon& common, const DepthwiseMemory& memory, int64_t row,
               int64_t channel, std::byte* copies, const LinesOfRow& found,
               DepthwiseRow& work) const;

  struct PaddedMemory;
  int64_t PaddedBytes() const;
  void PlanPaddedRow(int64_t index, int64_t begin, PaddedMemory& memory, PaddedRow& row) const;
  void RunPaddedPiece(const DepthwiseMemory& memory, const Task& task, int64_t begin, float* y,
                      std::byte* scratch) const;
  void RunPaddedTask(const DepthwiseMemory& memory, const Task& task, float* y,
                     std::byte* scratch) const;

  DepthwiseProblem p_;
  DepthwiseBlocking blocking_;
  PaddedPlan padded_plan_;
  PaddedBlocks padded_blocks_;
  int64_t padded_;
  bool by_rows_;
  int64_t row_tasks_, channel_tasks_;
};

}  // namespace fettle::kernels
