#include "kernels/opencl/expression/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/opencl/expression/compile.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr size_t kOuterExtents = 4;

}  // namespace

std::string_view ElementTypeName(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return "storage_t";
    case DType::kI8: return "char";
    case DType::kBool:
    case DType::kU8: return "uchar";
    case DType::kI16: return "short";
    case DType::kU16: return "ushort";
    case DType::kI32: return "int";
    case DType::kU32: return "uint";
    case DType::kI64: return "long";
    case DType::kU64: return "ulong";
    default: return "";
  }
}

std::string Literal(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "(-INFINITY)";
  return value < 0 ? fmt::format("({:#.9g}f)", value) : fmt::format("{:#.9g}f", value);
}

ExpressionCompiler::ExpressionCompiler(const expr::Expr& expr, const ir::Graph& group,
                                       const StateAssignment& states)
    : expr_(expr), group_(group), states_(states), like_(Like()), full_(shape(group.outputs[0])) {}

Result<Expression> ExpressionCompiler::Run() {
  RETURN_IF_ERROR(CheckOutput());
  made_.like_ = like_;
  made_.is_rows_ = like_.layout.IsRowMajor();
  made_.extents_.assign(full_.begin(), full_.end());
  if (made_.extents_.empty()) made_.extents_.push_back(1);
  if (!made_.is_rows_) made_.channels_ = static_cast<cl_int>(full_[1]);
  const bool has_text = group_.outputs.back() != expr_.running;
  if (has_text) {
    for (const expr::Leaf& leaf : expr_.leaves) {
      ASSIGN_OR_RETURN(leaves_.emplace_back(), Read(leaf));
    }
    for (const expr::Inst& inst : expr_.code) values_.push_back(Declare(Print(inst)));
  }
  if (made_.is_rows_) JoinRows();
  if (made_.extents_.size() > kOuterExtents + 1)
    return Unsupported("operands that broadcast along more than {} dimensions", kOuterExtents);
  if (has_text) WriteText();
  return std::move(made_);
}

void ExpressionCompiler::WriteText() {
  const std::string_view first_param =
      made_.is_rows_ ? ", const int expression_columns, const int4 expression_extents"
                     : ", const int expression_channels";
  const std::string_view first_argument =
      made_.is_rows_ ? ", expression_columns, expression_extents" : ", expression_channels";
  made_.text_ = fmt::format(
      "#define EXPRESSION_ROWS {}\n#define EXPRESSION_PARAMS {}{}\n"
      "#define EXPRESSION_ARGS {}{}\n#define EXPRESSION_BODY {}const REAL4 result = {};\n",
      made_.is_rows_ ? 1 : 0, first_param, params_, first_argument, arguments_, body_,
      ValueOf(expr_.results[0]));
  if (expr_.results.size() > 1)
    made_.text_ += fmt::format("#define EXPRESSION_SECOND {}\n", ValueOf(expr_.results[1]));
  if (!made_.is_rows_) return;
  // One text for rows of one row and of more.
  made_.text_ +=
      fmt::format("#define EXPRESSION_AXES {}\n", std::max<size_t>(made_.extents_.size() - 1, 1));
  for (size_t i = 0; i < made_.operands_.size(); ++i) {
    if (!made_.operands_[i].number)
      made_.text_ += fmt::format("#define STEP_e{} {}\n", i, made_.operands_[i].strides.back());
  }
}

const std::string& ExpressionCompiler::ValueOf(expr::Ref ref) const {
  return ref < 0 ? leaves_[~ref] : values_[ref];
}

/// The state of the output; where that is not a float, with the storage of those that are.
State ExpressionCompiler::Like() const {
  State like = states_.outputs[0];
  if (IsFloatValue(dtype(group_.outputs[0]))) return like;
  like.storage = DType::kF32;
  for (size_t i = 0; i < group_.inputs.size(); ++i) {
    if (IsFloatValue(dtype(group_.inputs[i]))) like.storage = states_.inputs[i].storage;
  }
  return like;
}

Status ExpressionCompiler::CheckOutput() const {
  const bool is_one_state = states_.outputs.size() == 1 && group_.outputs.size() <= 2;
  if (!is_one_state || shape(group_.outputs.back()) != full_)
    return Unsupported("a value inside the group is an output");
  if (full_.elements() > std::numeric_limits<cl_int>::max() - 64)
    return Unsupported("{} elements: kernels count them in 32 bits", full_.elements());
  if (expr_.running != ir::kAbsent && shape(expr_.running) != full_)
    return Unsupported("the group's output does not have the anchor's shape");
  return CheckState(group_.outputs[0], states_.outputs[0]);
}

