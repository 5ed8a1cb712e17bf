// Kernels that are made of those for other extents compute what the oracle does, and want the same
// constants packed as those that are prepared.
#include "kernels/takes_extents.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "kernels/near_match.h"
#include "ops/cases.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// `graph` with other extents above 1 of its inputs, equal ones where they were equal; nothing
/// where it has none such, or other values have extents of at most 1. `with_ones`: of 1 too.
Result<ir::Graph> AtOthers(const ir::Graph& graph, bool with_ones, std::mt19937& random) {
  ir::Graph other = graph;
  std::map<int64_t, int64_t> drawn;
  const int kept = random() % 2 == 0 ? 2 : 0;  // leading axes: channels mostly fit weights
  for (ir::ValueId id : other.inputs) {
    Shape& shape = *other.value(id).shape;
    for (int axis = kept; axis < shape.rank(); ++axis) {
      int64_t& extent = shape[axis];
      if (extent < 1 || (extent == 1 && !with_ones)) continue;
      if (!drawn.contains(extent)) drawn[extent] = random() % 3 == 0 ? extent : 2 + random() % 24;
      extent = with_ones && random() % 3 == 0 ? 1 : drawn[extent];
    }
  }
  RETURN_IF_ERROR(ops::InferGraph(other));
  for (ir::ValueId id : graph.values().ids()) {
    const Shape &a = *graph.value(id).shape, &b = *other.value(id).shape;
    if (a.rank() != b.rank()) return Unsupported("another rank");
    for (int axis = 0; axis < a.rank(); ++axis)
      if (a[axis] != b[axis] && std::min(a[axis], b[axis]) <= (with_ones ? 0 : 1))
        return Unsupported("at most 1");
  }
  return other;
}

/// What a moved kernel is made of: a kernel for other extents.
struct Example {
  std::shared_ptr<const Match> match;
  std::unique_ptr<PreparedKernel> kernel;
  StateAssignment states;
  std::shared_ptr<const ir::Graph> group;
  Setting setting;
  bool is_view = false;  // at the other extents
  int moved = 0;         // in place
};
Example* example = nullptr;

/// Prepares the example at the extents of its group.
class MovedMatch final : public Match {
 public:
  MovedMatch(std::shared_ptr<const ir::Graph> group, const Device& device)
      : group_(std::move(group)), device_(device), states_{example->states} {}
  std::span<const StateAssignment> states() const override { return states_; }
  ParamSpace params(int, int) const override { return {}; }
  bool is_view(int) const override { return example->is_view; }
  Result<std::unique_ptr<PreparedKernel>> Prepare(const Setting& setting) const override {
    const Problem problem{group_, example->states, setting.threads};
    // In place where it can: at the extents of the example again, then at these.
    ASSIGN_OR_RETURN(auto moved, example->match->Prepare(example->setting));
    auto& takes = dynamic_cast<TakesExtents&>(*moved);
    const Problem first{example->group, example->states, setting.threads};
    if (takes.MoveTo(problem, device_) && takes.MoveTo(first, device_) &&
        takes.MoveTo(problem, device_)) {
      ++example->moved;
      return moved;
    }
    moved = dynamic_cast<const TakesExtents&>(*example->kernel).At(problem, device_);
    if (moved == nullptr) return Unsupported("has to be matched");
    return moved;
  }

 private:
  std::shared_ptr<const ir::Graph> group_;
  const Device& device_;
  std::vector<StateAssignment> states_;
};

constexpr KernelDesc kMoved = {
    .name = "cpu.moved", .match = [](std::shared_ptr<const ir::Graph> group, const Device& device) {
      return Result<std::unique_ptr<const Match>>(
          std::make_unique<MovedMatch>(std::move(group), device));
    }};

std::vector<std::string> RecipesOf(const PreparedKernel& kernel) {
  std::vector<std::string> recipes;
  for (const PackRequest& request : kernel.packs()) recipes.push_back(request.recipe);
  return recipes;
}

struct Counts {
  int made = 0, moved = 0;  // by At, and in place
  int ones = 0;             // with extents of 1 that were none, or the other way round
};

