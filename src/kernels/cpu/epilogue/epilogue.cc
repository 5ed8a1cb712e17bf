// compiled: small
#include "kernels/cpu/epilogue/epilogue.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// The clamp of a value that an expression is from its instruction `first` on; nothing where it is
/// something else.
template <typename IsValue>
std::optional<Clamp> ClampOf(const expr::Expr& expr, size_t first, const IsValue& is_value) {
  if (is_value(expr.results[0])) return Clamp();
  if (expr.code.size() != first + 1 || !is_value(expr.code[first].args[0])) return std::nullopt;
  const expr::Inst& inst = expr.code[first];
  if (inst.fn == expr::Fn::kRelu) return Clamp{.low = 0};
  if (inst.fn != expr::Fn::kClip) return std::nullopt;
  const auto low = expr.NumberAt(inst.args[1]), high = expr.NumberAt(inst.args[2]);
  // Max(low) then Min(high): ONNX gives the upper bound where they cross.
  return low && high ? std::optional(Clamp{*low, *high}) : std::nullopt;
}

/// The input that an expression adds to the running value first of all, or -1.
int AddendOf(const expr::Expr& expr) {
  if (expr.code.empty() || expr.code[0].fn != expr::Fn::kAdd) return -1;
  const auto& [a, b, unused] = expr.code[0].args;
  if (expr.IsRunning(a) == expr.IsRunning(b)) return -1;
  const expr::Ref other = expr.IsRunning(a) ? b : a;
  return other < 0 ? expr.leaves[~other].input : -1;
}

Result<State> FloatState(const ir::Graph& group, ir::ValueId id, bool channels_last, int rank) {
  const ir::Value& value = group.value(id);
  State state{.storage = value.dtype};
  if (value.dtype == DType::kF64) return Unsupported("f64 is left to the reference");
  if (value.dtype == DType::kF16 || value.dtype == DType::kBF16) state.storage = DType::kF32;
  if (channels_last && value.shape->rank() == rank) state.layout = Layout::ChannelsLast(rank);
  return state;
}

Result<StateAssignment> FloatStates(const ir::Graph& group, bool channels_last) {
  StateAssignment states;
  // Not the first node's: that may dequantise a bias.
  const int rank = group.value(group.outputs[0]).shape->rank();
  for (ir::ValueId id : group.inputs) {
    ASSIGN_OR_RETURN(State state, FloatState(group, id, channels_last, rank));
    states.inputs.push_back(std::move(state));
  }
  for (ir::ValueId id : group.outputs) {
    ASSIGN_OR_RETURN(State state, FloatState(group, id, channels_last, rank));
    states.outputs.push_back(std::move(state));
  }
  return states;
}

}  // namespace

Result<Epilogue> Epilogue::Compile(const ir::Graph& group, const StateAssignment& states) {
  return Compile(group, states, group.nodes()[0].output(0));
}

Result<Epilogue> Epilogue::Compile(const ir::Graph& group, const StateAssignment& states,
                                   ir::ValueId anchor) {
  if (group.outputs.size() != 1) return Unsupported("a value inside the group is an output");
  ASSIGN_OR_RETURN(const expr::Expr expr, expr::Lower(group, anchor));
  return Compile(expr, group, states, anchor, elementwise::Geometry::kRows);
}

Result<Epilogue> Epilogue::CompileElements(const ir::Graph& group, const StateAssignment& states) {
  const ir::ValueId anchor = group.nodes()[0].output(0);
  if (group.outputs.size() != 1) return Compile(group, states);
  ASSIGN_OR_RETURN(const expr::Expr expr, expr::Lower(group, anchor));
  return Compile(expr, group, states, anchor, elementwise::Geometry::kCollapsed);
}

Result<Epilogue> Epilogue::Compile(const expr::Expr& expr, const ir::Graph& group,
                                   const StateAssignment& states, ir::ValueId anchor,
                                   elementwise::Geometry geometry) {
  Epilogue epilogue;
  const auto is_running = [&](expr::Ref ref) { return expr.IsRunning(ref); };
  if (const std::optional<Clamp> clamp = ClampOf(expr, 0, is_running)) {
    epilogue.clamp_ = *clamp;
    return epilogue;
  }
  // The anchor's values lie in the output before the program runs over them.
  if (states.outputs[0].storage != DType::kF32 ||
      group.value(group.outputs[0]).shape != group.value(anchor).shape) {
    return Unsupported("the group's output does not have the anchor's shape and fp32 storage");
  }
  ASSIGN_OR_RETURN(elementwise::Program program,
                   elementwise::Program::Compile(expr, group, states, geometry));
  epilogue.program_ = std::move(program);
  return epilogue;
}

