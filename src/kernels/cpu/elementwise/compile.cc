// compiled: small
#include "kernels/cpu/elementwise/compile.h"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/layout/broadcast.h"

namespace fettle::kernels::elementwise {
namespace {

bool HoldsReduced(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Whether a value of `dtype` may be held as `storage` here.
bool StorageFits(DType dtype, DType storage) {
  return storage == dtype || (HoldsReduced(dtype) && HoldsReduced(storage));
}

Status CheckState(const ir::Value& value, const State& state) {
  if (state.device != DeviceKind::kCpu || state.memory != MemoryKind::kHost)
    return Unsupported("operands must be on the host");
  if (!state.layout.IsDense()) return Unsupported("layouts with a pitch are not walked");
  if (!StorageFits(value.dtype, state.storage))
    return Unsupported("{} cannot be held as {} here", DTypeName(value.dtype),
                       DTypeName(state.storage));
  return OkStatus();
}

}  // namespace

Compiler::Compiler(const expr::Expr& expr, const ir::Graph& group, const StateAssignment& states,
                   Geometry geometry)
    : expr_(expr),
      group_(group),
      states_(states),
      geometry_(geometry),
      full_(shape(group.outputs[0])) {}

Result<Program> Compiler::Run() {
  RETURN_IF_ERROR(CheckLength());
  RETURN_IF_ERROR(CheckStates());
  SetDims();
  RETURN_IF_ERROR(AddLeaves());
  AddCode();
  Fuse();
  DropDead();
  RETURN_IF_ERROR(AssignRegisters());
  Collapse();
  for (const Program::Operand& operand : program_.operands_) {
    const bool full = operand.strides.empty() || operand.strides.back() != 0;
    if (operand.pack < 0 && full) program_.bytes_per_element_ += StorageBytes(operand.storage, 1);
  }
  for (const Program::Output& output : program_.outputs_)
    program_.bytes_per_element_ += StorageBytes(output.storage, 1);
  return std::move(program_);
}

Status Compiler::CheckStates() const {
  if (group_.outputs.size() > kMaxOutputs) return Unsupported("more than {} outputs", kMaxOutputs);
  for (size_t i = 0; i < group_.inputs.size(); ++i)
    RETURN_IF_ERROR(CheckState(group_.value(group_.inputs[i]), states_.inputs[i]));
  for (size_t i = 0; i < group_.outputs.size(); ++i) {
    RETURN_IF_ERROR(CheckState(group_.value(group_.outputs[i]), states_.outputs[i]));
    if (shape(group_.outputs[i]) != full_) return Unsupported("outputs of different shapes");
    if (states_.outputs[i].layout != states_.outputs[0].layout)
      return Unsupported("outputs of different layouts");
  }
  return OkStatus();
}

void Compiler::SetDims() {
  layout_ = states_.outputs[0].layout;
  physical_ = ToPhysical(full_, layout_);
  program_.dims_ = physical_.extent;
  if (program_.dims_.empty()) program_.dims_.push_back(1);
}

Status Compiler::AddLeaves() {
  for (const expr::Leaf& leaf : expr_.leaves) {
    if (leaf.number) {
      leaves_.push_back({Source::kImmediate, 0, *leaf.number});
      continue;
    }
    if (program_.operands_.size() == kMaxOperands)
      return Unsupported("more than {} operands", kMaxOperands);
    leaves_.push_back({Source::kOperand, static_cast<int16_t>(program_.operands_.size()), 0});
    Program::Operand operand;  // the running value
    if (leaf.input >= 0) {
      ASSIGN_OR_RETURN(operand, InputOperand(leaf));
    } else if (!leaf.is_running()) {
      operand = ConstantOperand(leaf);
    }
    program_.operands_.push_back(std::move(operand));
  }
  return OkStatus();
}

Result<Program::Operand> Compiler::InputOperand(const expr::Leaf& leaf) const {
  const auto index = static_cast<size_t>(leaf.input);
  const State& state = states_.inputs[index];
  // Seen along an axis, a vector has one stride whatever its layout.
  const bool as_it_is = leaf.shape == shape(group_.inputs[index]);
  if (!as_it_is && !state.layout.blocks.empty()) return Unsupported("a vector in a blocked layout");
  Program::Operand operand{.input = leaf.input, .storage = state.storage};
  ASSIGN_OR_RETURN(operand.strides, BroadcastStrides(full_, layout_, leaf.shape,
                                                     as_it_is ? state.layout : Layout::RowMajor()));
  if (operand.strides.empty()) operand.strides.push_back(0);
  return operand;
}

Program::Operand Compiler::ConstantOperand(const expr::Leaf& leaf) {
  const Shape aligned = AlignRight(leaf.shape, full_.rank());
  const Layout layout = PackedLayout(aligned);
  program_.packs_.push_back(
      PackElements(leaf.constants, aligned, layout,
                   fmt::format("ew.{}.{}.{}.f32", leaf.recipe, aligned.ToString(),
                               LayoutName(layout, aligned.rank())),
                   leaf.make));
  return {.pack = static_cast<int>(program_.packs_.size()) - 1, .strides = PackedStrides(aligned)};
}

Source Compiler::SourceOf(expr::Ref ref) const {
  if (ref < 0) return leaves_[~ref];
  return {Source::kRegister, static_cast<int16_t>(ref), 0};
}

Status Compiler::CheckLength() const {
  // Well below what the 16-bit numbers of registers reach.
  constexpr size_t kMaxInstructions = 4096;
  if (expr_.code.size() + expr_.results.size() <= kMaxInstructions) return OkStatus();
  return Unsupported("more than {} operations on each element", kMaxInstructions);
}

void Compiler::AddCode() {
  auto& code = program_.instructions_;
  for (const expr::Inst& inst : expr_.code) {
    Instruction in{.fn = inst.fn,
                   .dst = static_cast<int16_t>(code.size()),
                   .p0 = inst.p0,
                   .p1 = inst.p1,
                   .p2 = inst.p2};
    Source* const sources[] = {&in.a, &in.b, &in.c};
    for (int i = 0; i < expr::OperandsOf(inst.fn); ++i) *sources[i] = SourceOf(inst.args[i]);
    code.push_back(in);
  }
  // Written at the end: an output may share the memory of an input that is still to be read.
  for (size_t i = 0; i < expr_.results.size(); ++i) {
    program_.outputs_.push_back({states_.outputs[i].storage, static_cast<int>(i)});
    code.push_back({.output = static_cast<int16_t>(i), .a = SourceOf(expr_.results[i])});
  }
}

/// Where a constant lies as the output does: blocks of axes that it has.
Layout Compiler::PackedLayout(const Shape& aligned) const {
  Layout layout = layout_;
  std::erase_if(layout.blocks,
                [&](const Layout::Block& block) { return aligned[block.axis] == 1; });
  return layout;
}

std::vector<int64_t> Compiler::PackedStrides(const Shape& aligned) const {
  std::vector<int64_t> strides(physical_.extent.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    const int64_t extent = aligned[physical_.axis[i]] == 1 ? 1 : physical_.extent[i];
    strides[i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  if (strides.empty()) strides.push_back(0);
  return strides;
}

/// Drops dimensions of extent 1 and merges those that every operand walks as one; in kRows the
/// columns stay as they are.
void Compiler::Collapse() {
  std::vector<int64_t>& dims = program_.dims_;
  std::vector<std::vector<int64_t>*> strides;
  for (Program::Operand& operand : program_.operands_) {
    if (!operand.strides.empty()) strides.push_back(&operand.strides);  // not the running value
  }
  JoinDimensions(dims, strides, geometry_ == Geometry::kRows ? 1 : 0);
  program_.cols_ = dims.back();
  program_.rows_ = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) program_.rows_ *= dims[i];
  if (geometry_ != Geometry::kRows) program_.JoinTiles();
}

Result<Program> Program::Compile(const expr::Expr& expr, const ir::Graph& group,
                                 const StateAssignment& states, Geometry geometry) {
  return Compiler(expr, group, states, geometry).Run();
}

Result<Program> Program::Compile(const ir::Graph& group, const StateAssignment& states,
                                 Geometry geometry, ir::ValueId running) {
  ASSIGN_OR_RETURN(const expr::Expr expr, expr::Lower(group, running));
  return Compile(expr, group, states, geometry);
}

}  // namespace fettle::kernels::elementwise
