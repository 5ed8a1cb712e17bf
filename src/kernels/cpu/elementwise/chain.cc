// compiled: small
// cpu.elementwise.chain: any connected run of element-wise nodes in one pass over memory, in fp32
// and in any layout.
#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/cpu/layout/broadcast.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"
#include "kernels/wanted_states.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

using elementwise::Geometry;
using elementwise::Program;
using expr::Expr;

/// Bytes that one task moves: enough to hide the claim of a task, few enough to share out evenly.
constexpr int64_t kBytesPerTask = 128 << 10;

class Chain final : public CpuKernel, public MovesToExtents<Chain> {
 public:
  /// `pads`: of each output.
  Chain(Program program, std::vector<Alias> aliases, std::vector<PadLanes> pads)
      : program_(std::move(program)), aliases_(std::move(aliases)), pads_(std::move(pads)) {
    CutTasks();
  }

  std::vector<PackRequest> packs() const override { return program_.packs(); }
  std::vector<Alias> aliases() const override { return aliases_; }

  bool MoveTo(const Problem& problem, const Device&) override {
    if (!std::ranges::all_of(pads_, &PadLanes::empty) || HasPads(problem) ||
        !program_.TakeExtents(problem))
      return false;
    CutTasks();
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = program_.Bind(args.inputs, args.packed, args.outputs);
    const int64_t rows = program_.rows(), cols = program_.cols();
    if (rows * cols == 0) return OkStatus();
    const int64_t row_pieces = (rows + rows_per_task_ - 1) / rows_per_task_;
    args.stream.ParallelFor(row_pieces * col_pieces_, [&](int64_t i, int) {
      const int64_t row = i / col_pieces_ * rows_per_task_;
      const int64_t col = i % col_pieces_ * cols_per_task_;
      program_.Run(binding, {.row = row,
                             .rows = std::min(rows_per_task_, rows - row),
                             .col = col,
                             .cols = std::min(cols_per_task_, cols - col)});
    });
    for (size_t i = 0; i < pads_.size(); ++i)
      pads_[i].Zero(args.stream, args.outputs[i].host<std::byte>());
    return OkStatus();
  }

 private:
  void CutTasks() {
    const int64_t elements = program_.rows() * program_.cols();
    if (elements == 0) return;
    const int64_t per_task =
        std::max<int64_t>(kBytesPerTask / std::max<int64_t>(program_.bytes_per_element(), 1), 1024);
    const int64_t pieces = std::max<int64_t>((elements + per_task - 1) / per_task, 1);
    // Whole rows where there are enough of them, parts of rows otherwise; in multiples of a cache
    // line.
    col_pieces_ = program_.rows() >= pieces ? 1 : (pieces + program_.rows() - 1) / program_.rows();
    const int64_t line = 16;
    cols_per_task_ = (program_.cols() + col_pieces_ - 1) / col_pieces_;
    cols_per_task_ = std::max((cols_per_task_ + line - 1) / line * line, line);
    col_pieces_ = (program_.cols() + cols_per_task_ - 1) / cols_per_task_;
    rows_per_task_ =
        std::max<int64_t>(1, col_pieces_ > 1 ? 1 : (program_.rows() + pieces - 1) / pieces);
  }

  Program program_;
  std::vector<Alias> aliases_;
  std::vector<PadLanes> pads_;
  int64_t col_pieces_ = 1, cols_per_task_ = 0, rows_per_task_ = 1;
};

/// How operands are laid out and stored in one candidate.
struct Form {
  Layout layout;             // of operands of the output's rank
  bool broadcast_row_major;  // those that broadcast are row-major all the same
  bool widen;                // reduced float types are held in fp32
};

