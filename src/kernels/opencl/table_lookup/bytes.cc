// opencl.table_lookup.bytes: bytes through a table, in pixels of four channels and in rows.
#include "kernels/family.h"
#include "kernels/opencl/quantised/byte_product.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Of the tensor whose bytes are looked up.
struct Facts {
  Shape x;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "TableLookup"_op)
    return Unsupported("computes TableLookup only");
  if (group.inputs.size() != 1 || !group.value(node.inputs[1]).is_constant())
    return Unsupported("a constant, or a computed table");
  return Facts{*group.value(node.inputs[0]).shape};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const DType from = group.value(group.inputs[0]).dtype, to = group.value(group.outputs[0]).dtype;
  std::vector<StateAssignment> states;
  if (facts.x.rank() == 4) states.push_back({{BytePixels(from)}, {BytePixels(to)}});
  states.push_back(RowAssignments(group)[0]);
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const bool pixels = IsPixels(problem.states.outputs[0]);
  BuildOptions options;
  options.Define("PIXELS", pixels ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("table_lookup/bytes.cl", options), "bytes"));
  auto made = std::make_unique<RecordedKernel>();
  const Shape& x = facts.x;
  RecordedLaunch launch(std::move(kernel),
                        pixels ? PixelSizes(x) : PlaceSizes(DivideUp(x.elements(), 4)));
  launch.Input(0, 1);
  made->AddRows(group, node.inputs[1], group.value(node.inputs[1]).dtype, launch);
  launch.Output(0, 1).Value(pixels ? Int4(DivideUp(x[1], 4), x[2], x[3], x[1])
                                   : Int4(x.elements(), 0, 0, 0));
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClTableLookupBytes;
const KernelDesc kOpenClTableLookupBytes = {.name = "opencl.table_lookup.bytes",
                                            .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
