// opencl.half_weights.experts: ExpertMatMul with weights of f32, which are halves where the file
// has them so. The weights of an expert are read for each choice.
#include "kernels/family.h"
#include "kernels/opencl/expert_choices.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

using Product = ops::ExpertProduct;

Result<ExpertGroup> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(ExpertGroup found, ReadDeviceExperts(group));
  if (found.p.block != 0) return Unsupported("weights are codes in blocks");
  return found;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ExpertGroup&,
                                            const Device&) {
  return ExpertStates(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ExpertGroup& facts,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::ValueId weights = facts.input(Product::kWeights);
  const bool halves = SixteenBitsOf(*group.value(weights).constant) == DType::kF16;
  BuildOptions options;
  DefineChoices(group, facts, options);
  options.Define("HALVES", halves ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("half_weights/experts.cl", options), "experts"));
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch = ExpertLaunch(std::move(kernel), facts);
  launch.Input(InputIndex(group, facts.input(Product::kRows)), 4);
  made->AddRows(group, weights, halves ? DType::kF16 : DType::kF32, launch);
  AddChoices(group, facts, launch);
  launch.Int(facts.p.k);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ExpertGroup> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClHalfWeightsExperts;
const KernelDesc kOpenClHalfWeightsExperts = {.name = "opencl.half_weights.experts",
                                              .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
