// opencl.block_product.experts: ExpertMatMul with weights in blocks. Rows are rounded by a launch
// before; the weights of an expert are read for each choice.
#include "kernels/family.h"
#include "kernels/opencl/block_product/block_weights.h"
#include "kernels/opencl/expert_choices.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

using Product = ops::ExpertProduct;

struct ExpertBlocks {
  ExpertGroup group;
  BlockFacts blocks;  // of all experts' rows, one behind the other
};

Result<ExpertBlocks> Read(const ir::Graph& group, const Device&) {
  ExpertBlocks facts;
  ASSIGN_OR_RETURN(facts.group, ReadDeviceExperts(group));
  const Product& p = facts.group.p;
  if (p.block == 0) return Unsupported("weights are floats");
  const auto type = [&](Product::Input i) { return group.value(facts.group.input(i)).dtype; };
  facts.blocks = {.p = {.rows = p.own_rows ? p.choices() : p.rows,
                        .n = p.experts * p.n,
                        .k = p.k,
                        .block = p.block},
                  .bits = type(Product::kWeights) == DType::kU4 ? 4 : 8,
                  .scales = Product::kScales};
  facts.blocks.halves =
      type(Product::kScales) == DType::kF16 && type(Product::kMinima) == DType::kF16;
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ExpertBlocks&,
                                            const Device&) {
  return ExpertStates(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ExpertBlocks& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(auto made, StartBlockProduct(problem, facts.blocks, device, true));
  BuildOptions options = BlockOptions(facts.blocks, device);
  DefineChoices(*problem.group, facts.group, options);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("block_product/experts.cl", options), "experts"));
  RecordedLaunch launch = ExpertLaunch(std::move(kernel), facts.group);
  AddRoundedRows(facts.blocks, launch);
  launch.Packed(0, facts.blocks.unit_bytes()).Packed(1, facts.blocks.pair_bytes());
  AddChoices(*problem.group, facts.group, launch);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ExpertBlocks> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClBlockProductExperts;
const KernelDesc kOpenClBlockProductExperts = {.name = "opencl.block_product.experts",
                                               .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
