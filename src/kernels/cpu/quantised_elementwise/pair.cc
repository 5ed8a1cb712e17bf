// compiled: small
// cpu.quantised.pair: Add, Sub and Mul of two tensors of bytes between DequantizeLinear and
// QuantizeLinear, in any layout, one operand broadcast where it is: bytes in, bytes out.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/layout/broadcast.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/fused_sum.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised_elementwise/fused_product.h"
#include "kernels/cpu/quantised_elementwise/pair_row.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// A group's operator, its operands by their places in group.inputs, and their types.
struct Facts {
  PairOp op = PairOp::kAdd;
  std::array<int, 2> inputs{};
  PairRowArgs row;
};

class Reader {
 public:
  explicit Reader(const ir::Graph& group) : group_(group), producers_(group.Producers()) {}

  Result<Facts> Read() {
    ASSIGN_OR_RETURN(const ByteTail result, ReadByteTail(group_));
    const ir::Node* node = Producer(result.of);
    if (node == nullptr || node->inputs.size() != 2 || group_.nodes().size() != result.nodes + 3)
      return Unsupported("computes operators of two operands between bytes only");
    RETURN_IF_ERROR(ReadOp(*node));
    RETURN_IF_ERROR(ReadOperand(node->inputs[0], 0, facts_.row.a_type));
    RETURN_IF_ERROR(ReadOperand(node->inputs[1], 1, facts_.row.b_type));
    facts_.row.y_type = result.type;
    facts_.row.low = result.low;
    facts_.row.high = result.high;
    if (IsReciprocalExact(facts_.op, facts_.row)) facts_.row.reciprocal = 1 / result.type.scale;
    if (facts_.op == PairOp::kMul) facts_.row.factor = FindProductFactor(facts_.row);
    return facts_;
  }

 private:
  const ir::Node* Producer(ir::ValueId id) const {
    return producers_[id] < 0 ? nullptr : &group_.node(producers_[id]);
  }

  Status ReadOp(const ir::Node& node) {
    if (node.op == "Add"_op) {
      facts_.op = PairOp::kAdd;
    } else if (node.op == "Sub"_op) {
      facts_.op = PairOp::kSub;
    } else if (node.op == "Mul"_op) {
      facts_.op = PairOp::kMul;
    } else {
      return Unsupported("neither Add nor Sub nor Mul");
    }
    return OkStatus();
  }

  Status ReadOperand(ir::ValueId id, size_t i, ByteOperand& type) {
    const ir::Node* dequantiser = Producer(id);
    if (dequantiser == nullptr || dequantiser->op != "DequantizeLinear"_op)
      return Unsupported("an operand is not dequantised");
    const ir::ValueId bytes = dequantiser->inputs[0];
    const auto at = std::find(group_.inputs.begin(), group_.inputs.end(), bytes);
    if (at == group_.inputs.end()) return Unsupported("an operand is constant");
    facts_.inputs[i] = static_cast<int>(at - group_.inputs.begin());
    ASSIGN_OR_RETURN(type, ReadByteOperand(group_, *dequantiser, group_.value(bytes).dtype));
    return OkStatus();
  }

  const ir::Graph& group_;
  std::vector<ir::NodeId> producers_;
  Facts facts_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() < 4)
    return Unsupported("computes operators of two operands between bytes only");
  return Reader(group).Read();
}

/// Rows of the output; fails where an operand is neither beside it nor repeated along a row.
Result<elementwise::BroadcastLoop> MakeLoop(const ir::Graph& group, const Facts& facts,
                                            const StateAssignment& states) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  const Layout& layout = states.outputs[0].layout;
  std::vector<std::vector<int64_t>> strides;
  for (int input : facts.inputs) {
    const auto at = static_cast<size_t>(input);
    ASSIGN_OR_RETURN(std::vector<int64_t> along,
                     BroadcastStrides(full, layout, *group.value(group.inputs[at]).shape,
                                      states.inputs[at].layout));
    strides.push_back(std::move(along));
  }
  elementwise::BroadcastLoop loop(ToPhysical(full, layout).extent, std::move(strides));
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    if (loop.stride(i) > 1) return Unsupported("elements of an operand are not contiguous");
  }
  if (loop.stride(0) + loop.stride(1) == 0) return Unsupported("both operands are repeated");
  return loop;
}