Status ExpressionCompiler::CheckState(ir::ValueId id, const State& state) const {
  const ir::Value& value = group_.value(id);
  if (state != StateBeside(value, like_, full_.rank()))
    return Unsupported("'{}' is in another form than the output", value.name);
  if (ElementTypeName(state.storage).empty())
    return Unsupported("{} is not read by expressions", DTypeName(state.storage));
  return OkStatus();
}

/// Planes of a volume lie below each other: rows repeat in all of them, or in none.
Status ExpressionCompiler::CheckPlanes(const Shape& aligned) const {
  if (full_.rank() != 5) return OkStatus();
  const int64_t rows = aligned[2] * aligned[3];
  if (rows == 1 || rows == full_[2] * full_[3]) return OkStatus();
  return Unsupported("{} beside a volume {}: rows that repeat from plane to plane",
                     aligned.ToString(), full_.ToString());
}

Result<std::string> ExpressionCompiler::Read(const expr::Leaf& leaf) {
  if (leaf.number) return Number(*leaf.number);
  if (leaf.is_running()) return std::string("running");
  if (!made_.is_rows_) RETURN_IF_ERROR(CheckPlanes(Align(leaf.shape)));
  if (leaf.input >= 0) return ReadInput(leaf);
  return ReadConstant(leaf);
}

/// An argument, so that layers that differ in numbers share a program; but compilers drop
/// operations with 0 and 1.
std::string ExpressionCompiler::Number(float value) {
  if (value == 0 || value == 1) return fmt::format("LITERAL4({})", Literal(value));
  const std::string name = fmt::format("e{}", made_.operands_.size());
  params_ += fmt::format(", const float {}", name);
  arguments_ += ", " + name;
  made_.operands_.push_back({.number = value});
  return fmt::format("LITERAL4({})", name);
}

Shape ExpressionCompiler::Align(const Shape& shape) const {
  return AlignRight(shape, std::max(full_.rank(), 1));
}

Result<std::string> ExpressionCompiler::ReadInput(const expr::Leaf& leaf) {
  Expression::Operand operand{.input = leaf.input};
  const ir::ValueId id = group_.inputs[leaf.input];
  const State& state = states_.inputs[leaf.input];
  RETURN_IF_ERROR(CheckState(id, state));
  const Shape aligned = Align(leaf.shape);
  if (made_.is_rows_) return AddRows(std::move(operand), aligned, ElementTypeName(state.storage));
  if (IsPixels(state) && leaf.shape == shape(id)) {
    operand.unit_bytes = PixelBytes(state.storage);
    return AddPixels(std::move(operand), aligned, false);
  }
  if (IsPixels(state) || leaf.shape.elements() != 1 || !IsFloatValue(dtype(id)))
    return Unsupported("'{}' beside pixels: expected a float tensor of its rank, or of one element",
                       group_.value(id).name);
  operand.unit_bytes = StorageBytes(state.storage, 1);
  const std::string name = fmt::format("e{}", made_.operands_.size());
  return NewOperand(
      std::move(operand),
      fmt::format(", __global const storage_t* restrict {0}, const int {0}_offset", name),
      fmt::format("(REAL4)(LOAD({0}, {0}_offset))", name));
}

std::string ExpressionCompiler::ReadConstant(const expr::Leaf& leaf) {
  const Shape aligned = Align(leaf.shape);
  const Layout layout = made_.is_rows_ ? Layout() : *LayoutFromName("NCHW4c", 4);
  Expression::Operand operand{.pack = static_cast<int>(made_.packs_.size())};
  made_.packs_.push_back(
      PackElements(leaf.constants, aligned, layout,
                   fmt::format("opencl.expression.{}.{}.{}", leaf.recipe, aligned.ToString(),
                               made_.is_rows_ ? "rows" : "pixels"),
                   leaf.make));
  if (made_.is_rows_) return AddRows(std::move(operand), aligned, "float");
  operand.unit_bytes = PixelBytes(DType::kF32);
  return AddPixels(std::move(operand), aligned, true);
}

