// compiled: small
// cpu.binary.weights: convolutions and products of floats with constant weights that have two
// values for each output. The weights lie in memory as bits, a thirty-second of their bytes: a bit
// says whether an output adds a number, and two numbers for each output turn the sums into results.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/weight_bits.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/family.h"
#include "kernels/match/product.h"

namespace fettle::kernels {
namespace {

/// Rows up to which weights take longer to read than sums to add, where there are many.
constexpr int64_t kFewRows = 8;
constexpr int64_t kManyWeights = int64_t{1} << 18;
/// Groups of fewer outputs leave most of a panel empty.
constexpr int64_t kLeastOutputs = 8;
/// Pixels and panels of one task.
constexpr int64_t kTaskRows = 64, kTaskPanels = 2;

/// Both kinds as a convolution: a product's rows are the pixels of a line.
struct Facts {
  ConvGeometry g;
  WeightOrder order;
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, addend = ir::kAbsent;
  float alpha = 1, beta = 1;
  bool is_conv = false;
};

Result<Facts> ReadConvolution(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  Facts facts{.g = AsLines(g), .x = operands.x, .w = operands.w, .addend = operands.b};
  facts.order = {g.groups, g.oc / g.groups, g.ic / g.groups, g.taps()};
  facts.is_conv = true;
  return facts;
}

Result<Facts> ReadMatrices(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const Product p, ReadProduct(group));
  if (!p.constant_b || p.b_matrices != 1 || p.batches.size() != 1)
    return Unsupported("weights that are not a constant matrix");
  if (p.trans_a) return Unsupported("the left operand is transposed");
  if (p.addend != ir::kAbsent && !p.constant_row)
    return Unsupported("an addend that is not a constant row");
  Facts facts{.x = p.a, .w = p.b, .addend = p.addend, .alpha = p.alpha, .beta = p.beta};
  facts.g.ic = p.k;
  facts.g.oc = p.n;
  facts.g.in[2] = facts.g.out[2] = p.m;
  facts.order = {.outputs = p.n, .channels = p.k, .channels_first = !p.trans_b};
  return facts;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const bool is_conv = !group.nodes().empty() && group.nodes()[0].op == "Conv"_op;
  ASSIGN_OR_RETURN(Facts facts, is_conv ? ReadConvolution(group) : ReadMatrices(group));
  if (facts.g.pixels() == 0 || facts.order.depth() == 0 || facts.order.outputs == 0)
    return Unsupported("nothing to add");
  if (facts.order.outputs < kLeastOutputs && facts.order.groups > 1)
    return Unsupported("groups of {} outputs", facts.order.outputs);
  const auto& constant = group.value(facts.w).constant;
  if (constant == nullptr) return Unsupported("weights that are not constant");
  RETURN_IF_ERROR(CheckPairs(*constant, facts.order));
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states,
                   facts.is_conv ? ChannelsLastStates(group) : FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class WeightsProduct final : public CpuKernel {
 public:
  WeightsProduct(const Problem& problem, const Facts& facts, Epilogue epilogue, int lanes)
      : CpuKernel(lanes),
        facts_(facts),
        blob_(facts.order),
        input_(IndexOf(problem.group->inputs, facts.x)),
        taps_(PlanTaps(facts.g)),
        out_(ChannelsLastPixels(facts.g.oc, facts.g.pixels())),
        epilogue_(std::move(epilogue)),
        tile_(ChosenRows()) {}

  std::vector<PackRequest> packs() const override {
    PackRequest request{.constants = {facts_.w}};
    if (facts_.addend != ir::kAbsent) request.constants.push_back(facts_.addend);
    const WeightOrder& order = facts_.order;
    request.recipe =
        fmt::format("binary.weights32.g{}.t{}.a{}.b{}", order.groups, order.channels_first,
                    facts_.alpha, facts_.addend != ir::kAbsent ? facts_.beta : 0);
    request.bytes = blob_.bytes();
    request.pack = [order, alpha = facts_.alpha, beta = facts_.beta](
                       std::span<const Constant* const> constants, std::byte* out) {
      return PackPairs(*constants[0], constants.size() > 1 ? constants[1] : nullptr, order, alpha,
                       beta, out);
    };
    std::vector<PackRequest> all{std::move(request)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t row_tasks = CeilDiv(facts_.g.pixels(), kTaskRows);
    const int64_t panel_tasks = CeilDiv(facts_.order.panels(), kTaskPanels);
    args.stream.ParallelFor(row_tasks, [&](int64_t task, int lane) { SumRows(args, task, lane); });
    args.stream.ParallelFor(row_tasks * facts_.order.groups * panel_tasks,
                            [&](int64_t task, int lane) {
                              const int64_t at = task / row_tasks;
                              RunTask(args, binding, task % row_tasks, at / panel_tasks,
                                      at % panel_tasks * kTaskPanels, lane);
                            });
    return OkStatus();
  }

 private:
  /// Sums of all numbers of a group's rows, by pixel.
  float* TotalsOf(const CpuLaunch& args, int64_t group) const {
    return args.At(totals_) + group * facts_.g.pixels();
  }
  PixelRange RangeOf(int64_t task) const {
    return {task * kTaskRows, std::min(kTaskRows, facts_.g.pixels() - task * kTaskRows)};
  }

  const float* const* FillPointers(const CpuLaunch& args, PixelRange range, int lane) const {
    const float** pointers = args.At(pointers_, lane);
    FillTapPointers<float>(facts_.g, taps_, args.inputs[input_].host<float>(), args.At(zeros_), 0,
                           range, tile_, args.At(copies_, lane), pointers);
    return pointers;
  }

  ChosenSums TileOf(const float* const* pointers, PixelRange range, int64_t group,
                    int64_t row) const {
    ChosenSums tile{.rows = pointers + row * taps_.taps, .taps = taps_.taps};
    tile.depth = facts_.order.groups == 1 ? taps_.depth : facts_.order.channels;
    tile.offset = group * facts_.order.channels;
    tile.count = static_cast<int>(std::min<int64_t>(tile_, range.rows - row));
    return tile;
  }

  void SumRows(const CpuLaunch& args, int64_t task, int lane) const {
    const PixelRange range = RangeOf(task);
    const float* const* pointers = FillPointers(args, range, lane);
    for (int64_t group = 0; group < facts_.order.groups; ++group) {
      for (int64_t row = 0; row < range.rows; row += tile_)
        SumAll(TileOf(pointers, range, group, row), TotalsOf(args, group) + range.begin + row);
    }
  }

  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding, int64_t task,
               int64_t group, int64_t first, int lane) const {
    const PixelRange range = RangeOf(task);
    const float* const* pointers = FillPointers(args, range, lane);
    const WeightOrder& order = facts_.order;
    const int64_t end = std::min(first + kTaskPanels, order.panels());
    const auto* blob = args.packed[0].host<std::byte>();
    float* y = args.outputs[0].host<float>() + range.begin * facts_.g.oc + group * order.outputs;
    float sums[kMostTileRows * kChosenOutputs];
    for (int64_t panel = first; panel < end; ++panel) {
      const int64_t at = group * order.panels() + panel, column = panel * kChosenOutputs;
      ChosenResults to{.clamp = epilogue_.clamp(), .stride = facts_.g.oc};
      to.numbers = reinterpret_cast<const float*>(blob) + at * WeightBits::kNumbers;
      to.columns = std::min<int64_t>(kChosenOutputs, order.outputs - column);
      for (int64_t row = 0; row < range.rows; row += tile_) {
        ChosenSums tile = TileOf(pointers, range, group, row);
        tile.words =
            reinterpret_cast<const uint32_t*>(blob + blob_.words_at()) + at * order.depth();
        tile.sums = sums;
        SumChosen(tile);
        to.totals = TotalsOf(args, group) + range.begin + row;
        to.y = y + row * facts_.g.oc + column;
        StoreChosen(to, sums, tile.count);
      }
    }
    const int64_t channel = group * order.outputs + first * kChosenOutputs;
    const int64_t channels = std::min(end * kChosenOutputs, order.outputs) - first * kChosenOutputs;
    FinishPixels(epilogue_, binding, out_, {0, range.begin, range.rows, channel, channels},
                 args.outputs[0].host<float>());
  }

  Facts facts_;
  WeightBits blob_;
  size_t input_;
  TapPlan taps_;
  PixelLayout out_;
  Epilogue epilogue_;
  int tile_;
  RunScratch<float> zeros_ = Zeroed<float>(taps_.depth);
  RunScratch<float> totals_ = PerRun<float>(facts_.order.groups * facts_.g.pixels());
  LaneScratch<const float*> pointers_ = PerLane<const float*>(kTaskRows * taps_.taps);
  LaneScratch<float> copies_ = PerLane<float>(TapCopyElements(facts_.g, taps_, kTaskRows));
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(
      new WeightsProduct(problem, facts, std::move(epilogue), lanes));
}

/// Few rows wait for their weights. More rows share them: that is measured.
int Taste(const Facts& facts, const Device&) {
  const bool waits = facts.g.pixels() <= (ChosenRows() > 2 ? kFewRows : 1) &&
                     facts.order.all_outputs() * facts.order.depth() >= kManyWeights;
  return waits ? 14 : 2;
}

Work WorkOf(const Problem&, const Facts& facts, const Params&, const Device&) {
  const ConvGeometry& g = facts.g;
  const auto rows = static_cast<double>(g.pixels());
  const auto inputs = static_cast<double>(g.batch * g.in[0] * g.in[1] * g.in[2] * g.ic);
  return {.operations = rows * static_cast<double>(g.oc * facts.order.depth()),
          .bytes = static_cast<double>(WeightBits(facts.order).bytes()) +
                   4 * (inputs + rows * static_cast<double>(g.oc))};
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Taste, .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuBinaryWeights;
const KernelDesc kCpuBinaryWeights = {
    .name = "cpu.binary.weights", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