/// Makes `kernel` of `from` that of `to` in each of its states.
void MoveAll(const KernelDesc& kernel, const CaseGroup& from, const CaseGroup& to, Counts& counts) {
  const CpuDevice& device = TestDevice(3);
  const auto match = MatchGroup(kernel, from.graph, device);
  if (!match.ok()) return;
  for (size_t i = 0; i < (*match)->states().size(); ++i) {
    const Setting setting{static_cast<int>(i), 3, {}, false};
    Example made{*match, (*match)->Prepare(setting).value(), (*match)->states()[i], from.graph,
                 setting};
    const auto* takes = dynamic_cast<const TakesExtents*>(made.kernel.get());
    const auto* near = dynamic_cast<const MatchesNear*>(match->get());
    const Problem problem{to.graph, made.states, 3};
    const auto there = takes == nullptr || near == nullptr ? nullptr : takes->At(problem, device);
    if (there == nullptr) continue;
    const auto matched = near->MatchNear(to.graph, setting.states);
    EXPECT_TRUE(matched.ok()) << kernel.name << ": " << matched.status().message();
    if (!matched.ok()) continue;
    // One as good as the best of another layout may be so at some extents alone.
    const int before = (*match)->taste(), after = (*matched)->taste();
    const bool is_beside = before == kBesideBest || after == kBesideBest;
    EXPECT_TRUE(before == after || (is_beside && before != kOnlyMeasured && after != kOnlyMeasured))
        << kernel.name << ": " << before << " and " << after;
    const auto prepared = (*matched)->Prepare({0, 3, {}, false});
    EXPECT_TRUE(prepared.ok()) << kernel.name << ": " << prepared.status().message();
    if (!prepared.ok()) continue;
    EXPECT_EQ(RecipesOf(*there), RecipesOf(**prepared)) << kernel.name;
    EXPECT_EQ(there->aliases().size(), (*prepared)->aliases().size()) << kernel.name;
    made.is_view = (*matched)->is_view(0);
    example = &made;
    EXPECT_TRUE(CheckRun({kMoved, to, problem, {}, ""}, device)) << kernel.name;
    ++counts.made;
    if (made.moved > 0) ++counts.moved;
  }
}

/// The same where extents are 1 in one of the two alone, of kernels that take these.
void MoveOnes(const KernelDesc& kernel, const CaseGroup& from, const CaseGroup& to,
              Counts& counts) {
  const CpuDevice& device = TestDevice(3);
  const auto match = MatchGroup(kernel, from.graph, device);
  if (!match.ok()) return;
  for (size_t i = 0; i < (*match)->states().size(); ++i) {
    const Setting setting{static_cast<int>(i), 3, {}, false};
    Example made{*match, (*match)->Prepare(setting).value(), (*match)->states()[i], from.graph,
                 setting};
    const auto* takes = dynamic_cast<const TakesExtents*>(made.kernel.get());
    const Problem problem{to.graph, made.states, 3};
    const auto there =
        takes == nullptr || !takes->takes_ones() ? nullptr : takes->At(problem, device);
    if (there == nullptr) continue;
    EXPECT_EQ(RecipesOf(*there), RecipesOf(*made.kernel)) << kernel.name;
    const auto matched = MatchGroup(kernel, to.graph, device);
    EXPECT_TRUE(matched.ok()) << kernel.name << ": " << matched.status().message();
    if (!matched.ok()) continue;
    // Few channels are not offered wide blocks, in which the kernel is right nonetheless.
    const Result<int> states = FindStates(kernel, **matched, made.states);
    made.is_view = states.ok() && (*matched)->is_view(*states);
    example = &made;
    EXPECT_TRUE(CheckRun({kMoved, to, problem, {}, ""}, device)) << kernel.name;
    ++counts.ones;
  }
}