StateAssignment InForm(const ir::Graph& group, const Form& form) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  const auto state = [&](ir::ValueId id) {
    const ir::Value& value = group.value(id);
    const bool plain = !SharesLayout(*value.shape, full, form.layout) ||
                       (form.broadcast_row_major && value.shape->elements() != full.elements());
    const bool reduced = value.dtype == DType::kF16 || value.dtype == DType::kBF16;
    return State{.layout = plain ? Layout::RowMajor() : form.layout,
                 .storage = form.widen && reduced ? DType::kF32 : value.dtype};
  };
  StateAssignment states;
  for (ir::ValueId id : group.inputs) states.inputs.push_back(state(id));
  for (ir::ValueId id : group.outputs) states.outputs.push_back(state(id));
  return states;
}

Result<Expr> Read(const ir::Graph& group, const Device&) { return expr::Lower(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Expr& expr,
                                            const Device&) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  std::vector<StateAssignment> states{InForm(group, {Layout::RowMajor(), false, false})};
  RETURN_IF_ERROR(Program::Compile(expr, group, states[0], Geometry::kCollapsed).status());
  const Layout channels_last = Layout::ChannelsLast(full.rank());
  std::vector<Form> forms{{channels_last, false, false},
                          {channels_last, true, false},
                          {Layout::RowMajor(), false, true},
                          {channels_last, false, true},
                          {channels_last, true, true}};
  for (const Layout& layout : BlockedLayouts(full)) {
    forms.push_back({layout, false, false});
    forms.push_back({layout, false, true});
  }
  const bool has_halves = std::ranges::any_of(group.values(), [](const ir::Value& value) {
    return value.dtype == DType::kF16 || value.dtype == DType::kBF16;
  });
  for (const Form& form : forms) {
    if (form.widen && !has_halves) continue;
    StateAssignment next = InForm(group, form);
    if (std::find(states.begin(), states.end(), next) != states.end()) continue;
    // Pad lanes that an operand does not have are the one thing that some layouts refuse.
    const bool is_blocked = !form.layout.blocks.empty();
    if (is_blocked && (WantedStates::LeaveOut(next) ||
                       !Program::Compile(expr, group, next, Geometry::kCollapsed).ok()))
      continue;
    states.push_back(std::move(next));
  }
  return states;
}

/// Outputs that may take the place of an input of the same shape, storage and layout.
std::vector<Alias> InPlace(const ir::Graph& group, const StateAssignment& states) {
  std::vector<Alias> aliases;
  for (size_t o = 0; o < group.outputs.size(); ++o) {
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      if (group.value(group.inputs[i]).shape == group.value(group.outputs[o]).shape &&
          states.inputs[i] == states.outputs[o]) {
        aliases.push_back({.output = static_cast<int>(o), .input = static_cast<int>(i)});
      }
    }
  }
  return aliases;
}

/// Whether all is done where halves that a Cast makes floats are held as floats.
bool IsView(const Problem& problem, const Expr&, const Device&) {
  const ir::Graph& group = *problem.group;
  if (group.nodes().size() != 1 || problem.node().op != "Cast"_op || group.inputs.size() != 1)
    return false;
  const DType from = group.value(group.inputs[0]).dtype;
  return (from == DType::kF16 || from == DType::kBF16) &&
         group.value(group.outputs[0]).dtype == DType::kF32 &&
         problem.states.inputs[0] == problem.states.outputs[0];
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Expr& expr,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  ASSIGN_OR_RETURN(Program program,
                   Program::Compile(expr, group, problem.states, Geometry::kCollapsed));
  std::vector<PadLanes> pads;
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const State& state = problem.states.outputs[i];
    pads.emplace_back(problem.shape(group.outputs[i]), state.layout,
                      StorageBytes(state.storage, 1));
  }
  std::vector<Alias> aliases = InPlace(group, problem.states);
  for (Alias& alias : aliases) alias.is_view = IsView(problem, expr, device);
  return std::unique_ptr<PreparedKernel>(
      new Chain(std::move(program), std::move(aliases), std::move(pads)));
}

constexpr Family<Expr> kFamily{.read = Read,
                               .states = States,
                               .prepare = Prepare,
                               .taste = Always<10>,
                               .is_view = IsView,
                               .reads_callers_memory = true,
                               .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuElementwiseChain;
const KernelDesc kCpuElementwiseChain = {.name = "cpu.elementwise.chain",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
