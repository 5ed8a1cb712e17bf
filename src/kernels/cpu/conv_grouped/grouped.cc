// cpu.conv.grouped.nhwc: convolutions three columns wide in groups of few channels, where a product
// for each group would leave most of a vector empty. Lines of the input are spread so that each
// input of a group meets the group's lanes, in a ring of as many lines as the kernel has rows; then
// strips of pixels pass over them (kernels/cpu/conv_grouped/strip.h).
#include <algorithm>
#include <array>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv_grouped/strip.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/family.h"
#include "kernels/fields.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostKernelRows = 7;

struct Grouped {
  ConvOperands operands;
  ConvGeometry g;
  GroupedForm form = GroupedForm::kVectorsInGroup;

  int64_t inputs() const { return g.ic / g.groups; }
  int64_t outputs() const { return g.oc / g.groups; }
  int64_t vectors() const { return CeilDiv(g.oc, GetGroupedKernels().lanes); }
  /// Vectors of output channels that read the same spread inputs.
  int64_t vectors_together() const {
    return form == GroupedForm::kGroupsInVector ? 1 : outputs() / GetGroupedKernels().lanes;
  }
  /// Weights of a vector of output channels in one kernel row, and in all of them.
  int64_t row_floats() const { return inputs() * kStripTaps * GetGroupedKernels().lanes; }
  int64_t vector_floats() const { return g.kernel[1] * row_floats(); }
};

Result<GroupedForm> FormOf(int64_t inputs, int64_t outputs) {
  const int64_t lanes = GetGroupedKernels().lanes;
  if (outputs % lanes == 0) return GroupedForm::kVectorsInGroup;
  if (inputs == outputs && lanes % inputs == 0) return GroupedForm::kGroupsInVector;
  return Unsupported("groups that neither fill vectors of {} lanes nor divide them", lanes);
}

Result<Grouped> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups == 1) return Unsupported("one group");
  if (g.IsDepthwise()) return Unsupported("a depthwise convolution");
  if (g.oc == 0) return Unsupported("no channels");
  if (g.kernel[0] != 1 || g.kernel[2] != kStripTaps || g.kernel[1] > kMostKernelRows)
    return Unsupported("not a kernel of {} columns", kStripTaps);
  if (g.in[0] != 1 || g.pad[0] != 0) return Unsupported("three spatial axes");
  if (g.dilation[1] != 1 || g.dilation[2] != 1) return Unsupported("a dilation over 1");
  if (g.stride[2] > 2) return Unsupported("a stride over 2");
  ASSIGN_OR_RETURN(const GroupedForm form, FormOf(g.ic / g.groups, g.oc / g.groups));
  return Grouped{operands, g, form};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Grouped& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// [vector of outputs][kernel row][input][kernel column][lane], then the padded bias.
void Pack(const Grouped& conv, const Constant& w, const Constant* b, float* out) {
  const int64_t lanes = GetGroupedKernels().lanes, filter_floats = conv.inputs() * conv.g.taps();
  const int64_t weight_floats = conv.vectors() * conv.vector_floats();
  std::fill_n(out, weight_floats, 0.0f);
  std::vector<float> filter(filter_floats);
  for (int64_t c = 0; c < conv.g.oc; ++c) {
    ReadFloats(w, c * filter_floats, filter_floats, filter.data());
    float* vector = out + c / lanes * conv.vector_floats() + c % lanes;
    for (int64_t i = 0; i < conv.inputs(); ++i) {
      for (int64_t t = 0; t < conv.g.taps(); ++t) {
        const int64_t row = t / kStripTaps, column = t % kStripTaps;
        vector[((row * conv.inputs() + i) * kStripTaps + column) * lanes] =
            filter[i * conv.g.taps() + t];
      }
    }
  }
  PackBias(b, 0, conv.g.oc, conv.vectors() * lanes, 1, out + weight_floats);
}

/// Output rows of one task.
struct RowBlock {
  int64_t rows = 1;
};
constexpr Fields kFields("", Field{"rows", &RowBlock::rows, {}});

