// cpu.recurrent.gemm: RNN, GRU and LSTM with their usual activations. All steps' input products are
// one product, cut at panels for several threads; the state products of a step run on packed
// weights, directions in parallel, or where weights are large, one after the other on all threads.
#include <algorithm>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/recurrent/layer.h"
#include "kernels/cpu/recurrent/weights.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using ops::RecurrentAttributes;

class Recurrent final : public RecurrentLayer {
 public:
  Recurrent(const Problem& problem, const RecurrentAttributes& attributes)
      : RecurrentLayer(problem, attributes),
        kernels_(GetMicroKernels()),
        weights_(attributes, kernels_.nr),
        parts_(problem.threads <= 1 ? 1 : std::min<int64_t>(attributes.gates, InputPanels())),
        state_parts_(CountStateParts(problem.threads)) {}

 private:
  PackRequest PackWeights(const ir::Node& node) const override { return weights_.Pack(node); }
  bool splits_steps() const override { return state_parts_ > 1; }

  void RunInputs(const CpuLaunch& args, const float* x) const override {
    const float** rows = args.At(rows_);
    FillRowPointers(x, cell().input, Rows(), rows);
    args.stream.ParallelFor(cell().directions * parts_,
                            [&](int64_t task, int) { RunInputPart(args, rows, task); });
  }

  void StateProduct(const CpuLaunch& args, int64_t direction, int64_t first, int64_t last,
                    const float* rows, float* out, bool accumulate) const override {
    const auto run = [&](int64_t part, int) {
      for (int64_t gate = first; gate < last; gate += weights_.gates_together())
        StatePart(args, direction, gate, part, rows, out, accumulate);
    };
    if (state_parts_ == 1) return run(0, 0);
    args.stream.ParallelFor(state_parts_, run);
  }

  /// Products of a part of a step take microseconds, as starting and joining threads does.
  static constexpr int64_t kPartMacs = 32 << 10;

  /// Parts that the state products of a step are cut into, at panels.
  int64_t CountStateParts(int64_t threads) const {
    if (cell().directions >= threads) return 1;
    const int64_t macs = cell().batch * GateElements() * cell().hidden;
    const int64_t panels = CeilDiv(weights_.state_columns(), kernels_.nr);
    return std::clamp<int64_t>(macs / kPartMacs, 1, std::min(threads, panels));
  }

  /// Pointers and tiles of each part of a state product: [batch].
  int64_t PartPointers() const { return RoundUp(cell().batch, 8); }
  int64_t Tiles(int64_t rows) const { return RoundUp(CeilDiv(rows, kernels_.mr), 8); }
  int64_t InputPanels() const { return CeilDiv(weights_.input_columns(), kernels_.nr); }
  const float* Panels(const CpuLaunch& args) const {
    return reinterpret_cast<const float*>(Packed(args));
  }

  /// One of `parts_` parts of a direction's input products.
  void RunInputPart(const CpuLaunch& args, const float* const* rows, int64_t task) const {
    const int64_t direction = task / parts_, part = task % parts_;
    const int64_t first = InputPanels() * part / parts_, end = InputPanels() * (part + 1) / parts_;
    const int64_t column = first * kernels_.nr;
    BlockArgs block;
    block.depth = cell().input;
    block.far_b = false;
    block.b = weights_.Input(Panels(args), direction) + column * cell().input;
    block.bias = weights_.InputBias(Panels(args), direction) + column;
    block.columns = std::min(end * kernels_.nr, weights_.input_columns()) - column;
    block.c_stride = GateElements();
    block.tiles = CutTiles(kernels_.mr, rows, Rows(), 1, SumsOf(args, direction) + column,
                           GateElements(), args.At(input_tiles_) + task * Tiles(Rows()));
    RunBlock(kernels_, block);
  }

  /// One of `state_parts_` parts of the columns of the product that begins with `gate`.
  void StatePart(const CpuLaunch& args, int64_t direction, int64_t gate, int64_t part,
                 const float* rows, float* out, bool accumulate) const {
    const int64_t columns = weights_.state_columns(), panels = CeilDiv(columns, kernels_.nr);
    const int64_t lane = direction * state_parts_ + part;
    const int64_t begin = panels * part / state_parts_ * kernels_.nr;
    BlockArgs block;
    block.depth = cell().hidden;
    block.far_b = false;  // fetching it ahead costs 6 % where all steps read the same weights
    block.columns = std::min(panels * (part + 1) / state_parts_ * kernels_.nr, columns) - begin;
    block.c_stride = GateElements();
    block.accumulate = accumulate;
    block.b = weights_.State(Panels(args), direction, gate) + begin * cell().hidden;
    block.tiles = CutTiles(kernels_.mr, {rows, cell().hidden}, cell().batch,
                           out + gate * cell().hidden + begin, GateElements(),
                           args.At(pointers_) + lane * PartPointers(),
                           args.At(tiles_) + lane * Tiles(cell().batch));
    if (!accumulate) block.bias = weights_.StateBias(Panels(args), direction, gate) + begin;
    RunBlock(kernels_, block);
  }

  const MicroKernels& kernels_;
  RecurrentWeights weights_;
  int64_t parts_;        // of a direction's input products
  int64_t state_parts_;  // of a state product; 1: directions run in parallel
  RunScratch<const float*> rows_ = PerRun<const float*>(Rows());
  RunScratch<TileSpan> input_tiles_ = PerRun<TileSpan>(cell().directions * parts_ * Tiles(Rows()));
  RunScratch<const float*> pointers_ =
      PerRun<const float*>(cell().directions * state_parts_ * PartPointers());
  RunScratch<TileSpan> tiles_ =
      PerRun<TileSpan>(cell().directions * state_parts_ * Tiles(cell().batch));
};

Result<RecurrentAttributes> Read(const ir::Graph& group, const Device&) {
  return ReadUsualCell(group, true);
}

constexpr Family<RecurrentAttributes> kFamily{
    .read = Read, .states = LayerStates, .prepare = Make<Recurrent>, .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kCpuRecurrentGemm;
const KernelDesc kCpuRecurrentGemm = {.name = "cpu.recurrent.gemm", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