/// Where one operand lies as the output does, pixels of `channels` bytes, and the other has one
/// byte for each pixel, or one pixel for many: a nest over pixels instead of rows as short as that.
struct PixelLoop {
  size_t repeated = 0;    // the operand
  bool by_pixel = false;  // it has a pixel for a row of pixels
  int64_t channels = 0;
  elementwise::BroadcastLoop loop;  // of the repeated operand alone
};

/// Above this a pixel is a row that is worth a call.
constexpr int64_t kMostChannels = 512;

std::optional<PixelLoop> FindPixelLoop(const ir::Graph& group, const Facts& facts,
                                       const StateAssignment& states) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  const Layout& layout = states.outputs[0].layout;
  const std::vector<int64_t> extents = ToPhysical(full, layout).extent;
  if (extents.size() < 2 || extents.back() < 2) return {};
  for (size_t i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(facts.inputs[i]);
    const auto other = static_cast<size_t>(facts.inputs[1 - i]);
    const bool beside =
        *group.value(group.inputs[other]).shape == full && states.inputs[other].layout == layout;
    auto along = BroadcastStrides(full, layout, *group.value(group.inputs[at]).shape,
                                  states.inputs[at].layout);
    if (!beside || !along.ok()) continue;
    const int64_t last = along->back();
    if (last > 1 || extents.back() > kMostChannels) continue;
    std::vector<int64_t> strides(along->begin(), along->end() - 1);
    elementwise::BroadcastLoop loop({extents.begin(), extents.end() - 1}, {std::move(strides)},
                                    extents.back());
    if (loop.stride(0) == 1 - last) return PixelLoop{i, last == 1, extents.back(), std::move(loop)};
  }
  return {};
}

/// Each of n bytes `times` times.
void RepeatBytes(const uint8_t* from, int64_t n, int64_t times, uint8_t* to) {
  constexpr int64_t kShort = 16;  // such runs are written side by side
  if (times > kShort) {
    for (int64_t i = 0; i < n; ++i) std::memset(to + i * times, from[i], times);
    return;
  }
  for (int64_t k = 0; k < times; ++k)
    for (int64_t i = 0; i < n; ++i) to[i * times + k] = from[i];
}

/// `n` times the same pixel, of which there are twice as many after each copy.
void RepeatPixel(const uint8_t* pixel, int64_t channels, int64_t n, uint8_t* to) {
  const int64_t all = n * channels;
  std::memcpy(to, pixel, channels);
  for (int64_t done = channels; done < all; done *= 2)
    std::memcpy(to + done, to, std::min(done, all - done));
}

class Pair final : public CpuKernel {
 public:
  Pair(const Facts& facts, elementwise::BroadcastLoop loop, std::optional<PixelLoop> pixels,
       PadLanes pads, std::vector<Alias> aliases)
      : facts_(facts),
        run_(FindPairRow(facts.op)),
        run_both_(FindRowOfBoth(facts.op, facts.row)),
        loop_(std::move(loop)),
        pixels_(std::move(pixels)),
        pads_(std::move(pads)),
        aliases_(std::move(aliases)) {}

  std::vector<Alias> aliases() const override { return aliases_; }

