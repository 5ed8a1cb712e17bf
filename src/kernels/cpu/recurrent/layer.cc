#include "kernels/cpu/recurrent/layer.h"

#include <algorithm>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/operands.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {

using ops::RecurrentAttributes;
using ops::RecurrentKind;

namespace {

/// Operands that are floats; those of them that are constant are packed in this order.
constexpr size_t kFloats[] = {kRecurrentX, kRecurrentH, kRecurrentC};

}  // namespace

RecurrentLayer::RecurrentLayer(const Problem& problem, const RecurrentAttributes& cell)
    : group_(problem.group), cell_(cell), cells_(GetRecurrentCells()) {
  const ir::Node& node = group_->nodes()[0];
  for (size_t i = 0; i < kOutputs; ++i) output_[i] = IndexOf(group_->outputs, node.output(i));
  sums_ = PerRun<float>(cell_.directions * SumFloats());
  state_ = PerRun<float>(cell_.directions * StateFloats());
  for (RunScratch<float>* states : {&h_, &c_, &reset_})
    *states = PerRun<float>(cell_.directions * HiddenFloats());
  if (node.input(kRecurrentLengths) != ir::kAbsent)
    kept_ = PerRun<float>(cell_.directions * 2 * HiddenFloats());
}

std::vector<PackRequest> RecurrentLayer::packs() const {
  const ir::Node& node = group_->nodes()[0];
  std::vector<PackRequest> all{PackWeights(node)};
  for (size_t operand : kFloats) {
    if (!IsConstant(operand)) continue;
    const ir::ValueId id = node.input(operand);
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
  RunInputs(args, Floats(args, kRecurrentX));
  ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Lengths(args));
  const auto run = [&](int64_t direction, int) { RunDirection(args, direction, lengths); };
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
          args.At(reset_) + at, args.At(kept_) + 2 * at};
}

void RecurrentLayer::LoadState(const CpuLaunch& args, size_t operand, int64_t direction,
                               float* to) const {
  const int64_t elements = cell_.batch * cell_.hidden;
  const ir::ValueId id = group_->nodes()[0].input(operand);
  if (id == ir::kAbsent) {
    std::fill_n(to, elements, 0.0f);
    return;
  }
  std::copy_n(Floats(args, operand) + direction * elements, elements, to);
}

const float* RecurrentLayer::Floats(const CpuLaunch& args, size_t operand) const {
  if (!IsConstant(operand))
    return args.inputs[IndexOf(group_->inputs, group_->nodes()[0].input(operand))].host<float>();
  size_t pack = 1;  // behind the weights
  for (size_t before : kFloats) pack += before < operand && IsConstant(before) ? 1 : 0;
  return args.packed[pack].host<float>();
}

bool RecurrentLayer::IsConstant(size_t operand) const {
  const ir::ValueId id = group_->nodes()[0].input(operand);
  return id != ir::kAbsent && group_->value(id).is_constant();
}

Result<std::vector<int64_t>> RecurrentLayer::Lengths(const CpuLaunch& args) const {
  const ir::ValueId id = group_->nodes()[0].input(kRecurrentLengths);
  std::vector<int64_t> lengths;
  if (id == ir::kAbsent) return lengths;
  const int index = IndexOf(group_->inputs, id);
  for (int64_t b = 0; b < cell_.batch; ++b) {
    lengths.push_back(index >= 0 ? args.inputs[index].host<int32_t>()[b]
                                 : group_->value(id).constant->GetInt(b));
    if (lengths.back() < 0 || lengths.back() > cell_.steps)
      return InvalidArgument("sequence_lens: {} is not in [0, {}]", lengths.back(), cell_.steps);
  }
  return lengths;
}

void RecurrentLayer::RunDirection(const CpuLaunch& args, int64_t direction,
                                  const std::vector<int64_t>& lengths) const {
  const Lane lane = LaneOf(args, direction);
  float* const sums = SumsOf(args, direction);
  const int64_t states = cell_.batch * cell_.hidden;
  LoadState(args, kRecurrentH, direction, lane.h);
  LoadState(args, kRecurrentC, direction, lane.c);
  for (int64_t step = 0; step < cell_.steps; ++step) {
    const int64_t t = direction == 1 || cell_.reverse ? cell_.steps - 1 - step : step;
    if (lengths.empty())
      Step(args, lane, direction, sums + t * cell_.batch * GateElements());
    else
      StepSome(args, lane, direction, t, lengths);
    if (output_[0] < 0) continue;
    float* const all =
        args.outputs[output_[0]].host<float>() + (t * cell_.directions + direction) * states;
    std::copy_n(lane.h, states, all);
    for (size_t b = 0; b < lengths.size(); ++b) {
      if (t >= lengths[b])
        std::fill_n(all + static_cast<int64_t>(b) * cell_.hidden, cell_.hidden, 0.0f);
    }
  }
  for (size_t i = 1; i < kOutputs; ++i) {
    if (output_[i] < 0) continue;
    std::copy_n(i == 1 ? lane.h : lane.c, states,
                args.outputs[output_[i]].host<float>() + direction * states);
  }
}

void RecurrentLayer::StepSome(const CpuLaunch& args, const Lane& lane, int64_t direction, int64_t t,
                              const std::vector<int64_t>& lengths) const {
  if (std::ranges::all_of(lengths, [t](int64_t length) { return t >= length; })) return;
  const int64_t hidden = cell_.hidden, states = cell_.batch * hidden;
  std::copy_n(lane.h, states, lane.kept);
  std::copy_n(lane.c, states, lane.kept + states);
  Step(args, lane, direction, SumsOf(args, direction) + t * cell_.batch * GateElements());
  for (int64_t b = 0; b < cell_.batch; ++b) {
    if (t < lengths[b]) continue;
    std::copy_n(lane.kept + b * hidden, hidden, lane.h + b * hidden);
    std::copy_n(lane.kept + states + b * hidden, hidden, lane.c + b * hidden);
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
  RETURN_IF_ERROR(CheckFloat(group.value(group.nodes()[0].input(kRecurrentX)).dtype));
  return std::vector<StateAssignment>{WidenedStates(group)};
}

}  // namespace fettle::kernels
