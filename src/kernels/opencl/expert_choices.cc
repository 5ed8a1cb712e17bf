#include "kernels/opencl/expert_choices.h"

#include <limits>

#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

using Product = ops::ExpertProduct;

constexpr int64_t kItems = 64, kColumns = 8;  // of a group

}  // namespace

Result<ExpertGroup> ReadDeviceExperts(const ir::Graph& group) {
  ASSIGN_OR_RETURN(ExpertGroup found, ReadExpertGroup(group));
  const Product& p = found.p;
  if (p.rows == 0) return Unsupported("no rows");
  const double most = std::max(static_cast<double>(p.experts) * static_cast<double>(p.n),
                               static_cast<double>(p.choices())) *
                      static_cast<double>(p.k);
  const double outputs = static_cast<double>(p.choices()) * static_cast<double>(p.n);
  if (std::max(p.block == 0 ? most : most / 16, outputs) > std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  return found;
}

Result<std::vector<StateAssignment>> ExpertStates(const ir::Graph& group) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

void DefineChoices(const ir::Graph& graph, const ExpertGroup& group, BuildOptions& options) {
  const Product& p = group.p;
  const bool is_wide = p.chooses && graph.value(group.input(Product::kChosen)).dtype == DType::kI64;
  options.Define("EXPERTS", p.experts)
      .Define("USED", p.used)
      .Define("CHOOSES", p.chooses ? 1 : 0)
      .Define("INDICES_WIDE", is_wide ? 1 : 0)
      .Define("OWN_ROWS", p.own_rows ? 1 : 0)
      .Define("SUMMED", p.summed ? 1 : 0);
}

RecordedLaunch ExpertLaunch(std::shared_ptr<OpenClKernel> kernel, const ExpertGroup& group) {
  const Product& p = group.p;
  return {std::move(kernel),
          GroupSizes(kItems, DivideUp(p.n, kColumns), p.summed ? p.rows : p.choices())};
}

void AddChoices(const ir::Graph& graph, const ExpertGroup& group, RecordedLaunch& launch) {
  const auto index = [&](Product::Input i) { return InputIndex(graph, group.input(i)); };
  if (group.p.chooses)
    launch.Input(index(Product::kChosen),
                 ByteSize(graph.value(group.input(Product::kChosen)).dtype));
  if (group.p.summed) launch.Input(index(Product::kCounts), 4);
  launch.Output(0, 4).Int(group.p.n);
}

}  // namespace fettle::kernels