/// Rows whose lines, all channels of them, stay in a quarter of the second-level cache while the
/// vectors of channels pass over them one after the other.
RowBlock ChooseRows(const CpuDevice& cpu, const ConvGeometry& g) {
  const int64_t l2 = cpu.info().l2_bytes > 0 ? cpu.info().l2_bytes : 512 * 1024;
  const int64_t row_bytes = 4 * (g.in[2] * g.ic * g.stride[1] + g.out[2] * g.oc);
  const int64_t all = std::max<int64_t>(g.out[1], 1);
  const int64_t rows = std::clamp<int64_t>(l2 / 4 / std::max<int64_t>(row_bytes, 1), 4, 64);
  const int64_t tasks = CeilDiv(all, rows);
  return {CeilDiv(all, tasks)};
}

class ConvGrouped final : public PreparedKernel {
 public:
  ConvGrouped(const Problem& problem, const Grouped& conv, Epilogue epilogue, RowBlock block,
              int lanes)
      : conv_(conv),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(ChannelsLastPixels(conv.g.oc, conv.g.image_pixels())),
        kernels_(GetGroupedKernels()),
        epilogue_(std::move(epilogue)),
        block_(block),
        lanes_(lanes) {
    const int64_t strips = CeilDiv(conv.g.out[2], kernels_.most_outputs);
    if (strips > 0) strip_ = CeilDiv(conv.g.out[2], strips);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestWeights(
        conv_.operands, fmt::format("conv.grouped.g{}.lanes{}.f32", conv_.g.groups, kernels_.lanes),
        conv_.vectors() * (conv_.vector_floats() + kernels_.lanes),
        [conv = conv_](const Constant& w, const Constant* b, float* out) {
          Pack(conv, w, b, out);
        })};
    epilogue_.AppendPacks(all);
    return all;
  }

  int64_t workspace_bytes() const override { return lanes_ * LaneFloats() * 4; }

  Status Launch(const LaunchArgs& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const ConvGeometry& g = conv_.g;
    const int64_t blocks = CeilDiv(g.out[1], block_.rows);
    const int64_t units = CeilDiv(conv_.vectors(), conv_.vectors_together());
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(g.batch * blocks * units, [&](int64_t task, int lane) {
          const int64_t row = task / units % blocks * block_.rows;
          RunTask(args, binding,
                  {.image = task / units / blocks,
                   .row = row,
                   .end = std::min(row + block_.rows, g.out[1]),
                   .vector = task % units * conv_.vectors_together(),
                   .ring = args.workspace.host<float>() + lane * LaneFloats()});
        });
    return OkStatus();
  }

 private:
  /// Output rows [row, end) of an image, the vectors of output channels from `vector` on that read
  /// the same inputs.
  struct Task {
    int64_t image, row, end, vector;
    float* ring;  // spread lines, those of input row h at h % kernel rows
  };

  /// Odd, so that neither inputs nor lines lie whole pages apart: loads would wait for stores of
  /// equal low address bits.
  int64_t Columns() const { return ((strip_ - 1) * conv_.g.stride[2] + kStripTaps) | 1; }
  int64_t LineFloats() const {
    const bool each = conv_.form == GroupedForm::kGroupsInVector;
    return (each ? conv_.inputs() * kernels_.lanes : RoundUp(conv_.inputs(), kernels_.lanes)) *
           Columns();
  }
  int64_t LaneFloats() const { return RoundUp(conv_.g.kernel[1] * LineFloats(), 16); }
  float* RingLine(const Task& task, int64_t h) const {
    return task.ring + h % conv_.g.kernel[1] * LineFloats();
  }

  void RunTask(const LaunchArgs& args, const elementwise::Binding& binding,
               const Task& task) const {
    const ConvGeometry& g = conv_.g;
    // Strips of equal width: the last one begins earlier and writes the same values again.
    for (int64_t ow = 0; ow < g.out[2]; ow += strip_)
      RunStrips(args, task, std::min(ow, g.out[2] - strip_));
    const int64_t channel = task.vector * kernels_.lanes;
    const int64_t channels = std::min(conv_.vectors_together() * kernels_.lanes, g.oc - channel);
    FinishPixels(
        epilogue_, binding, out_,
        {task.image, task.row * g.out[2], (task.end - task.row) * g.out[2], channel, channels},
        args.outputs[0].host<float>());
  }

  /// The strips from column `ow` on, row by row.
  void RunStrips(const LaunchArgs& args, const Task& task, int64_t ow) const {
    const ConvGeometry& g = conv_.g;
    const int64_t channel = task.vector * kernels_.lanes;
    SpreadArgs spread;
    spread.width = g.in[2];
    spread.pixel = g.ic;
    spread.first = ow * g.stride[2] - g.pad[2];
    spread.columns = Columns();
    spread.inputs = conv_.inputs();
    const float* image = args.inputs[input_].host<float>() + task.image * g.in[1] * g.in[2] * g.ic +
                         channel / conv_.outputs() * conv_.inputs();
    int64_t next = 0;  // the first input row that is not in the ring
    for (int64_t row = task.row; row < task.end; ++row) {
      const int64_t top = row * g.stride[1] - g.pad[1];
      const int64_t begin = std::max<int64_t>(top, 0);
      const int64_t end = std::clamp<int64_t>(top + g.kernel[1], begin, g.in[1]);
      for (next = std::max(next, begin); next < end; ++next) {
        spread.line = image + next * g.in[2] * g.ic;
        spread.out = RingLine(task, next);
        kernels_.spread[static_cast<size_t>(conv_.form)](spread);
      }
      RunRow(args, task, {begin, end}, begin - top, row, ow);
    }
  }

  struct Lines {
    int64_t begin, end;
  };
  /// One strip of output row `row` from the ring's `rows`, which meet the kernel rows from `first`
  /// on.
  void RunRow(const LaunchArgs& args, const Task& task, Lines rows, int64_t first, int64_t row,
              int64_t ow) const {
    const ConvGeometry& g = conv_.g;
    std::array<const float*, kMostKernelRows> lines;
    StripArgs work;
    for (int64_t h = rows.begin; h < rows.end; ++h) lines[work.num_lines++] = RingLine(task, h);
    work.lines = lines.data();
    work.columns = Columns();
    work.inputs = conv_.inputs();
    work.low = epilogue_.clamp().low;
    work.high = epilogue_.clamp().high;
    work.out_pixel = g.oc;
    const float* weights = args.packed[0].host<float>();
    const float* bias = weights + conv_.vectors() * conv_.vector_floats();
    float* y = args.outputs[0].host<float>() + out_.Offset(task.image, row * g.out[2] + ow, 0);
    const int64_t end = std::min(task.vector + conv_.vectors_together(), conv_.vectors());
    const auto strip = kernels_.strip[static_cast<size_t>(conv_.form)][g.stride[2] - 1][strip_];
    for (int64_t v = task.vector; v < end; ++v) {
      const int64_t channel = v * kernels_.lanes;
      work.weights =
          weights + v * conv_.vector_floats() + std::min(first, g.kernel[1]) * conv_.row_floats();
      work.bias = bias + channel;
      work.channels = g.oc - channel;
      work.out = y + channel;
      strip(work);
    }
  }

  Grouped conv_;
  size_t input_;
  PixelLayout out_;
  const GroupedKernels& kernels_;
  Epilogue epilogue_;
  RowBlock block_;
  int lanes_;
  int64_t strip_ = 1;  // output pixels of a strip
};

ParamSpace Space(const Problem&, const Grouped& conv, const Device& device) {
  const RowBlock usual = ChooseRows(static_cast<const CpuDevice&>(device), conv.g);
  return {kFields.Tunables({ValuesAround(usual.rows, conv.g.out[1])}), kFields.Write(usual), {}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Grouped& conv,
                                                const Params& params, const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  RowBlock block = kFields.Read(params, ChooseRows(cpu, conv.g));
  block.rows = std::max<int64_t>(block.rows, 1);
  return std::unique_ptr<PreparedKernel>(
      new ConvGrouped(problem, conv, std::move(epilogue), block, cpu.pool().threads()));
}

constexpr Family<Grouped> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<15>};

}  // namespace

extern const KernelDesc kCpuConvGroupedNhwc;
const KernelDesc kCpuConvGroupedNhwc = {.name = "cpu.conv.grouped.nhwc", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