std::string ExpressionCompiler::AddPixels(Expression::Operand operand, const Shape& aligned,
                                          bool packed) {
  const std::string name = fmt::format("e{}", made_.operands_.size());
  const bool per_channel = packed && aligned.elements() == aligned[1] && aligned[1] == full_[1];
  const bool repeats = packed || aligned != full_;
  operand.takes_dims = repeats && !per_channel;
  operand.dims = PixelDims(aligned);
  std::string params = packed ? fmt::format(
                                    ", __global const float* restrict {0}, "
                                    "const int {0}_offset",
                                    name)
                              : fmt::format(", TENSOR_IN({})", name);
  if (operand.takes_dims) params += fmt::format(", const int4 {}_dims", name);
  std::string read = per_channel ? fmt::format("NARROW(vload4({0}_offset + block, {0}), 4)", name)
                     : packed    ? fmt::format("NARROW(READ_PACKED_PIXEL({}), 4)", name)
                     : repeats   ? fmt::format("READ_PIXEL({})", name)
                                 : fmt::format("READ_SAME_PIXEL({})", name);
  // One channel for all: the other lanes of its pixels are padding.
  if (aligned[1] == 1 && full_[1] != 1) read = "(" + read + ").xxxx";
  return NewOperand(std::move(operand), params, read);
}

std::string ExpressionCompiler::AddRows(Expression::Operand operand, const Shape& aligned,
                                        std::string_view type) {
  const std::string name = fmt::format("e{}", made_.operands_.size());
  int64_t stride = 1;
  operand.strides.resize(aligned.rank());
  for (int axis = aligned.rank(); axis-- > 0; stride *= aligned[axis])
    operand.strides[axis] = aligned[axis] == 1 ? 0 : stride;
  operand.unit_bytes =
      StorageBytes(operand.input >= 0 ? states_.inputs[operand.input].storage : DType::kF32, 1);
  const std::string_view read =
      type == "storage_t" ? "READ_ROW({}, {})" : "NARROW(READ_ROW({}, {}), 4)";
  return NewOperand(std::move(operand),
                    fmt::format(", __global const {1}* restrict {0}, const int {0}_offset, "
                                "const int4 {0}_strides",
                                name, type),
                    fmt::format(fmt::runtime(read), type, name));
}

/// Takes the operand in; the variable that holds what `read` gives.
std::string ExpressionCompiler::NewOperand(Expression::Operand operand, const std::string& params,
                                           const std::string& read) {
  const std::string name = fmt::format("e{}", made_.operands_.size());
  params_ += params;
  arguments_ += fmt::format(", {0}, {0}_offset", name);
  if (made_.is_rows_) arguments_ += fmt::format(", {0}_strides", name);
  if (operand.takes_dims) arguments_ += fmt::format(", {}_dims", name);
  made_.operands_.push_back(std::move(operand));
  return Declare(read);
}

std::string ExpressionCompiler::Declare(const std::string& expression) {
  const std::string name = fmt::format("v{}", variables_++);
  body_ += fmt::format("const REAL4 {} = {}; ", name, expression);
  return name;
}

/// Behind a running value the columns stay as they are.
void ExpressionCompiler::JoinRows() {
  std::vector<int64_t>& extents = made_.extents_;
  std::vector<std::vector<int64_t>*> strides;
  for (Expression::Operand& operand : made_.operands_)
    if (!operand.number) strides.push_back(&operand.strides);
  JoinDimensions(extents, strides, expr_.running == ir::kAbsent ? 0 : 1);
  made_.columns_ = extents.back();
  for (size_t i = 0; i + 1 < extents.size(); ++i) made_.rows_ *= extents[i];
}

Result<Expression> Expression::Compile(const expr::Expr& expr, const ir::Graph& group,
                                       const StateAssignment& states) {
  return ExpressionCompiler(expr, group, states).Run();
}

Result<Expression> Expression::Compile(const ir::Graph& group, const StateAssignment& states,
                                       ir::ValueId running) {
  ASSIGN_OR_RETURN(const expr::Expr expr, expr::Lower(group, running));
  return Compile(expr, group, states);
}

void Expression::AppendArgs(const LaunchArgs& args, size_t first_pack, ArgList& list) const {
  if (is_identity()) return;
  const auto outer = [](const std::vector<int64_t>& values, cl_int missing) {
    cl_int4 four{{missing, missing, missing, missing}};
    for (size_t i = 0; i + 1 < values.size(); ++i)
      four.s[kOuterExtents + 1 - values.size() + i] = static_cast<cl_int>(values[i]);
    return four;
  };
  if (is_rows_) {
    list.Value(static_cast<cl_int>(columns_)).Value(outer(extents_, 1));
  } else {
    list.Value(channels_);
  }
  for (const Operand& operand : operands_) {
    if (operand.number) {
      list.Value(*operand.number);
      continue;
    }
    const Location& from = operand.input >= 0
                               ? args.inputs[operand.input]
                               : args.packed[first_pack + static_cast<size_t>(operand.pack)];
    list.Tensor(from, operand.unit_bytes);
    if (is_rows_) list.Value(outer(operand.strides, 0));
    if (operand.takes_dims) list.Value(operand.dims);
  }
}

}  // namespace fettle::kernels
