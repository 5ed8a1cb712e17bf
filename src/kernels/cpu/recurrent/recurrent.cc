// cpu.recurrent.gemm: RNN, GRU and LSTM with their usual activations. All steps' input products are
// one product, cut at panels for several threads; the state products of a step run on packed
// weights, directions in parallel, or where weights are large, one after the other on all threads.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/recurrent/cell.h"
#include "kernels/cpu/recurrent/weights.h"
#include "kernels/family.h"
#include "kernels/match/usual_cell.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

using ops::RecurrentAttributes;
using ops::RecurrentKind;

class Recurrent final : public CpuKernel {
 public:
  Recurrent(const Problem& problem, const RecurrentAttributes& cell)
      : group_(problem.group),
        cell_(cell),
        kernels_(GetMicroKernels()),
        cells_(GetRecurrentCells()),
        weights_(cell_, kernels_.nr),
        parts_(problem.threads <= 1 ? 1 : std::min<int64_t>(cell_.gates, InputPanels())),
        state_parts_(CountStateParts(problem.threads)) {
    const ir::Node& node = group_->nodes()[0];
    for (size_t i = 0; i < kOutputs; ++i) {
      output_[i] = IndexOf(group_->outputs, node.output(i));
    }
  }

  std::vector<PackRequest> packs() const override {
    const ir::Node& node = group_->nodes()[0];
    std::vector<PackRequest> all{weights_.Pack(node)};
    for (size_t operand : {kRecurrentH, kRecurrentC}) {
      const ir::ValueId id = node.input(operand);
      if (id == ir::kAbsent || !group_->value(id).is_constant()) continue;
      const int64_t elements = group_->value(id).constant->elements();
      all.push_back({{id},
                     "floats",
                     elements * 4,
                     [elements](std::span<const Constant* const> constants, std::byte* out) {
                       ReadFloats(*constants[0], 0, elements, reinterpret_cast<float*>(out));
                       return OkStatus();
                     }});
    }
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const ir::Node& node = group_->nodes()[0];
    const size_t input = IndexOf(group_->inputs, node.input(kRecurrentX));
    const float** rows = args.At(rows_);
    FillRowPointers(args.inputs[input].host<float>(), cell_.input, Rows(), rows);
    args.stream.ParallelFor(cell_.directions * parts_,
                            [&](int64_t task, int) { RunInputs(args, rows, task); });
    if (state_parts_ > 1) {
      for (int64_t direction = 0; direction < cell_.directions; ++direction)
        RunDirection(args, direction);
      return OkStatus();
    }
    args.stream.ParallelFor(cell_.directions,
                            [&](int64_t direction, int) { RunDirection(args, direction); });
    return OkStatus();
  }

 private:
  /// Products of a part of a step take microseconds, as starting and joining threads does.
  static constexpr int64_t kPartMacs = 32 << 10;
  static constexpr size_t kOutputs = 3;  // all states, last state, last cell state

  /// The scratch of one direction.
  struct Lane {
    float* sums;             // [steps * batch][gates * hidden]: input products, then gates
    float* state;            // [batch][gates * hidden]: state products of one step
    float *h, *c, *reset;    // [batch][hidden]
    const float** pointers;  // of each part of a state product: [batch], and its tiles
    TileSpan* tiles;
  };

  /// Parts that the state products of a step are cut into, at panels.
  int64_t CountStateParts(int64_t threads) const {
    if (cell_.directions >= threads) return 1;
    const int64_t macs = cell_.batch * GateElements() * cell_.hidden;
    const int64_t panels = CeilDiv(weights_.state_columns(), kernels_.nr);
    return std::clamp<int64_t>(macs / kPartMacs, 1, std::min(threads, panels));
  }