TEST(TakesExtents, KernelsAreRightAtExtentsOfOne) {
  std::mt19937 random(20261129);
  std::map<std::string_view, Counts> counts;
  for (const ops::Case& test : ops::AllCases()) {
    if (test.bench) continue;
    const Result<EvaluatedCase> to = EvaluateCase(test);
    if (!to.ok()) continue;
    for (int round = 0; round < 3; ++round) {
      Result<ir::Graph> graph = AtOthers(to->graph, /*with_ones=*/true, random);
      if (!graph.ok()) continue;
      const EvaluatedCase from{std::move(*graph), to->values};
      const size_t nodes = to->graph.nodes().size();
      const CaseGroup of_from = MakeGroup(from, 0, nodes), of_to = MakeGroup(*to, 0, nodes);
      for (const KernelDesc* kernel : CpuKernels())
        MoveOnes(*kernel, of_from, of_to, counts[kernel->name]);
    }
  }
  for (const char* name : {"cpu.conv.depthwise.nhwc", "cpu.conv.gemm.nhwc", "cpu.move",
                           "cpu.reduce.rows", "cpu.resize.separable"})
    EXPECT_GT(counts[name].ones, 2) << name;
}

/// A tensor of one element in the example has more at other extents.
TEST(TakesExtents, ATensorOfOneElementIsNoNumber) {
  ir::Graph parsed = ops::Parse(R"(input %x: f32[1x8x5x5]
input %a: f32[1x1x1x1]
const %w: f32[8x8x1x1]
%c = Conv(%x, %w) {pads=[0,0,0,0]}
%y = Add(%c, %a)
output %y
)")
                         .value();
  ASSERT_TRUE(ops::InferGraph(parsed).ok());
  const auto group = std::make_shared<const ir::Graph>(std::move(parsed));
  int asked = 0;
  for (const KernelDesc* kernel : CpuKernels()) {
    const auto match = MatchGroup(*kernel, group, TestDevice(3));
    if (!match.ok()) continue;
    const auto made = (*match)->Prepare({0, 3, {}, false}).value();
    const auto* takes = dynamic_cast<const TakesExtents*>(made.get());
    if (takes == nullptr) continue;
    EXPECT_FALSE(takes->takes_ones()) << kernel->name;
    ++asked;
  }
  EXPECT_GT(asked, 0);
}

TEST(TakesExtents, KernelsAreRightAtOtherExtents) {
  std::mt19937 random(20261128);
  std::map<std::string_view, Counts> counts;
  for (const ops::Case& test : ops::AllCases()) {
    if (test.bench) continue;
    const Result<EvaluatedCase> to = EvaluateCase(test);
    if (!to.ok()) continue;
    for (int round = 0; round < 3; ++round) {
      Result<ir::Graph> graph = AtOthers(to->graph, /*with_ones=*/false, random);
      if (!graph.ok()) continue;
      const EvaluatedCase from{std::move(*graph), to->values};
      const size_t nodes = to->graph.nodes().size();
      const CaseGroup of_from = MakeGroup(from, 0, nodes), of_to = MakeGroup(*to, 0, nodes);
      for (const KernelDesc* kernel : CpuKernels())
        MoveAll(*kernel, of_from, of_to, counts[kernel->name]);
    }
  }
  for (const char* name :
       {"cpu.conv.depthwise.nhwc", "cpu.conv.dot.nhwc", "cpu.conv.gemm.nhwc", "cpu.conv.strips.row",
        "cpu.conv.planes", "cpu.conv.planes.flat", "cpu.conv.winograd23.any",
        "cpu.conv.winograd43.any", "cpu.conv.winograd43.nhwc", "cpu.conv_transpose.gemm.nhwc",
        "cpu.elementwise.chain", "cpu.matmul.gemm", "cpu.move", "cpu.norm.layer", "cpu.pool.window",
        "cpu.reduce.rows", "cpu.resize.separable", "cpu.softmax.rows"})
    EXPECT_GT(counts[name].made, 2) << name;
  for (const char* name :
       {"cpu.conv.depthwise.nhwc", "cpu.conv.dot.nhwc", "cpu.conv.gemm.nhwc",
        "cpu.conv.winograd23.any", "cpu.elementwise.chain", "cpu.resize.separable",
        "cpu.matmul.gemm", "cpu.norm.layer", "cpu.reduce.rows"})
    EXPECT_GT(counts[name].moved, 2) << name;
}

}  // namespace
}  // namespace fettle::kernels
