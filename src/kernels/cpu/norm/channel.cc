// cpu.norm.channel: InstanceNormalization and GroupNormalization in fp32, row-major (channels are
// rows), channels-last and blocked (channels are columns), in place where the input dies. Halves
// row-major, too: a row of them is made floats while it is computed.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/norm/rows.h"
#include "kernels/cpu/reduce/fold.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"

namespace fettle::kernels {
namespace {

/// An input [batch, blocks, groups * channels, space], or with the channels behind the space;
/// `channels` per group share statistics.
struct Extents {
  int64_t batch = 0, blocks = 1, groups = 0, channels = 0, space = 0;
  bool in_columns = false;                                    // the channels lie behind the space
  int64_t all_channels() const { return groups * channels; }  // of a block
  int64_t elements() const { return batch * blocks * all_channels() * space; }
};

struct Facts {
  Extents extents;  // row-major
  Shape x;
  float epsilon;
};

/// Longest row of halves: its floats are to stay in a cache.
constexpr int64_t kMostHalves = 1 << 20;

/// Copies elements of one type to another.
void ConvertRow(const void* from, DType storage, int64_t n, void* to, DType wanted) {
  using elementwise::Source;
  const elementwise::Instruction copy{.output = 0, .a = {Source::kOperand, 0, 0}};
  const elementwise::Window in{from, 0, 1, storage}, out{to, 0, 1, wanted};
  elementwise::Execute({&copy, 1}, {&in, 1}, {&out, 1}, 1, n);
}

/// Pixels whose columns one task sums; the partial sums are joined in order.
constexpr int64_t kElementsPerPart = 32768;

class ChannelNorm final : public CpuKernel {
 public:
  ChannelNorm(const Problem& problem, const Extents& extents, float epsilon)
      : CpuKernel(problem.threads),
        extents_(extents),
        storage_(problem.states.outputs[0].storage),
        epsilon_(epsilon) {
    const ir::Node& node = problem.node();
    x_ = static_cast<size_t>(
        std::find(problem.group->inputs.begin(), problem.group->inputs.end(), node.inputs[0]) -
        problem.group->inputs.begin());
    const Shape channels{extents.blocks * extents.all_channels()};
    scale_ = VectorOperand(*problem.group, node.input(1), channels, packs_);
    bias_ = VectorOperand(*problem.group, node.input(2), channels, packs_);
    const int64_t rows =
        std::max<int64_t>(1, kElementsPerPart / std::max<int64_t>(extents.all_channels(), 1));
    // Short sums keep their digits; the parts are joined in double.
    part_rows_ = std::max(std::min<int64_t>(rows, 256), (extents.space + 2047) / 2048);
    parts_ = (extents.space + part_rows_ - 1) / std::max<int64_t>(part_rows_, 1);
    if (storage_ != DType::kF32) {
      row_ = PerLane<float>(RowElements());
    } else if (extents_.in_columns) {
      columns_ = PerRun<float>((parts_ + 2) * extents_.all_channels());
    }
  }

  std::vector<PackRequest> packs() const override { return packs_; }
  std::vector<Alias> aliases() const override {
    return {{.output = 0, .input = static_cast<int>(x_)}};
  }

  Status Run(const CpuLaunch& args) const override {
    if (extents_.elements() == 0) return OkStatus();
    if (!extents_.in_columns) {
      storage_ == DType::kF32 ? Rows(args) : HalfRows(args);
      return OkStatus();
    }
    for (int64_t n = 0; n < extents_.batch * extents_.blocks; ++n) Columns(args, n);
    return OkStatus();
  }

 private:
  float Factor(float variance) const { return 1.0f / std::sqrt(variance + epsilon_); }

  /// Of a row: a group.
  int64_t RowElements() const { return extents_.channels * extents_.space; }

  /// Group `i` of all images.
  void Row(const CpuLaunch& args, int64_t i, const float* x, float* y) const {
    const RowStatistics s = MeasureRow(x, RowElements(), true);
    for (int64_t c = 0; c < extents_.channels; ++c) {
      const int64_t channel = i % extents_.groups * extents_.channels + c;
      const float a = Factor(s.variance) * scale_.At(args)[channel];
      const int64_t at = c * extents_.space;
      ScaleShiftRow(x + at, y + at, extents_.space, s.mean, a, bias_.At(args)[channel]);
    }
  }

  /// Row-major: a group is one row.
  void Rows(const CpuLaunch& args) const {
    const float* x = args.inputs[x_].host<float>();
    float* y = args.outputs[0].host<float>();
    const int64_t row = RowElements();
    args.stream.ParallelFor(extents_.batch * extents_.groups,
                            [&](int64_t i, int) { Row(args, i, x + i * row, y + i * row); });
  }
  void HalfRows(const CpuLaunch& args) const {
    const std::byte* x = args.inputs[x_].host<std::byte>();
    std::byte* y = args.outputs[0].host<std::byte>();
    const int64_t row = RowElements(), bytes = ByteSize(storage_) * row;
    args.stream.ParallelFor(extents_.batch * extents_.groups, [&](int64_t i, int lane) {
      float* floats = args.At(row_, lane);
      ConvertRow(x + i * bytes, storage_, row, floats, DType::kF32);
      Row(args, i, floats, floats);
      ConvertRow(floats, DType::kF32, row, y + i * bytes, storage_);
    });
  }

