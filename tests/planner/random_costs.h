// Small networks with what plans differ in, and costs drawn by chance.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "planner/cost_source.h"

namespace fettle::planner {

inline constexpr std::string_view kResidual = R"(input %x: f32[1x16x9x11]
const %w1: f32[24x16x3x3]
const %b1: f32[24]
const %w2: f32[24x1x3x3]
const %w3: f32[16x24x1x1]
%a = Conv(%x, %w1, %b1) {pads=[1,1,1,1]}
%b = Relu(%a)
%c = Conv(%b, %w2, _) {pads=[1,1,1,1], group=24}
%d = Sigmoid(%c)
%e = Mul(%c, %d)
%f = Conv(%e, %w3, _)
%g = Add(%f, %x)
%h = MaxPool(%g) {kernel_shape=[3,3], strides=[2,2]}
%i = GlobalAveragePool(%g)
%j = Mul(%g, %i)
output %h
output %j
)";

inline constexpr std::string_view kBranches = R"(input %x: f32[2x8x12x10]
const %w1: f32[8x8x1x1]
const %w2: f32[16x8x3x3]
const %s: f32[4] = 1.0 1.0 2.0 2.0
const %p: i64[2] = 2 -1
%a = Conv(%x, %w1, _)
%b = Conv(%x, %w2, _) {pads=[1,1,1,1], strides=[2,2]}
%c = LeakyRelu(%b) {alpha=0.1f}
%d = Resize(%c, _, %s) {mode="linear", coordinate_transformation_mode="half_pixel"}
%e = Concat(%a, %d) {axis=1}
%f = AveragePool(%e) {kernel_shape=[2,2], strides=[2,2]}
%g = Transpose(%f) {perm=[0,2,3,1]}
%h = Reshape(%g, %p)
%i = Softmax(%h) {axis=-1}
output %i
output %e
)";

inline constexpr std::string_view kQuantised = R"(input %x: f32[1x8x8x8]
const %xs: f32[] = 0.02
const %xz: u8[] = 128
const %ws: f32[] = 0.01
const %wz: i8[] = 0
const %w: i8[16x8x3x3] = noise(-100, 100)
const %ys: f32[] = 0.05
const %yz: u8[] = 120
%q = QuantizeLinear(%x, %xs, %xz)
%d = DequantizeLinear(%q, %xs, %xz)
%v = DequantizeLinear(%w, %ws, %wz)
%c = Conv(%d, %v, _) {pads=[1,1,1,1]}
%r = Relu(%c)
%y = QuantizeLinear(%r, %ys, %yz)
%z = DequantizeLinear(%y, %ys, %yz)
%m = MaxPool(%z) {kernel_shape=[2,2], strides=[2,2]}
output %m
)";

/// Costs that depend on nothing but a seed and what is priced; where asked to, of parameters drawn
/// from those that the kernels list.
class RandomCosts final : public CostSource {
 public:
  explicit RandomCosts(uint64_t seed, bool draws_params = false)
      : seed_(seed), draws_params_(draws_params) {}
  EntryCost Kernel(const Kind& kind, const Entry& entry) override {
    const kernels::Problem problem = kind.problem(entry);
    return {.us = Draw(fmt::format("{} {} {}", entry.kernel->name, problem.threads,
                                   StatesText(*kind.group, entry))),
            .measured = true,
            .proposal = draws_params_ ? Propose(kind, entry) : nullptr};
  }
  EntryCost Conversion(const Shape& shape, DType, const State& from, const State& to,
                       int) override {
    return {.us = 0.3 * Draw(StateName(from, shape.rank()) + StateName(to, shape.rank())),
            .measured = true};
  }

 private:
  static std::string StatesText(const ir::Graph& group, const Entry& entry) {
    std::string text;
    for (size_t i = 0; i < group.inputs.size(); ++i)
      text += StateName(entry.states.inputs[i], group.value(group.inputs[i]).shape->rank());
    for (size_t i = 0; i < group.outputs.size(); ++i)
      text += StateName(entry.states.outputs[i], group.value(group.outputs[i]).shape->rank());
    for (const auto& [name, value] : entry.params) text += fmt::format("{}={}", name, value);
    return text;
  }
  double Draw(const std::string& text) const {
    return 1 + static_cast<double>(HashText(text, seed_) % 1000) / 100;
  }

  std::shared_ptr<const Proposal> Propose(const Kind& kind, const Entry& entry) const {
    const kernels::ParamSpace space = entry.match->params(entry.states_index, entry.threads);
    if (space.tunables.empty()) return nullptr;
    Proposal proposal{entry.params, "chance", false};
    for (const kernels::Tunable& tunable : space.tunables) {
      const uint64_t draw = HashText(tunable.name + kind.text, seed_);
      proposal.params[tunable.name] = tunable.values[draw % tunable.values.size()];
    }
    const bool valid = !space.check || space.check(proposal.params).ok();
    return valid ? std::make_shared<const Proposal>(std::move(proposal)) : nullptr;
  }

  uint64_t seed_;
  bool draws_params_;
};

}  // namespace fettle::planner