Result<Epilogue> Epilogue::CompileSum(const ir::Graph& group, const StateAssignment& states) {
  const ir::ValueId anchor = group.nodes()[0].output(0);
  if (group.outputs.size() != 1) return Compile(group, states);
  ASSIGN_OR_RETURN(const expr::Expr expr, expr::Lower(group, anchor));
  const int addend = AddendOf(expr);
  const std::optional<Clamp> clamp = ClampOf(expr, 1, [](expr::Ref ref) { return ref == 0; });
  const Shape& shape = *group.value(group.outputs[0]).shape;
  if (addend < 0 || !clamp || states.inputs[addend] != states.outputs[0] ||
      states.outputs[0].storage != DType::kF32 ||
      *group.value(group.inputs[addend]).shape != shape || *group.value(anchor).shape != shape) {
    return Compile(expr, group, states, anchor, elementwise::Geometry::kRows);
  }
  Epilogue epilogue;
  epilogue.clamp_ = *clamp;
  epilogue.addend_ = addend;
  return epilogue;
}

bool Epilogue::TakeRows(int64_t rows, int64_t cols) {
  if (!program_) return true;
  if (!program_->WalksRows(rows, cols)) return false;
  program_->SetRows(rows);
  return true;
}

bool Epilogue::TakeElements(const Shape& output) {
  if (!program_) return true;
  const int64_t cols = output.rank() == 0 ? 1 : output[output.rank() - 1];
  return cols > 0 && program_->TakeElements(output.elements() / cols, cols);
}

void Epilogue::AppendPacks(std::vector<PackRequest>& packs) const {
  if (!program_) return;
  packs.insert(packs.end(), program_->packs().begin(), program_->packs().end());
}

elementwise::Binding Epilogue::Bind(const LaunchArgs& args, size_t first_pack) const {
  if (!program_) return {};
  return program_->Bind(args.inputs, args.packed.subspan(first_pack), args.outputs);
}

void Epilogue::Run(const elementwise::Binding& binding, const elementwise::Tile& tile) const {
  if (program_) program_->Run(binding, tile);
}

void Epilogue::RunElements(const elementwise::Binding& binding, int64_t first, int64_t count,
                           float* y) const {
  if (!program_) return;
  const int64_t width = program_->cols();
  for (const int64_t end = first + count; first < end;) {
    elementwise::Tile tile{.row = first / width, .rows = 1, .col = first % width};
    if (tile.col == 0 && end - first >= width) tile.rows = (end - first) / width;
    tile.cols = std::min(width - tile.col, end - first);
    tile.running = y + first;
    tile.out = y + first;
    tile.running_stride = tile.out_stride = width;
    program_->Run(binding, tile);
    first += tile.rows * tile.cols;
  }
}

void Epilogue::RunPlanes(const elementwise::Binding& binding, const PlanePart& part,
                         float* y) const {
  if (!program_) return;
  if (part.count == part.stride)
    return RunElements(binding, part.first, part.planes * part.count, y);
  const bool is_line = program_->is_line();
  if (!is_line && program_->cols() != part.stride) {
    for (int64_t i = 0; i < part.planes; ++i)
      RunElements(binding, part.first + i * part.stride, part.count, y);
    return;
  }
  float* const first = y + part.first;
  program_->Run(binding, {.row = is_line ? 0 : part.first / part.stride,
                          .rows = part.planes,
                          .col = is_line ? part.first : part.first % part.stride,
                          .cols = part.count,
                          .running = first,
                          .running_stride = part.stride,
                          .out = first,
                          .out_stride = part.stride});
}

void JoinedElements::Add(int64_t first, int64_t count) {
  if (first != first_ + count_) {
    Finish();
    first_ = first;
  }
  count_ += count;
}

void JoinedElements::Finish() {
  if (count_ > 0) epilogue_.RunElements(binding_, first_, count_, y_);
  first_ += count_;
  count_ = 0;
}

void FinishPixels(const Epilogue& epilogue, const elementwise::Binding& binding,
                  const PixelLayout& layout, const PixelSpan& span, float* y) {
  const int64_t end = span.channel + span.channels;
  elementwise::Tile tile{.rows = span.pixels};
  tile.running_stride = tile.out_stride = layout.block;
  for (int64_t c = span.channel; epilogue.has_program() && c < end; c += tile.cols) {
    tile.row = (span.image * layout.blocks() + c / layout.block) * layout.pixels + span.pixel;
    tile.col = c % layout.block;
    tile.cols = std::min(end - c, layout.block - tile.col);
    float* values = y + layout.Offset(span.image, span.pixel, c);
    tile.running = values;
    tile.out = values;  // the layout may be that of a tensor that the output is a window of
    epilogue.Run(binding, tile);
  }
  if (end == layout.channels) ZeroPadLanes(layout, span.image, span.pixel, span.pixels, y);
}

Result<StateAssignment> ChannelsLastStates(const ir::Graph& group) {
  return FloatStates(group, true);
}

Result<StateAssignment> FloatRowMajorStates(const ir::Graph& group) {
  return FloatStates(group, false);
}

int IndexOf(const std::vector<ir::ValueId>& ids, ir::ValueId id) {
  const auto it = std::find(ids.begin(), ids.end(), id);
  return it == ids.end() ? -1 : static_cast<int>(it - ids.begin());
}

}  // namespace fettle::kernels