  Status Run(const CpuLaunch& args) const override {
    const auto* a = args.inputs[facts_.inputs[0]].host<uint8_t>();
    const auto* b = args.inputs[facts_.inputs[1]].host<uint8_t>();
    auto* y = args.outputs[0].host<uint8_t>();
    pixels_ ? RunPixels(args.stream, a, b, y) : RunRows(args.stream, a, b, y);
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  void RunRows(CpuStream& stream, const uint8_t* a, const uint8_t* b, uint8_t* y) const {
    loop_.Run(stream, [&](const int64_t* offsets, int64_t n, int64_t at) {
      PairRowArgs row = facts_.row;
      row.a = a + offsets[0];
      row.b = b + offsets[1];
      row.a_stride = loop_.stride(0);
      row.b_stride = loop_.stride(1);
      row.y = y + at;
      row.n = n;
      RunRow(row);
    });
  }

  void RunRow(const PairRowArgs& row) const {
    const bool repeats = row.a_stride == 0 || row.b_stride == 0;
    (repeats ? run_ : run_both_)(row);
  }

  /// The repeated operand's bytes are written out for some pixels at a time.
  void RunPixels(CpuStream& stream, const uint8_t* a, const uint8_t* b, uint8_t* y) const {
    constexpr int64_t kBytes = 2048;
    const int64_t channels = pixels_->channels;
    const uint8_t* one = pixels_->repeated == 0 ? a : b;
    const uint8_t* many = pixels_->repeated == 0 ? b : a;
    pixels_->loop.Run(stream, [&](const int64_t* offsets, int64_t count, int64_t at) {
      std::array<uint8_t, kBytes> bytes;
      PairRowArgs row = facts_.row;
      for (int64_t done = 0; done < count;) {
        const int64_t n = std::min(count - done, kBytes / channels);
        if (!pixels_->by_pixel) {
          RepeatBytes(one + offsets[0] + done, n, channels, bytes.data());
        } else if (done == 0) {
          RepeatPixel(one + offsets[0], channels, n, bytes.data());
        }
        const uint8_t* beside = many + (at + done) * channels;
        row.a = pixels_->repeated == 0 ? bytes.data() : beside;
        row.b = pixels_->repeated == 0 ? beside : bytes.data();
        row.y = y + (at + done) * channels;
        row.n = n * channels;
        RunRow(row);
        done += n;
      }
    });
  }

  Facts facts_;
  PairRowFunction run_, run_both_;
  elementwise::BroadcastLoop loop_;
  std::optional<PixelLoop> pixels_;
  PadLanes pads_;
  std::vector<Alias> aliases_;
};

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  std::vector<Layout> layouts = BlockedLayouts(full);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(full.rank())});
  std::vector<StateAssignment> all;
  for (const Layout& layout : layouts) {
    StateAssignment states = RowMajorStates(group);
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      if (SharesLayout(*group.value(group.inputs[i]).shape, full, layout))
        states.inputs[i].layout = layout;
    }
    states.outputs[0].layout = layout;
    if (!MakeLoop(group, facts, states).ok()) continue;
    if (std::find(all.begin(), all.end(), states) == all.end()) all.push_back(std::move(states));
  }
  if (all.empty()) return Unsupported("operands whose layouts do not match");
  return all;
}

/// Sums of so many elements save the time that all pairs of bytes take.
constexpr int64_t kWorthFusing = 4096;

/// Zeros where there are no such factors, or multiply-adds round twice.
FusedSum FindFused(const Facts& facts) {
  if (facts.op == PairOp::kMul || !RunsAvx2()) return {};
  PairRowArgs sum = facts.row;
  if (facts.op == PairOp::kSub) sum.b_type.scale = -sum.b_type.scale;
  return FindFusedSum(sum).value_or(FusedSum());
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const ir::Graph& group = *problem.group;
  ASSIGN_OR_RETURN(elementwise::BroadcastLoop loop, MakeLoop(group, facts, problem.states));
  const Shape& y = problem.shape(group.outputs[0]);
  Facts found = facts;
  if (y.elements() >= kWorthFusing) found.row.fused = FindFused(facts);
  std::vector<Alias> aliases;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (problem.shape(group.inputs[i]) == y)
      aliases.push_back({.output = 0, .input = static_cast<int>(i)});
  }
  return std::unique_ptr<PreparedKernel>(
      new Pair(found, std::move(loop), FindPixelLoop(group, facts, problem.states),
               PadLanes(y, problem.states.outputs[0].layout, 1), std::move(aliases)));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<12>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuQuantisedPair;
const KernelDesc kCpuQuantisedPair = {.name = "cpu.quantised.pair", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
