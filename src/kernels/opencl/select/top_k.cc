// opencl.top_k: TopK between row-major buffers, by sorting in local memory.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Entries fill 32 KiB of local memory.
constexpr int64_t kMostBytes = 32768;
/// Of longer rows so many are kept at most: beside them there is room for what a round adds.
constexpr int64_t kMostKept = 1024;
/// Longer rows are cut into parts, which work-groups share.
constexpr int64_t kLongRow = 16384, kPart = 8192, kMostParts = 64;

struct Facts {
  RowExtents extents;
  int64_t k = 0;
  bool largest = false;
  /// Of an element's order and its place: integers of 64 bits need 16 bytes.
  int64_t entry_bytes = 8;
  int64_t most_held() const { return kMostBytes / entry_bytes; }
};

bool IsSortedInteger(DType type) { return !ElementTypeName(type).empty() && type != DType::kBool; }

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "TopK"_op) return Unsupported("computes TopK only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (x.is_constant()) return Unsupported("its operand is constant");
  if (!IsFloatValue(x.dtype) && !IsSortedInteger(x.dtype))
    return Unsupported("{} is not sorted here", DTypeName(x.dtype));
  const Shape& shape = *x.shape;
  const int axis = *NormaliseAxis(node.attributes.Int("axis", -1), shape.rank());
  Facts facts{{shape.Count(0, axis), shape[axis], shape.Count(axis + 1, shape.rank())},
              0,
              node.attributes.Int("largest", 1) != 0,
              StorageBytes(x.dtype, 1) == 8 ? 16 : 8};
  for (ir::ValueId id : node.outputs) {
    if (id != ir::kAbsent) facts.k = (*group.value(id).shape)[axis];
  }
  if (facts.k == 0 || shape.elements() == 0 ||
      shape.elements() > std::numeric_limits<cl_int>::max() / 2)
    return Unsupported("no elements, or more than kernels count in 32 bits");
  if (shape[axis] > facts.most_held() && facts.k > kMostKept)
    return Unsupported("the first {} of {}: local memory holds {}", facts.k, shape[axis],
                       kMostKept);
  return facts;
}

/// Values that are stored in fewer bits than they have would come in another order.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  const DType type = group.value(group.inputs[0]).dtype;
  std::erase_if(states, [type](const StateAssignment& one) {
    return type == DType::kF32 && one.inputs[0].storage != type;
  });
  return states;
}

/// How a row is cut: `count` parts of `extent` elements.
struct Parts {
  int64_t count = 1, extent = 0;
};

Parts PartsOf(const RowExtents& rows) {
  if (rows.row <= kLongRow) return {1, rows.row};
  const int64_t extent = std::max(kPart, DivideUp(rows.row, kMostParts));
  return {DivideUp(rows.row, extent), extent};
}

BuildOptions OptionsOf(const Problem& problem, const Facts& facts, int64_t items) {
  const ir::Node& node = problem.node();
  const DType type = problem.group->value(node.inputs[0]).dtype;
  BuildOptions options;
  if (IsFloatValue(type)) {
    options = AccessOptions(problem.states.inputs[0]);
  } else {
    options.Add(fmt::format("-DELEMENT={}", ElementTypeName(type)));
    options.Define("SIGNED", IsSigned(type) ? 1 : 0);
    options.Define("LONG_KEYS", facts.entry_bytes > 8 ? 1 : 0);
  }
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(facts.extents.row)));
  options.Define("ITEMS", items).Define("MOST", std::min(facts.most_held(), power));
  options.Define("LARGEST", facts.largest ? 1 : 0);
  options.Define("VALUES", node.output(0) != ir::kAbsent ? 1 : 0);
  options.Define("PLACES", node.output(1) != ir::kAbsent ? 1 : 0);
  return options;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const auto [outer, extent, inner] = facts.extents;
  const int64_t items = extent <= 64 ? 32 : extent <= 256 ? 64 : 256, rows = outer * inner;
  const Parts parts = PartsOf(facts.extents);
  const ProgramSource program = MakeProgram("select/top_k.cl", OptionsOf(problem, facts, items));
  const int64_t bytes = StorageBytes(problem.states.inputs[0].storage, 1);
  auto made = std::make_unique<RecordedKernel>();
  if (parts.count > 1) {
    made->workspace = rows * parts.count * facts.k * facts.entry_bytes;
    ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                     AsOpenCl(device).BuildKernel(program, "parts"));
    made->recorded.emplace_back(std::move(kernel), GroupSizes(items, parts.count, rows))
        .Input(0, bytes)
        .Workspace(0, facts.entry_bytes)
        .Int(extent)
        .Int(inner)
        .Int(facts.k)
        .Int(parts.extent)
        .Int(parts.count);
  } else {
    made->workspace = facts.entry_bytes;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(program, "rows"));
  RecordedLaunch launch(std::move(kernel), GroupSizes(items, rows));
  launch.Input(0, bytes).Workspace(0, facts.entry_bytes);
  size_t output = 0;
  if (problem.node().output(0) != ir::kAbsent) launch.Output(output++, bytes);
  if (problem.node().output(1) != ir::kAbsent) launch.Output(output, sizeof(cl_long));
  launch.Int(extent).Int(inner).Int(facts.k).Int(parts.count > 1 ? parts.count * facts.k : 0);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClTopK;
const KernelDesc kOpenClTopK = {.name = "opencl.top_k", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
