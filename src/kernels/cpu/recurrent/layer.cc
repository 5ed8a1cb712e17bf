#include "kernels/cpu/recurrent/layer.h"

#include <algorithm>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/pack.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {

using ops::RecurrentAttributes;
using ops::RecurrentKind;

RecurrentLayer::RecurrentLayer(const Problem& problem, const RecurrentAttributes& cell)
    : group_(problem.group), cell_(cell), cells_(GetRecurrentCells()) {
  const ir::Node& node = group_->nodes()[0];
  for (size_t i = 0; i < kOutputs; ++i) output_[i] = IndexOf(group_->outputs, node.output(i));
  sums_ = PerRun<float>(cell_.directions * SumFloats());
  state_ = PerRun<float>(cell_.directions * StateFloats());
  for (RunScratch<float>* states : {&h_, &c_, &reset_})
    *states = PerRun<float>(cell_.directions * HiddenFloats());
}

std::vector<PackRequest> RecurrentLayer::packs() const {
  const ir::Node& node = group_->nodes()[0];
  std::vector<PackRequest> all{PackWeights(node)};
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

Status RecurrentLayer::Run(const CpuLaunch& args) const {
  RunInputs(
      args,
      args.inputs[IndexOf(group_->inputs, group_->nodes()[0].input(kRecurrentX))].host<float>());
  const auto run = [&](int64_t direction, int) { RunDirection(args, direction); };
  if (splits_steps()) {
    for (int64_t direction = 0; direction < cell_.directions; ++direction) run(direction, 0);
  } else {
    args.stream.ParallelFor(cell_.directions, run);
  }
  return OkStatus();
}

int64_t RecurrentLayer::SumFloats() const { return RoundUp(Rows() * GateElements(), 16); }
int64_t RecurrentLayer::StateFloats() const { return RoundUp(cell_.batch * GateElements(), 16); }
int64_t RecurrentLayer::HiddenFloats() const { return RoundUp(cell_.batch * cell_.hidden, 16); }

RecurrentLayer::Lane RecurrentLayer::LaneOf(const CpuLaunch& args, int64_t direction) const {
  const int64_t at = direction * HiddenFloats();
  return {args.At(state_) + direction * StateFloats(), args.At(h_) + at, args.At(c_) + at,
          args.At(reset_) + at};
}

void RecurrentLayer::LoadState(const CpuLaunch& args, size_t operand, int64_t direction,
                               float* to) const {
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

bool RecurrentLayer::ConstantInitialH() const {
  const ir::ValueId id = group_->nodes()[0].input(kRecurrentH);
  return id != ir::kAbsent && group_->value(id).is_constant();
}

void RecurrentLayer::RunDirection(const CpuLaunch& args, int64_t direction) const {
  const Lane lane = LaneOf(args, direction);
  float* const sums = SumsOf(args, direction);
  const int64_t states = cell_.batch * cell_.hidden;
  LoadState(args, kRecurrentH, direction, lane.h);
  LoadState(args, kRecurrentC, direction, lane.c);
  for (int64_t step = 0; step < cell_.steps; ++step) {
    const int64_t t = direction == 1 || cell_.reverse ? cell_.steps - 1 - step : step;
    Step(args, lane, direction, sums + t * cell_.batch * GateElements());
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

void RecurrentLayer::Step(const CpuLaunch& args, const Lane& lane, int64_t direction,
                          float* sums) const {
  const int64_t hidden = cell_.hidden;
  const bool is_gru = cell_.kind == RecurrentKind::kGru;
  if (!is_gru) {
    StateProduct(args, direction, 0, cell_.gates, lane.h, sums, true);
  } else {
    StateProduct(args, direction, 0, cell_.linear_before_reset ? 3 : 2, lane.h, lane.state, false);
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
    StateProduct(args, direction, 2, 3, lane.reset, lane.state, false);
  }
  for (int64_t b = 0; b < cell_.batch; ++b) {
    cells_.gru_update(hidden, sums + b * GateElements(),
                      lane.state + b * GateElements() + 2 * hidden, cell_.linear_before_reset,
                      lane.h + b * hidden);
  }
}

Result<std::vector<StateAssignment>> LayerStates(const ir::Graph& group, const RecurrentAttributes&,
                                                 const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  return std::vector<StateAssignment>{std::move(states)};
}

}  // namespace fettle::kernels
