// opencl.gather.product: products of single rows by matrices that indices choose, which are read
// where they lie.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/match/gathered_product.h"
#include "kernels/opencl/gather/indices.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Work-items that add the products of one row of a matrix, and rows of a work-group: those of
/// product.cl.
constexpr size_t kLanes = 32, kRows = 4;

Result<GatheredProduct> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const GatheredProduct product, ReadGatheredProduct(group));
  const int64_t most =
      std::max({product.matrices * product.depth * product.results, product.tokens * product.depth,
                product.tokens * product.results, product.tokens * static_cast<int64_t>(kLanes)});
  if (most == 0 || most > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than kernels count in 32 bits");
  RETURN_IF_ERROR(CheckIndices(group.value(product.indices), {{product.matrices}}));
  return product;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const GatheredProduct&,
                                            const Device&) {
  return RowAssignments(group);
}

WorkSizes SizesOf(const GatheredProduct& product) {
  if (!product.by_rows) return PlaceSizes(DivideUp(product.results, 4), product.tokens);
  const size_t rows = static_cast<size_t>(DivideUp(product.results, kRows)) * kRows;
  return {.gws = {kLanes, rows, static_cast<size_t>(product.tokens)}, .lws = {kLanes, kRows, 1}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem,
                                                const GatheredProduct& product, const Params&,
                                                const Device& device) {
  const ir::Graph& group = *problem.group;
  const State& state = problem.states.outputs[0];
  const DType index_type = group.value(product.indices).dtype;
  BuildOptions options = AccessOptions(state);
  options.Add(fmt::format("-DINDEX={}", index_type == DType::kI32 ? "int" : "long"));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("gather/product.cl", options),
                                                product.by_rows ? "rows" : "columns"));
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), SizesOf(product));
  made->AddRows(group, product.w, state.storage, launch);
  made->AddRows(group, product.indices, index_type, launch);
  made->AddRows(group, product.x, state.storage, launch);
  launch.Output(0, StorageBytes(state.storage, 1))
      .Int(product.tokens)
      .Int(product.matrices)
      .Int(product.depth)
      .Int(product.results);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<GatheredProduct> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGatherProduct;
const KernelDesc kOpenClGatherProduct = {.name = "opencl.gather.product",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