  int64_t Rows() const { return cell_.steps * cell_.batch; }
  int64_t GateElements() const { return cell_.gates * cell_.hidden; }
  /// Of a direction; what threads write at once lies in cache lines of their own.
  int64_t SumFloats() const { return RoundUp(Rows() * GateElements(), 16); }
  int64_t StateFloats() const { return RoundUp(cell_.batch * GateElements(), 16); }
  int64_t HiddenFloats() const { return RoundUp(cell_.batch * cell_.hidden, 16); }
  int64_t PartPointers() const { return RoundUp(cell_.batch, 8); }
  int64_t Tiles(int64_t rows) const { return RoundUp(CeilDiv(rows, kernels_.mr), 8); }
  int64_t InputPanels() const { return CeilDiv(weights_.input_columns(), kernels_.nr); }
  /// The row tiles of a part of the input products.
  TileSpan* InputTiles(const CpuLaunch& args, int64_t task) const {
    return args.At(input_tiles_) + task * Tiles(Rows());
  }
  const float* Panels(const CpuLaunch& args) const { return args.packed[0].host<float>(); }
  Lane LaneOf(const CpuLaunch& args, int64_t direction) const {
    const int64_t part = direction * state_parts_;
    return {
        args.At(sums_) + direction * SumFloats(),     args.At(state_) + direction * StateFloats(),
        args.At(h_) + direction * HiddenFloats(),     args.At(c_) + direction * HiddenFloats(),
        args.At(reset_) + direction * HiddenFloats(), args.At(pointers_) + part * PartPointers(),
        args.At(tiles_) + part * Tiles(cell_.batch)};
  }

  /// One of `parts_` parts of a direction's input products.
  void RunInputs(const CpuLaunch& args, const float* const* rows, int64_t task) const {
    const int64_t direction = task / parts_, part = task % parts_;
    const int64_t first = InputPanels() * part / parts_, end = InputPanels() * (part + 1) / parts_;
    const int64_t column = first * kernels_.nr;
    BlockArgs block;
    block.depth = cell_.input;
    block.far_b = false;
    block.b = weights_.Input(Panels(args), direction) + column * cell_.input;
    block.bias = weights_.InputBias(Panels(args), direction) + column;
    block.columns = std::min(end * kernels_.nr, weights_.input_columns()) - column;
    block.c_stride = GateElements();
    block.tiles = CutTiles(kernels_.mr, rows, Rows(), 1, LaneOf(args, direction).sums + column,
                           GateElements(), InputTiles(args, task));
    RunBlock(kernels_, block);
  }

  /// out[batch][gate] (+)= rows * R[gate]^T, for gates [first, last).
  void StateProduct(const CpuLaunch& args, const Lane& lane, int64_t direction, int64_t first,
                    int64_t last, const float* rows, float* out, bool accumulate) const {
    const auto run = [&](int64_t part, int) {
      for (int64_t gate = first; gate < last; gate += weights_.gates_together())
        StatePart(args, lane, direction, gate, part, rows, out, accumulate);
    };
    if (state_parts_ == 1) return run(0, 0);
    args.stream.ParallelFor(state_parts_, run);
  }

  /// One of `state_parts_` parts of the columns of the product that begins with `gate`.
  void StatePart(const CpuLaunch& args, const Lane& lane, int64_t direction, int64_t gate,
                 int64_t part, const float* rows, float* out, bool accumulate) const {
    const int64_t columns = weights_.state_columns(), panels = CeilDiv(columns, kernels_.nr);
    const int64_t begin = panels * part / state_parts_ * kernels_.nr;
    BlockArgs block;
    block.depth = cell_.hidden;
    block.far_b = false;  // fetching it ahead costs 6 % where all steps read the same weights
    block.columns = std::min(panels * (part + 1) / state_parts_ * kernels_.nr, columns) - begin;
    block.c_stride = GateElements();
    block.accumulate = accumulate;
    block.b = weights_.State(Panels(args), direction, gate) + begin * cell_.hidden;
    block.tiles =
        CutTiles(kernels_.mr, {rows, cell_.hidden}, cell_.batch, out + gate * cell_.hidden + begin,
                 GateElements(), lane.pointers + part * PartPointers(),
                 lane.tiles + part * Tiles(cell_.batch));
    if (!accumulate) block.bias = weights_.StateBias(Panels(args), direction, gate) + begin;
    RunBlock(kernels_, block);
  }

  void LoadState(const CpuLaunch& args, size_t operand, int64_t direction, float* to) const {
    const int64_t elements = cell_.batch * cell_.hidden;
    const ir::ValueId id = group_->nodes()[0].input(operand);
    if (id == ir::kAbsent) {
      std::fill_n(to, elements, 0.0f);
      return;
    }
    const int index = IndexOf(group_->inputs, id);
    // A constant initial state follows the weights; that of the cell follows that of h.
    const size_t pack = operand == kRecurrentC && ConstantInitialH() ? 2 : 1;
    const float* from =
        index >= 0 ? args.inputs[index].host<float>() : args.packed[pack].host<float>();
    std::copy_n(from + direction * elements, elements, to);
  }

  bool ConstantInitialH() const {
    const ir::ValueId id = group_->nodes()[0].input(kRecurrentH);
    return id != ir::kAbsent && group_->value(id).is_constant();
  }

