// cpu.pool.roi: RoiAlign and MaxRoiPool over channels-last features of floats held in fp32: all
// channels of a sample at once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  Shape x, y;
  bool aligns = false;          // else MaxRoiPool
  ops::RoiAlignAttributes roi;  // of MaxRoiPool: its scale alone
  DType index_type = DType::kI64;
};

/// A stretch of an axis that a cell of the output covers: where it begins, how long it is, and in
/// how many samples.
struct Stretch {
  double begin, length;
  int64_t samples;

  double At(int64_t i) const {
    return begin + (static_cast<double>(i) + 0.5) * length / static_cast<double>(samples);
  }
};

/// The two elements of an axis that a sample lies between, and the second one's weight.
struct Between {
  int64_t first, second;
  double ratio;
  bool inside;  // else the sample is 0

  Between(double at, int64_t extent) {
    const auto last = static_cast<double>(extent - 1);
    inside = extent > 0 && at >= -1 && at <= last + 1;
    const double held = inside ? std::clamp(at, 0.0, last) : 0.0;
    first = static_cast<int64_t>(held);
    second = std::min(first + 1, extent - 1);
    ratio = held - static_cast<double>(first);
  }
};

/// y = max(y, x), element by element; a NaN of x is left out.
void Raise(const float* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] < x[i] ? x[i] : y[i];
}

class Roi final : public NodeKernel {
 public:
  Roi(const Problem& problem, const Facts& facts)
      : NodeKernel(problem),
        facts_(facts),
        channels_(facts.x[1]),
        row_major_(problem.states.outputs[0].layout.IsRowMajor()) {}

  Status Run(const CpuLaunch& args) const override {
    const int64_t rois = facts_.y[0], rows = facts_.y[2];
    if (facts_.y.elements() == 0) return OkStatus();
    for (int64_t k = 0; k < rois; ++k) RETURN_IF_ERROR(Check(args, k));
    args.stream.ParallelFor(rois * rows, [&](int64_t task, int lane) {
      float* cell = args.At(cell_, lane);
      const int64_t k = task / rows, row = task % rows;
      for (int64_t column = 0; column < facts_.y[3]; ++column) {
        facts_.aligns ? Align(args, k, row, column, cell) : Pool(args, k, row, column, cell);
        Store(args, cell, k, row, column);
      }
    });
    return OkStatus();
  }

 private:
  const float* Corners(const LaunchArgs& args, int64_t k) const {
    return reinterpret_cast<const float*>(operands().input(args, 1)) + k * (facts_.aligns ? 4 : 5);
  }
  /// The picture of a region.
  int64_t Picture(const LaunchArgs& args, int64_t k) const {
    if (!facts_.aligns) return static_cast<int64_t>(Corners(args, k)[0]);
    return Indices{operands().input(args, 2), facts_.index_type}[k];
  }
  const float* Pixels(const LaunchArgs& args, int64_t k) const {
    return reinterpret_cast<const float*>(operands().input(args, 0)) +
           Picture(args, k) * facts_.x[2] * facts_.x[3] * channels_;
  }

  Status Check(const LaunchArgs& args, int64_t k) const {
    const float* corners = Corners(args, k);
    const auto is_finite = [](float value) { return std::isfinite(value); };
    if (!facts_.aligns && !std::all_of(corners, corners + 5, is_finite))
      return InvalidArgument("a region of interest is not finite");
    const bool is_below = !facts_.aligns && corners[0] < 0;
    const int64_t picture = Picture(args, k);
    if (is_below || picture < 0 || picture >= facts_.x[0])
      return InvalidArgument("batch index {} out of range", picture);
    return OkStatus();
  }

  Stretch StretchOf(double low, double high, int64_t extent, int64_t at) const {
    const ops::RoiAlignAttributes& roi = facts_.roi;
    const double shift = roi.half_pixel ? 0.5 : 0.0, begin = low * roi.spatial_scale - shift;
    double length = high * roi.spatial_scale - shift - begin;
    if (!roi.half_pixel) length = std::max(length, 1.0);
    length /= static_cast<double>(extent);
    // Huge or NaN corners end here.
    const double most = length > 0 ? std::min(length, 1024.0) : 0.0;
    const int64_t samples =
        roi.sampling_ratio > 0 ? roi.sampling_ratio : static_cast<int64_t>(std::ceil(most));
    return {begin + static_cast<double>(at) * length, length, samples};
  }

  void Align(const LaunchArgs& args, int64_t k, int64_t row, int64_t column, float* cell) const {
    const float* corners = Corners(args, k);
    const Stretch high = StretchOf(corners[1], corners[3], facts_.y[2], row);
    const Stretch wide = StretchOf(corners[0], corners[2], facts_.y[3], column);
    const int64_t samples = high.samples * wide.samples;
    const bool starts_low = facts_.roi.max && samples > 0;
    std::fill_n(cell, channels_, starts_low ? -std::numeric_limits<float>::infinity() : 0.0f);
    for (int64_t i = 0; i < high.samples; ++i) {
      const Between h(high.At(i), facts_.x[2]);
      for (int64_t j = 0; j < wide.samples; ++j) {
        const Between w(wide.At(j), facts_.x[3]);
        AddSample(Pixels(args, k), h, w, 1.0 / static_cast<double>(samples), cell);
      }
    }
  }

