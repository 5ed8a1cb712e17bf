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

Compiler::Compiler(const ir::Graph& group, const StateAssignment& states, Geometry geometry,
                   ir::ValueId running)
    : group_(group),
      states_(states),
      geometry_(geometry),
      running_(running),
      full_(shape(group.outputs[0])),
      producers_(group.Producers()) {}

Result<Program> Compiler::Run() {
  RETURN_IF_ERROR(CheckStates());
  SetDims();
  RETURN_IF_ERROR(AddOutputs());
  RETURN_IF_ERROR(failure_);
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
  program_.is_copy_ = program_.instructions_.size() == 1 && program_.operands_.size() == 1 &&
                      program_.instructions_[0].code == OpCode::kCopy && running_ != ir::kAbsent;
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

Status Compiler::AddOutputs() {
  for (size_t i = 0; i < group_.outputs.size(); ++i) {
    ASSIGN_OR_RETURN(const Source source, Read(group_.outputs[i]));
    sources_[group_.outputs[i]] = source;
    program_.outputs_.push_back({states_.outputs[i].storage, static_cast<int>(i)});
  }
  // Written at the end: an output may share the memory of an input that is still to be read.
  for (size_t i = 0; i < group_.outputs.size(); ++i) {
    program_.instructions_.push_back({.code = OpCode::kCopy,
                                      .output = static_cast<int16_t>(i),
                                      .a = sources_.at(group_.outputs[i])});
  }
  return OkStatus();
}

Result<Source> Compiler::Read(ir::ValueId id) {
  if (const auto known = sources_.find(id); known != sources_.end()) return known->second;
  Source source;
  const ir::NodeId producer = producers_[id];
  if (id == running_ || (producer < 0 && !group_.value(id).is_constant())) {
    ASSIGN_OR_RETURN(source, AddOperand(id, shape(id)));
  } else if (const auto value = ImmediateOf(group_.value(id))) {
    source = {Source::kImmediate, 0, *value};
  } else if (producer < 0) {
    source = AddConstant(id, shape(id));
  } else {
    if (shape(id).elements() != full_.elements())
      return Unsupported("'{}' would be computed anew for each element that it is broadcast to",
                         group_.value(id).name);
    ASSIGN_OR_RETURN(source, Lower(*this, group_.node(producer)));
  }
  sources_[id] = source;
  return source;
}

Result<Source> Compiler::ReadAlongAxis(ir::ValueId id, int axis, const Shape& like) {
  if (const auto value = ImmediateOf(group_.value(id)))
    return Source{Source::kImmediate, 0, *value};
  ASSIGN_OR_RETURN(const Shape along, ShapeAlongAxis(group_.value(id), axis, like));
  if (group_.value(id).is_constant()) return AddConstant(id, along);
  return AddOperand(id, along);
}

Result<int16_t> Compiler::NewOperand(Program::Operand operand) {
  if (program_.operands_.size() == kMaxOperands)
    return Unsupported("more than {} operands", kMaxOperands);
  program_.operands_.push_back(std::move(operand));
  return static_cast<int16_t>(program_.operands_.size() - 1);
}

/// A group input or the running value, seen as `shape`.
Result<Source> Compiler::AddOperand(ir::ValueId id, const Shape& shape) {
  Program::Operand operand;
  if (id != running_) {
    const auto at = std::find(group_.inputs.begin(), group_.inputs.end(), id);
    FETTLE_CHECK(at != group_.inputs.end(), "a group reads a value that it does not name");
    operand.input = static_cast<int>(at - group_.inputs.begin());
    const State& state = states_.inputs[operand.input];
    operand.storage = state.storage;
    // Seen along an axis, a vector has one stride whatever its layout.
    const bool as_it_is = shape == this->shape(id);
    if (!as_it_is && !state.layout.blocks.empty())
      return Unsupported("a vector in a blocked layout");
    ASSIGN_OR_RETURN(
        operand.strides,
        BroadcastStrides(full_, layout_, shape, as_it_is ? state.layout : Layout::RowMajor()));
    if (operand.strides.empty()) operand.strides.push_back(0);
  } else if (shape.elements() != full_.elements()) {
    return Unsupported("the value that the program continues from is broadcast");
  }
  ASSIGN_OR_RETURN(const int16_t index, NewOperand(std::move(operand)));
  return Source{Source::kOperand, index, 0};
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

Source Compiler::AddConstant(ir::ValueId id, const Shape& shape) {
  return Derived({id}, shape, "copy",
                 [](std::span<const Constant* const> constants, int64_t i, float* out) {
                   *out = static_cast<float>(constants[0]->GetDouble(i));
                   return OkStatus();
                 });
}

Source Compiler::Derived(std::vector<ir::ValueId> constants, const Shape& shape, std::string recipe,
                         MakeElement make) {
  const Shape aligned = AlignRight(shape, full_.rank());
  const Layout layout = PackedLayout(aligned);
  recipe = fmt::format("ew.{}.{}.{}.f32", recipe, aligned.ToString(),
                       LayoutName(layout, aligned.rank()));
  const std::string key = JoinIds(constants) + " " + recipe;
  if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
  Program::Operand operand{.pack = static_cast<int>(program_.packs_.size()),
                           .strides = PackedStrides(aligned)};
  const Result<int16_t> index = NewOperand(std::move(operand));
  if (!index.ok()) {
    failure_ = index.status();
    return {Source::kImmediate, 0, 0};
  }
  program_.packs_.push_back(
      PackElements(std::move(constants), aligned, layout, std::move(recipe), std::move(make)));
  const Source source{Source::kOperand, *index, 0};
  constants_.emplace(key, source);
  return source;
}

Source Compiler::Emit(Instruction instruction) {
  instruction.dst = static_cast<int16_t>(program_.instructions_.size());
  program_.instructions_.push_back(instruction);
  return {Source::kRegister, instruction.dst, 0};
}

Source Compiler::Emit(OpCode code, Source a, Source b, Source c) {
  return Emit(Instruction{.code = code, .a = a, .b = b, .c = c});
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
}

Result<Program> Program::Compile(const ir::Graph& group, const StateAssignment& states,
                                 Geometry geometry, ir::ValueId running) {
  return Compiler(group, states, geometry, running).Run();
}

}  // namespace fettle::kernels::elementwise