  void RunDirection(const CpuLaunch& args, int64_t direction) const {
    const Lane lane = LaneOf(args, direction);
    const int64_t states = cell_.batch * cell_.hidden;
    LoadState(args, kRecurrentH, direction, lane.h);
    LoadState(args, kRecurrentC, direction, lane.c);
    for (int64_t step = 0; step < cell_.steps; ++step) {
      const int64_t t = direction == 1 || cell_.reverse ? cell_.steps - 1 - step : step;
      Step(args, lane, direction, lane.sums + t * cell_.batch * GateElements());
      if (output_[0] < 0) continue;
      float* all = args.outputs[output_[0]].host<float>();
      std::copy_n(lane.h, states, all + (t * cell_.directions + direction) * states);
    }
    for (size_t i = 1; i < kOutputs; ++i) {
      if (output_[i] < 0) continue;
      std::copy_n(i == 1 ? lane.h : lane.c, states,
                  args.outputs[output_[i]].host<float>() + direction * states);
    }
  }

  /// One step of one direction; `sums` holds its input products.
  void Step(const CpuLaunch& args, const Lane& lane, int64_t direction, float* sums) const {
    const int64_t hidden = cell_.hidden;
    const bool is_gru = cell_.kind == RecurrentKind::kGru;
    if (!is_gru) {
      StateProduct(args, lane, direction, 0, cell_.gates, lane.h, sums, true);
    } else {
      StateProduct(args, lane, direction, 0, cell_.linear_before_reset ? 3 : 2, lane.h, lane.state,
                   false);
    }
    for (int64_t b = 0; b < cell_.batch; ++b) {
      float* gates = sums + b * GateElements();
      float *h = lane.h + b * hidden, *c = lane.c + b * hidden;
      switch (cell_.kind) {
        case RecurrentKind::kRnn: cells_.rnn(hidden, gates, h); break;
        case RecurrentKind::kLstm: cells_.lstm(hidden, gates, c, h); break;
        case RecurrentKind::kGru:
          cells_.gru_gates(hidden, gates, lane.state + b * GateElements());
          cells_.gru_reset(hidden, gates, h, lane.reset + b * hidden);
          break;
      }
    }
    if (!is_gru) return;
    if (!cell_.linear_before_reset) {
      StateProduct(args, lane, direction, 2, 3, lane.reset, lane.state, false);
    }
    for (int64_t b = 0; b < cell_.batch; ++b) {
      cells_.gru_update(hidden, sums + b * GateElements(),
                        lane.state + b * GateElements() + 2 * hidden, cell_.linear_before_reset,
                        lane.h + b * hidden);
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  RecurrentAttributes cell_;
  const MicroKernels& kernels_;
  const RecurrentCells& cells_;
  RecurrentWeights weights_;
  int64_t parts_;        // of a direction's input products
  int64_t state_parts_;  // of a state product; 1: directions run in parallel
  RunScratch<const float*> rows_ = PerRun<const float*>(Rows());
  RunScratch<TileSpan> input_tiles_ = PerRun<TileSpan>(cell_.directions * parts_ * Tiles(Rows()));
  RunScratch<float> sums_ = PerRun<float>(cell_.directions * SumFloats());
  RunScratch<float> state_ = PerRun<float>(cell_.directions * StateFloats());
  RunScratch<float> h_ = PerRun<float>(cell_.directions * HiddenFloats());
  RunScratch<float> c_ = PerRun<float>(cell_.directions * HiddenFloats());
  RunScratch<float> reset_ = PerRun<float>(cell_.directions * HiddenFloats());
  RunScratch<const float*> pointers_ =
      PerRun<const float*>(cell_.directions * state_parts_ * PartPointers());
  RunScratch<TileSpan> tiles_ =
      PerRun<TileSpan>(cell_.directions * state_parts_ * Tiles(cell_.batch));
  int output_[kOutputs] = {-1, -1, -1};
};

Result<RecurrentAttributes> Read(const ir::Graph& group, const Device&) {
  return ReadUsualCell(group);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const RecurrentAttributes&,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  return std::vector<StateAssignment>{std::move(states)};
}

constexpr Family<RecurrentAttributes> kFamily{
    .read = Read, .states = States, .prepare = Make<Recurrent>, .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kCpuRecurrentGemm;
const KernelDesc kCpuRecurrentGemm = {.name = "cpu.recurrent.gemm", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