  /// One image, or one block of it, whose channels are columns: sums of columns in parts,
  /// statistics of groups of columns, then all pixels.
  void Columns(const CpuLaunch& args, int64_t n) const {
    const int64_t columns = extents_.all_channels();
    const float* x = args.inputs[x_].host<float>() + n * extents_.space * columns;
    float* y = args.outputs[0].host<float>() + n * extents_.space * columns;
    float* mean = args.At(columns_);
    float *a = mean + columns, *parts = a + columns;
    const auto for_parts = [&](auto&& f) {
      args.stream.ParallelFor(parts_, [&](int64_t part, int) {
        const int64_t begin = part * part_rows_;
        f(part, begin * columns, std::min(part_rows_, extents_.space - begin));
      });
    };
    for_parts([&](int64_t part, int64_t at, int64_t rows) {
      Fold({.from = reinterpret_cast<const std::byte*>(x + at),
            .row = rows,
            .inner = columns,
            .inner_stride = columns},
           parts + part * columns);
    });
    Join(parts, mean);
    for_parts([&](int64_t part, int64_t at, int64_t rows) {
      SquaredDeviations(x + at, rows, columns, mean, parts + part * columns);
    });
    Join(parts, a);  // variances; the loop below turns them into factors
    const int64_t first = n % extents_.blocks * columns;
    const float *scale = scale_.At(args) + first, *bias = bias_.At(args) + first;
    for (int64_t c = 0; c < columns; ++c) a[c] = Factor(a[c]) * scale[c];
    for_parts([&](int64_t, int64_t at, int64_t rows) {
      ScaleShiftColumns(x + at, y + at, rows, columns, mean, a, bias);
    });
  }

  /// The mean over the parts and the columns of each group, repeated for its columns.
  void Join(const float* parts, float* to) const {
    const int64_t columns = extents_.all_channels();
    const auto count = static_cast<double>(extents_.channels * extents_.space);
    for (int64_t g = 0; g < extents_.groups; ++g) {
      double sum = 0;
      for (int64_t p = 0; p < parts_; ++p) {
        for (int64_t c = g * extents_.channels; c < (g + 1) * extents_.channels; ++c)
          sum += static_cast<double>(parts[p * columns + c]);
      }
      std::fill_n(to + g * extents_.channels, extents_.channels, static_cast<float>(sum / count));
    }
  }

  Extents extents_;
  DType storage_;  // of the input and the output
  float epsilon_;
  size_t x_ = 0;
  std::vector<PackRequest> packs_;
  VectorOperand scale_, bias_;
  int64_t part_rows_ = 1, parts_ = 1;
  LaneScratch<float> row_;
  RunScratch<float> columns_;  // means, factors, and sums of each part
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(CheckNormNode(group));
  const ir::Node& node = group.nodes()[0];
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (x.rank() < 2) return Unsupported("no channels");
  Extents extents{.batch = x[0], .space = x.Count(2, x.rank())};
  if (node.op == "InstanceNormalization"_op) {
    extents.groups = x[1];
    extents.channels = 1;
  } else if (node.op == "GroupNormalization"_op) {
    extents.groups = node.attributes.Int("num_groups", 1);
    extents.channels = x[1] / extents.groups;
  } else {
    return Unsupported("computes instance and group normalisations only");
  }
  for (size_t i = 1; i < 3; ++i) {
    if (node.input(i) == ir::kAbsent || group.value(node.inputs[i]).shape->elements() != x[1])
      return Unsupported("scale and bias of other sizes than the channels");
  }
  return Facts{extents, x, static_cast<float>(node.attributes.Float("epsilon", 1e-5))};
}

/// The extents of a layout whose innermost elements are channels: all of them, or a block of whole
/// groups.
Result<Extents> InColumns(const Facts& facts, const Layout& layout) {
  const auto& [extents, x, epsilon] = facts;
  ASSIGN_OR_RETURN(const ImageExtents images, SplitImages(x, layout));
  const bool batch_first = layout.AxisAt(0, x.rank()) == 0;
  if (!batch_first || HasPadLanes(x, layout) || images.inner * images.outer != x[0] * x[1])
    return Unsupported("channels with pad lanes, or before the batch");
  if (images.inner == 0 || images.inner % extents.channels != 0)
    return Unsupported("groups that reach over blocks");
  if (images.inner == 1) return extents;  // a channel's elements are neighbours
  Extents columns = extents;
  columns.in_columns = true;
  columns.groups = images.inner / extents.channels;
  columns.blocks = x[1] / images.inner;
  return columns;
}

Result<Extents> ExtentsIn(const Facts& facts, const Layout& layout) {
  const bool channels_are_rows = layout.IsRowMajor() || facts.extents.elements() == 0;
  return channels_are_rows ? facts.extents : InColumns(facts, layout);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const int rank = facts.x.rank();
  std::vector<StateAssignment> states{NormStates(group, Layout::ChannelsLast(rank))};
  if (rank >= 3) states.push_back(NormStates(group, Layout::RowMajor()));
  for (const Layout& layout : BlockedLayouts(facts.x)) {
    if (ExtentsIn(facts, layout).ok()) states.push_back(NormStates(group, layout));
  }
  const ir::Node& node = group.nodes()[0];
  const DType dtype = group.value(node.inputs[0]).dtype;
  const bool fits = facts.extents.channels * facts.extents.space <= kMostHalves;
  if (rank >= 3 && fits && ByteSize(dtype) == 2 && group.value(node.outputs[0]).dtype == dtype) {
    StateAssignment halves = NormStates(group, Layout::RowMajor());
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      if (group.inputs[i] == node.inputs[0]) halves.inputs[i].storage = dtype;
    }
    halves.outputs[0].storage = dtype;
    states.push_back(std::move(halves));
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const Layout& layout = problem.states.outputs[0].layout;
  ASSIGN_OR_RETURN(const Extents extents, ExtentsIn(facts, layout));
  return std::unique_ptr<PreparedKernel>(new ChannelNorm(problem, extents, facts.epsilon));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuNormChannel;
const KernelDesc kCpuNormChannel = {.name = "cpu.norm.channel", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
