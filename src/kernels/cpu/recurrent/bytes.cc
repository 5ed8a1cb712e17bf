// compiled: small
// cpu.recurrent.bytes: LSTM whose weights are whole steps that bytes hold. Inputs and states are
// rounded to 16 bits of their row's largest magnitude and multiplied as integers: as two rows of
// bytes (256 high + low), or as i16 where the micro-kernels take these.
#include <algorithm>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/recurrent/byte_weights.h"
#include "kernels/cpu/recurrent/layer.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using ops::RecurrentAttributes;

/// Each step of a sequence reads all weights of the states: bytes, where the kernels take them. A
/// single row waits for bytes to become words unless words would come from beyond the second-level
/// cache.
const QuantKernels& KernelsFor(const RecurrentAttributes& cell) {
  constexpr int64_t kNearWeights = 384 << 10;
  const int64_t columns = cell.gates * cell.hidden;
  const bool is_near = cell.batch == 1 && 2 * columns * cell.hidden <= kNearWeights;
  const QuantKernels* narrow = is_near ? nullptr : GetNarrowKernels(columns);
  return narrow != nullptr ? *narrow : GetQuantKernels(columns);
}

class ByteLayer final : public RecurrentLayer {
 public:
  ByteLayer(const Problem& problem, const RecurrentAttributes& attributes)
      : RecurrentLayer(problem, attributes),
        kernels_(KernelsFor(attributes)),
        weights_(attributes, kernels_),
        planes_(kernels_.wide ? 1 : 2),
        parts_(CountParts(problem.threads)) {}

 private:
  /// Rows that become steps, with what one step of each is.
  struct Rows16 {
    std::byte* rows;
    float* steps;
  };

  struct PanelRange {
    int64_t first = 0, end = 0;
  };

  PackRequest PackWeights(const ir::Node& node) const override { return weights_.Pack(node); }
  bool splits_steps() const override { return parts_ > 1; }

  /// Products of a part of a step take microseconds, as starting and joining threads does.
  int64_t CountParts(int64_t threads) const {
    constexpr int64_t kPartMacs = 96 << 10;
    if (cell().directions >= threads) return 1;
    const int64_t macs = cell().batch * GateElements() * cell().hidden;
    return std::clamp<int64_t>(macs / kPartMacs, 1, std::min(threads, weights_.panels()));
  }

  int64_t RowBytes(int64_t depth) const { return RoundUp(depth * 2 / planes_, 64); }

  /// Row `row` of `x`, of `depth` elements each.
  void Round(const float* x, int64_t depth, int64_t row, const Rows16& to) const {
    std::byte* at = to.rows + row * planes_ * RowBytes(depth);
    // Sums of such products fit 32 bits.
    const auto limit = static_cast<float>(std::min<int64_t>(32767, (int64_t{1} << 24) / depth - 1));
    const bool wide = kernels_.wide;
    to.steps[row] = cells().round(x + row * depth, depth, wide ? limit : 32767.0F, at,
                                  wide ? nullptr : at + RowBytes(depth));
  }

  void RunInputs(const CpuLaunch& args, const float* x) const override {
    const Rows16 all{args.At(inputs_), args.At(input_steps_)};
    args.stream.ParallelFor(Rows(), [&](int64_t row, int) { Round(x, cell().input, row, all); });
    for (int64_t direction = 0; direction < cell().directions; ++direction)
      Multiply(args, all, Rows(), weights_.Input(Packed(args), direction), SumsOf(args, direction),
               false);
  }

  void StateProduct(const CpuLaunch& args, int64_t direction, int64_t, int64_t, const float* rows,
                    float* out, bool accumulate) const override {
    const Rows16 all{args.At(states_) + direction * StateBytes(),
                     args.At(state_steps_) + direction * RoundUp(cell().batch, 16)};
    for (int64_t row = 0; row < cell().batch; ++row) Round(rows, cell().hidden, row, all);
    Multiply(args, all, cell().batch, weights_.State(Packed(args), direction), out, accumulate);
  }