  /// In max mode the largest weighted corner counts instead of their sum, as in the oracle.
  void AddSample(const float* x, const Between& h, const Between& w, double share,
                 float* cell) const {
    const int64_t n = channels_, line = facts_.x[3] * n;
    if (!h.inside || !w.inside) {
      for (int64_t c = 0; c < n && facts_.roi.max; ++c) cell[c] = std::max(cell[c], 0.0f);
      return;
    }
    const double part = facts_.roi.max ? 1.0 : share;
    const float *top = x + h.first * line, *bottom = x + h.second * line;
    const float *a = top + w.first * n, *b = top + w.second * n;
    const float *c = bottom + w.first * n, *d = bottom + w.second * n;
    const auto of_a = static_cast<float>((1 - h.ratio) * (1 - w.ratio) * part);
    const auto of_b = static_cast<float>((1 - h.ratio) * w.ratio * part);
    const auto of_c = static_cast<float>(h.ratio * (1 - w.ratio) * part);
    const auto of_d = static_cast<float>(h.ratio * w.ratio * part);
    if (!facts_.roi.max) {
      for (int64_t i = 0; i < n; ++i)
        cell[i] += of_a * a[i] + of_b * b[i] + of_c * c[i] + of_d * d[i];
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      float most = cell[i];
      for (const float value : {of_a * a[i], of_b * b[i], of_c * c[i], of_d * d[i]})
        most = most < value ? value : most;
      cell[i] = most;
    }
  }

  void Pool(const LaunchArgs& args, int64_t k, int64_t row, int64_t column, float* cell) const {
    const float* corners = Corners(args, k);
    int64_t begin[2], end[2];
    for (int axis = 0; axis < 2; ++axis) {  // 0: height, 1: width
      const auto extent = static_cast<double>(facts_.x[axis + 2]);
      const double low = std::round(corners[2 - axis] * facts_.roi.spatial_scale);
      const double high = std::round(corners[4 - axis] * facts_.roi.spatial_scale);
      const double bin = std::max(high - low + 1, 1.0) / static_cast<double>(facts_.y[axis + 2]);
      const auto at = static_cast<double>(axis == 0 ? row : column);
      begin[axis] = static_cast<int64_t>(std::clamp(std::floor(at * bin) + low, 0.0, extent));
      end[axis] = static_cast<int64_t>(std::clamp(std::ceil((at + 1) * bin) + low, 0.0, extent));
    }
    const bool is_empty = begin[0] >= end[0] || begin[1] >= end[1];
    std::fill_n(cell, channels_, is_empty ? 0.0f : -std::numeric_limits<float>::infinity());
    for (int64_t h = begin[0]; h < end[0]; ++h) {
      for (int64_t w = begin[1]; w < end[1]; ++w)
        Raise(Pixels(args, k) + (h * facts_.x[3] + w) * channels_, channels_, cell);
    }
  }

  void Store(const LaunchArgs& args, const float* cell, int64_t k, int64_t row,
             int64_t column) const {
    auto* y = reinterpret_cast<float*>(operands().output(args, 0));
    const int64_t cells = facts_.y[2] * facts_.y[3], at = row * facts_.y[3] + column;
    if (!row_major_) {
      std::copy_n(cell, channels_, y + (k * cells + at) * channels_);
      return;
    }
    for (int64_t c = 0; c < channels_; ++c) y[(k * channels_ + c) * cells + at] = cell[c];
  }

  Facts facts_;
  int64_t channels_;
  bool row_major_;
  LaneScratch<float> cell_ = PerLane<float>(channels_);
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("computes one node alone");
  const ir::Node& node = group.nodes()[0];
  const bool aligns = node.op == "RoiAlign"_op;
  if (!aligns && node.op != "MaxRoiPool"_op) return Unsupported("pools regions only");
  const ir::Value &x = group.value(node.inputs[0]), &rois = group.value(node.inputs[1]);
  const bool is_half = x.dtype == DType::kF16 || x.dtype == DType::kBF16;
  if (x.dtype != DType::kF32 && !is_half)
    return Unsupported("{} is not pooled here", DTypeName(x.dtype));
  // Constants are packed as what they are.
  if (x.is_constant() || (is_half && rois.is_constant()))
    return Unsupported("features, or regions of halves, that are constant");
  Facts facts{.x = *x.shape, .y = *group.value(node.outputs[0]).shape, .aligns = aligns};
  facts.roi.spatial_scale = node.attributes.Float("spatial_scale", 1);
  if (!aligns) return facts;
  ASSIGN_OR_RETURN(facts.roi, ops::ReadRoiAlign(node));
  facts.index_type = group.value(node.inputs[2]).dtype;
  if (facts.index_type != DType::kI64 && facts.index_type != DType::kI32)
    return Unsupported("indices of type {}", DTypeName(facts.index_type));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  StateAssignment row_major = WidenedStates(group);
  const ir::ValueId x = group.nodes()[0].inputs[0];
  const Layout channels_last = Layout::ChannelsLast(4);
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (group.inputs[i] == x) row_major.inputs[i].layout = channels_last;
  }
  StateAssignment pixels = row_major;
  pixels.outputs[0].layout = channels_last;
  return std::vector<StateAssignment>{row_major, pixels};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<Roi>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuPoolRoi;
const KernelDesc kCpuPoolRoi = {.name = "cpu.pool.roi", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
