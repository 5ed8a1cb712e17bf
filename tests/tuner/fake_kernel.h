// A kernel whose times are made up: Relu of a few elements on a FakeMachine.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "ir/text.h"
#include "kernels/family.h"
#include "kernels/fields.h"
#include "ops/op.h"
#include "tests/tuner/fake_machine.h"
#include "tuner/measure/measure.h"

namespace fettle::tuner {

/// What variant "i" of the fake kernel does: how long it takes, and whether it is right.
struct FakeVariants {
  FakeMachine* machine = nullptr;
  std::vector<double> us;
  std::set<int64_t> forgets_relu, writes_behind, fails;
};

/// Of the test that runs.
inline FakeVariants& Variants() {
  static FakeVariants variants;
  return variants;
}

class FakeKernel final : public kernels::PreparedKernel {
 public:
  FakeKernel(int64_t variant, int64_t elements) : variant_(variant), elements_(elements) {}

  Status Launch(const kernels::LaunchArgs& args) const override {
    const FakeVariants& variants = Variants();
    if (variants.fails.contains(variant_)) return Unsupported("variant {} fails", variant_);
    const auto* x = args.inputs[0].host<float>();
    auto* y = args.outputs[0].host<float>();
    const bool relu = !variants.forgets_relu.contains(variant_);
    for (int64_t i = 0; i < elements_; ++i) y[i] = relu ? std::max(x[i], 0.0F) : x[i];
    if (variants.writes_behind.contains(variant_)) y[elements_] = 0;
    variants.machine->Work(variants.us[static_cast<size_t>(variant_)]);
    return OkStatus();
  }

 private:
  int64_t variant_, elements_;
};

struct FakeVariant {
  int64_t i = 0;
};
inline constexpr kernels::Fields kFakeFields("", kernels::Field{"i", &FakeVariant::i, {}});

/// Of so many elements.
inline constexpr kernels::Family<int64_t> kFakeFamily{
    .read = [](const ir::Graph& group, const Device&) -> Result<int64_t> {
      return group.value(group.inputs[0]).shape->elements();
    },
    .states = kernels::RowMajorAlone,
    .prepare = [](const kernels::Problem&, const int64_t& elements, const kernels::Params& params,
                  const Device&) -> Result<std::unique_ptr<kernels::PreparedKernel>> {
      return std::unique_ptr<kernels::PreparedKernel>(
          new FakeKernel(kFakeFields.Read(params).i, elements));
    },
    .params = [](const kernels::Problem&, const int64_t&, const Device&) -> kernels::ParamSpace {
      return {.tunables = {}, .usual = kFakeFields.Write({}), .check = {}};
    }};

inline const kernels::KernelDesc& FakeKernelDesc() {
  static const kernels::KernelDesc desc = {.name = "cpu.test.fake",
                                           .match = kernels::MatchAs<kFakeFamily>};
  return desc;
}

/// One candidate per variant.
inline std::vector<Candidate> FakeCandidates() {
  static const auto group = [] {
    ir::Graph graph = ops::Parse("input %x: f32[2x5]\n%y = Relu(%x)\noutput %y\n").value();
    FETTLE_CHECK(ops::InferGraph(graph).ok(), "shapes are given");
    return std::make_shared<const ir::Graph>(std::move(graph));
  }();
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < Variants().us.size(); ++i) {
    candidates.push_back({&FakeKernelDesc(),
                          {group, kernels::RowMajorStates(*group), 1},
                          {{"i", static_cast<int64_t>(i)}}});
  }
  return candidates;
}

/// Options that put a bench on the fake machine.
inline MeasureOptions OnMachine(FakeMachine& machine, uint64_t seed = 1) {
  return {.seed = seed, .now_ns = machine.clock(), .sentinel = [&machine] { machine.Work(20); }};
}

}  // namespace fettle::tuner
