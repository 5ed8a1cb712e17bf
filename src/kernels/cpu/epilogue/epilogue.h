// What follows the anchor of a group: a clamp that micro-kernels apply in registers, or an
// element-wise program that runs on each block of the result while it is in the cache.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "kernels/cpu/conv/pixels.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// max(low, min(high, x)); NaN passes.
struct Clamp {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

/// Elements [first, first + count) of a plane of `stride` elements, and of those behind it.
struct PlanePart {
  int64_t first = 0, count = 0, stride = 0, planes = 0;
};

/// The nodes after node 0 of a group whose node 0 computes one value.
class Epilogue {
 public:
  /// Fails with kUnsupported and the reason where the nodes are no clamp and no program.
  static Result<Epilogue> Compile(const ir::Graph& group, const StateAssignment& states);
  /// The same for the nodes after the one that computes `anchor`.
  static Result<Epilogue> Compile(const ir::Graph& group, const StateAssignment& states,
                                  ir::ValueId anchor);

  /// Compile for kernels that finish elements of a row-major output one behind the other
  /// (RunElements) and no rectangles: rows of it are joined as far as operands allow.
  static Result<Epilogue> CompileElements(const ir::Graph& group, const StateAssignment& states);

  /// Compile for kernels that add a tensor before their clamp: where that is all there is, there is
  /// no program, and addend() says which.
  static Result<Epilogue> CompileSum(const ir::Graph& group, const StateAssignment& states);

  /// Makes it the same of a group that differs in extents of more than one element alone, and whose
  /// output has so many rows; says whether it could.
  bool TakeRows(int64_t rows, int64_t cols);

  /// Whether it has no tensors as operands.
  bool has_numbers_alone() const {
    return addend_ < 0 && (!program_ || program_->has_numbers_alone());
  }
  /// The same of a row-major output, whose elements are computed in any order.
  bool TakeElements(const Shape& output);

  const Clamp& clamp() const { return clamp_; }
  /// The group's input that is to be added, in the output's state and shape; or -1.
  int addend() const { return addend_; }
  /// To append to the kernel's own.
  void AppendPacks(std::vector<PackRequest>& packs) const;
  /// `args.packed` holds the epilogue's from `first_pack` on.
  elementwise::Binding Bind(const LaunchArgs& args, size_t first_pack) const;
  bool has_program() const { return program_.has_value(); }
  /// Finishes a rectangle of the output whose `running` values already passed the clamp.
  void Run(const elementwise::Binding& binding, const elementwise::Tile& tile) const;
  /// The same for elements [first, first + count) of a row-major output `y`.
  void RunElements(const elementwise::Binding& binding, int64_t first, int64_t count,
                   float* y) const;
  /// RunElements of the same part of neighbouring planes.
  void RunPlanes(const elementwise::Binding& binding, const PlanePart& part, float* y) const;

 private:
  /// Of what the group was lowered to.
  static Result<Epilogue> Compile(const expr::Expr& expr, const ir::Graph& group,
                                  const StateAssignment& states, ir::ValueId anchor,
                                  elementwise::Geometry geometry);

  Clamp clamp_;
  int addend_ = -1;
  std::optional<elementwise::Program> program_;
};

/// RunElements of parts that are named one after the other; parts that follow each other in memory
/// are one call. What it is made of outlives it.
class JoinedElements {
 public:
  JoinedElements(const Epilogue& epilogue, const elementwise::Binding& binding, float* y)
      : epilogue_(epilogue), binding_(binding), y_(y) {}

  void Add(int64_t first, int64_t count);
  /// Finishes the parts that were added.
  void Finish();

 private:
  const Epilogue& epilogue_;
  const elementwise::Binding& binding_;
  float* y_;
  int64_t first_ = 0, count_ = 0;
};

/// Channels [channel, channel + channels) of pixels [pixel, pixel + pixels) of one image; where the
/// image is channels-last, of the images that follow it too.
struct PixelSpan {
  int64_t image = 0, pixel = 0, pixels = 0;
  int64_t channel = 0, channels = 0;
};
/// Finishes a span of the output `y`, and its pad lanes.
void FinishPixels(const Epilogue& epilogue, const elementwise::Binding& binding,
                  const PixelLayout& layout, const PixelSpan& span, float* y);

/// The states of a group in channels-last layout: fp32 storage for values of a float type, tensors
/// of the output's rank channels-last, others row-major. Fails with kUnsupported where a value's
/// type is f64.
Result<StateAssignment> ChannelsLastStates(const ir::Graph& group);
/// The same with every tensor row-major.
Result<StateAssignment> FloatRowMajorStates(const ir::Graph& group);

/// The position of `id` in `ids`, or -1.
int IndexOf(const std::vector<ir::ValueId>& ids, ir::ValueId id);

}  // namespace fettle::kernels