  /// Few rows are cut into parts of columns, as threads shall share them.
  void Multiply(const CpuLaunch& args, const Rows16& all, int64_t count, const ByteSide& side,
                float* out, bool accumulate) const {
    const int64_t tiles = CeilDiv(count, kernels_.mr / planes_), panels = weights_.panels();
    const auto run = [&](int64_t task, int) {
      const int64_t tile = task / parts_, part = task % parts_;
      const int64_t row = count * tile / tiles;
      const PanelRange range{panels * part / parts_, panels * (part + 1) / parts_};
      MultiplyTile(all, row, count * (tile + 1) / tiles - row, side, range, out, accumulate);
    };
    // Where directions run in parallel, their steps do not.
    const bool alone = accumulate && parts_ == 1;
    if (!alone) return args.stream.ParallelFor(tiles * parts_, run);
    for (int64_t tile = 0; tile < tiles; ++tile) run(tile, 0);
  }

  /// The product of some rows, of as many as a tile has.
  void MultiplyTile(const Rows16& all, int64_t row, int64_t rows, const ByteSide& side,
                    PanelRange range, float* out, bool accumulate) const {
    alignas(64) int32_t sums[kMaxQuantSums];
    const std::byte* pointers[kMaxQuantRows];
    for (int64_t r = 0; r < rows * planes_; ++r)
      pointers[r] = all.rows + (row * planes_ + r) * RowBytes(side.depth);
    // As many panels at once as sums have room for.
    const int64_t nr = kernels_.nr, tile_rows = rows * planes_;
    const int64_t most = kernels_.finishes ? kMaxQuantSums / (tile_rows * nr) : 1;
    QuantTileArgs tile{.a = pointers, .steps = weights_.steps(side.depth)};
    GateSums gates{.rows = rows, .high = sums, .row_steps = all.steps + row};
    for (int64_t first = range.first, count = 0; first < range.end; first += count) {
      count = std::min(most, range.end - first);
      const int64_t column = first * nr, width = count * nr;
      tile.c_stride = width;
      for (int64_t p = 0; p < count; ++p) {
        tile.b = tile.next_b = side.panels + (first + p) * tile.steps * nr * weights_.step_bytes();
        tile.c = sums + p * nr;
        kernels_.tile[tile_rows](tile);
      }
      gates.stride = width * planes_;
      gates.low = planes_ == 2 ? sums + width : nullptr;
      gates.columns = std::min(width, GateElements() - column);
      gates.steps = side.steps + column;
      gates.excess = side.excess + column;
      gates.bias = accumulate ? nullptr : side.bias + column;
      cells().add_sums(gates, out + row * GateElements() + column, GateElements());
    }
  }

  int64_t StateBytes() const { return cell().batch * planes_ * RowBytes(cell().hidden); }

  const QuantKernels& kernels_;
  ByteWeights weights_;
  int64_t planes_;  // rows of bytes that one of 16 bits is
  int64_t parts_;   // of a state product; 1: directions run in parallel
  RunScratch<std::byte> inputs_ = PerRun<std::byte>(Rows() * planes_ * RowBytes(cell().input));
  RunScratch<float> input_steps_ = PerRun<float>(Rows());
  RunScratch<std::byte> states_ = PerRun<std::byte>(cell().directions * StateBytes());
  RunScratch<float> state_steps_ = PerRun<float>(cell().directions * RoundUp(cell().batch, 16));
};

Result<RecurrentAttributes> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(RecurrentAttributes cell, ReadUsualCell(group, true));
  const ir::Node& node = group.nodes()[0];
  for (size_t i : {kRecurrentInputSteps, kRecurrentStateSteps}) {
    if (node.input(i) == ir::kAbsent || !group.value(node.input(i)).is_constant())
      return Unsupported("weights that are not bytes");
  }
  constexpr int64_t kMaxDepth = 4096;  // of which i16 rows keep 12 bits
  if (std::max(cell.input, cell.hidden) > kMaxDepth || std::min(cell.input, cell.hidden) == 0)
    return Unsupported("empty rows, or rows of over {} elements", kMaxDepth);
  return cell;
}

/// Without vectors of integers, and of products so small that rounding takes longer, multiplying
/// floats is faster.
int Taste(const RecurrentAttributes& cell, const Device&) {
  constexpr int64_t kFewMacs = 8 << 10;
  const bool small = cell.gates * cell.hidden * (cell.input + cell.hidden) < kFewMacs;
  return !small && (RunsAvx512Vnni() || RunsAvx2()) ? 2 : kOnlyMeasured;
}

constexpr Family<RecurrentAttributes> kFamily{.read = Read,
                                              .states = LayerStates,
                                              .prepare = Make<ByteLayer>,
                                              .taste = Taste,
                                              .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kCpuRecurrentBytes;
const KernelDesc kCpuRecurrentBytes = {.name = "cpu.recurrent.bytes", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
