// opencl.distance.pairs: CDist of row-major buffers, a work-item per pair of rows.
#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

struct Pairs {
  int64_t rows, others, length;
  bool root;
};

Result<Pairs> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "CDist"_op) return Unsupported("computes CDist only");
  const ir::Value &a = group.value(node.inputs[0]), &b = group.value(node.inputs[1]);
  if (!IsFloatValue(a.dtype)) return Unsupported("{} is not computed", DTypeName(a.dtype));
  return Pairs{(*a.shape)[0], (*b.shape)[0], (*a.shape)[1],
               node.attributes.Text("metric") == "euclidean"};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Pairs&, const Device&) {
  return RowAssignments(group);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Pairs& pairs,
                                                const Params&, const Device& device) {
  const ir::Node& node = problem.node();
  const DType storage = problem.states.outputs[0].storage;
  BuildOptions options;
  options.Add(fmt::format("-DFETTLE_HALF={}", storage == DType::kF16 ? 1 : 0));
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("distance/pairs.cl", options), "pairs"));
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), PlaceSizes(pairs.others, pairs.rows));
  made->AddRows(*problem.group, node.inputs[0], storage, launch);
  made->AddRows(*problem.group, node.inputs[1], storage, launch);
  launch.Output(0, StorageBytes(storage, 1))
      .Int(pairs.others)
      .Int(pairs.rows)
      .Int(pairs.length)
      .Int(pairs.root ? 1 : 0);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Pairs> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClDistancePairs;
const KernelDesc kOpenClDistancePairs = {.name = "opencl.distance.pairs",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
