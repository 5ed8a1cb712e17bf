// opencl.elementwise.typed: one element-wise operator on integers or bool, and Cast between these
// and float, between row-major buffers.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int kMostAxes = 8;
constexpr size_t kMostOperands = 3;

/// Of integers and bool.
bool IsTyped(DType type) { return !IsFloatValue(type) && !ElementTypeName(type).empty(); }

/// What an operator comes to: of a, b and c of type T, U the unsigned integer as wide.
struct Row {
  std::string_view op, text;
  size_t operands;
};
constexpr Row kIntegerRows[] = {
    {"Abs", "(T)(a < 0 ? (U)0 - (U)a : (U)a)", 1},
    {"Add", "(T)((U)a + (U)b)", 2},
    {"BitwiseAnd", "(a & b)", 2},
    {"BitwiseNot", "(T)~a", 1},
    {"BitwiseOr", "(a | b)", 2},
    {"BitwiseXor", "(a ^ b)", 2},
    {"Clip", "min(max(a, b), c)", 3},
    {"Div", "Quotient(a, b)", 2},
    {"Equal", "(a == b)", 2},
    {"FMod", "Remainder(a, b, 1)", 2},
    {"Greater", "(a > b)", 2},
    {"GreaterOrEqual", "(a >= b)", 2},
    {"Less", "(a < b)", 2},
    {"LessOrEqual", "(a <= b)", 2},
    {"Max", "max(a, b)", 2},
    {"Min", "min(a, b)", 2},
    {"Mod", "Remainder(a, b, 0)", 2},
    {"Mul", "(T)((ulong)a * (ulong)b)", 2},
    {"Neg", "(T)((U)0 - (U)a)", 1},
    {"Relu", "max(a, (T)0)", 1},
    {"Sign", "(T)((a > 0) - (a < 0))", 1},
    {"Sub", "(T)((U)a - (U)b)", 2},
};
constexpr Row kLogicRows[] = {
    {"And", "(a != 0 && b != 0)", 2},
    {"Equal", "((a != 0) == (b != 0))", 2},
    {"Not", "(a == 0)", 1},
    {"Or", "(a != 0 || b != 0)", 2},
    {"Xor", "((a != 0) != (b != 0))", 2},
};

/// The text of a Cast; empty where this kernel does not compute it.
std::string CastText(DType from, DType to) {
  const std::string_view x = ElementTypeName(from), y = ElementTypeName(to);
  if (x.empty() || y.empty() || (IsFloatValue(from) && IsFloatValue(to))) return "";
  if (to == DType::kBool) return "(a != 0)";
  if (IsFloatValue(to)) return "convert_float(a)";
  if (IsFloatValue(from)) return fmt::format("(isnan(a) ? 0 : convert_{}_sat_rtz(a))", y);
  return fmt::format("({})a", y);
}

struct Facts {
  std::string text;  // RESULT of typed.cl
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || group.outputs.size() != 1 || node.inputs.empty() ||
      node.inputs.size() > kMostOperands)
    return Unsupported("computes one operator of one to three operands, alone");
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kAbsent) return Unsupported("an operand is left out");
  }
  const DType type = group.value(node.inputs[0]).dtype;
  const ir::Value& y = group.value(node.outputs[0]);
  if (y.shape->elements() == 0 || y.shape->elements() > std::numeric_limits<cl_int>::max() ||
      y.shape->rank() > kMostAxes)
    return Unsupported("no elements, more than 32 bits count, or more than {} axes", kMostAxes);
  if (node.op == "Where"_op && IsTyped(y.dtype)) return Facts{"(a != 0 ? b : c)"};
  if (node.op == "Cast"_op) {
    Facts facts{CastText(type, y.dtype)};
    if (facts.text.empty())
      return Unsupported("Cast of {} to {}", DTypeName(type), DTypeName(y.dtype));
    return facts;
  }
  const bool fmod = node.op == "Mod"_op && node.attributes.Int("fmod", 0) != 0;
  const std::string_view op = fmod ? "FMod" : node.op.name();
  const std::span<const Row> rows =
      type == DType::kBool ? std::span<const Row>(kLogicRows) : std::span<const Row>(kIntegerRows);
  const auto row = std::ranges::find(rows, op, &Row::op);
  if (!IsTyped(type) || row == rows.end() || row->operands != node.inputs.size())
    return Unsupported("{} of {} is not computed here", node.op, DTypeName(type));
  return Facts{std::string(row->text)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

/// How typed.cl reads operand `name`, or writes y, of this type, a float stored as `storage`.
std::string Access(char name, DType type, DType storage) {
  const bool half = IsFloatValue(type) && storage == DType::kF16;
  const std::string_view value = IsFloatValue(type) ? "float" : ElementTypeName(type);
  const std::string_view memory = half ? "half" : value;
  if (name == 'y')
    return fmt::format("#define MEMORY_y {}\n#define WRITE_y(v, p, i) {}\n", memory,
                       half ? "vstore_half_rte(v, i, p)" : "((p)[i] = (v))");
  return fmt::format("#define MEMORY_{0} {1}\n#define VALUE_{0} {2}\n#define READ_{0}(p, i) {3}\n",
                     name, memory, value, half ? "vload_half(i, p)" : "((p)[i])");
}

/// Along the axes of an output, the last of which are its own.
cl_int8 StepsOf(const Shape& x) {
  cl_int8 steps{};
  const Dims strides = RowMajorStrides(x);
  for (int i = 0; i < x.rank(); ++i)
    steps.s[kMostAxes - x.rank() + i] = x[i] == 1 ? 0 : static_cast<cl_int>(strides[i]);
  return steps;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const Shape& y = problem.shape(node.outputs[0]);
  const DType y_type = group.value(node.outputs[0]).dtype;
  const DType y_storage = problem.states.outputs[0].storage;
  std::string text =
      fmt::format("#define RESULT {}\n#define OPERANDS {}\n", facts.text, node.inputs.size());
  if (const DType type = group.value(node.inputs[0]).dtype; IsTyped(type))
    text += fmt::format("#define T {}\n#define U {}\n#define IS_SIGNED {}\n", ElementTypeName(type),
                        UnsignedName(StorageBytes(type, 1)), IsSigned(type) ? 1 : 0);
  text += Access('y', y_type, y_storage);
  std::vector<DType> storages;
  for (ir::ValueId id : node.inputs) {
    const DType type = group.value(id).dtype;
    const bool bound = !group.value(id).is_constant();
    storages.push_back(IsTyped(type) ? type
                       : bound       ? problem.states.inputs[InputIndex(group, id)].storage
                                     : DType::kF32);
    text += Access(static_cast<char>('a' + storages.size() - 1), type, storages.back());
  }
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("elementwise/typed.cl", BuildOptions(), text), "typed"));
  cl_int8 dims;
  std::fill(std::begin(dims.s), std::end(dims.s), 1);
  for (int i = 0; i < y.rank(); ++i) dims.s[kMostAxes - y.rank() + i] = static_cast<cl_int>(y[i]);
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch launch(std::move(kernel), PlaceSizes(y.elements()));
  launch.Output(0, StorageBytes(y_storage, 1)).Int(y.elements()).Value(dims);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    made->AddRows(group, node.inputs[i], storages[i], launch);
    launch.Value(StepsOf(problem.shape(node.inputs[i])));
  }
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<8>};

}  // namespace

extern const KernelDesc kOpenClElementwiseTyped;
const KernelDesc kOpenClElementwiseTyped = {.name = "opencl.elementwise.typed",
                                            .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
