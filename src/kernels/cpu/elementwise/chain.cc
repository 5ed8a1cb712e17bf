// cpu.elementwise.chain: any connected run of element-wise nodes in one pass over memory, in fp32.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/kernel.h"

namespace fettle::kernels {
namespace {

using elementwise::Geometry;
using elementwise::Program;

/// Bytes that one task moves: enough to hide the claim of a task, few enough to share out evenly.
constexpr int64_t kBytesPerTask = 128 << 10;

class Chain final : public PreparedKernel {
 public:
  Chain(Program program, std::vector<Alias> aliases)
      : program_(std::move(program)), aliases_(std::move(aliases)) {
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

  std::vector<PackRequest> packs() const override { return program_.packs(); }
  std::vector<Alias> aliases() const override { return aliases_; }

  Status Launch(const LaunchArgs& args) const override {
    const elementwise::Binding binding = program_.Bind(args.inputs, args.packed, args.outputs);
    const int64_t rows = program_.rows(), cols = program_.cols();
    if (rows * cols == 0) return OkStatus();
    const int64_t row_pieces = (rows + rows_per_task_ - 1) / rows_per_task_;
    static_cast<CpuStream&>(args.stream).ParallelFor(row_pieces * col_pieces_, [&](int64_t i, int) {
      const int64_t row = i / col_pieces_ * rows_per_task_;
      const int64_t col = i % col_pieces_ * cols_per_task_;
      program_.Run(binding, {.row = row,
                             .rows = std::min(rows_per_task_, rows - row),
                             .col = col,
                             .cols = std::min(cols_per_task_, cols - col)});
    });
    return OkStatus();
  }

 private:
  Program program_;
  std::vector<Alias> aliases_;
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
    const bool plain = value.shape->rank() != full.rank() ||
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

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  if (group.outputs.empty()) return Unsupported("no output");
  const int rank = group.value(group.outputs[0]).shape->rank();
  std::vector<StateAssignment> states{InForm(group, {Layout::RowMajor(), false, false})};
  RETURN_IF_ERROR(Program::Compile(group, states[0], Geometry::kCollapsed).status());
  const Layout channels_last = Layout::ChannelsLast(rank);
  for (const Form& form : {Form{channels_last, false, false}, Form{channels_last, true, false},
                           Form{Layout::RowMajor(), false, true}, Form{channels_last, false, true},
                           Form{channels_last, true, true}}) {
    StateAssignment next = InForm(group, form);
    if (std::find(states.begin(), states.end(), next) == states.end())
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

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device&) {
  ASSIGN_OR_RETURN(Program program,
                   Program::Compile(*problem.group, problem.states, Geometry::kCollapsed));
  return std::unique_ptr<PreparedKernel>(
      new Chain(std::move(program), InPlace(*problem.group, problem.states)));
}

}  // namespace

extern const KernelDesc kCpuElementwiseChain;
const KernelDesc kCpuElementwiseChain = {.name = "cpu.elementwise.chain",
                                         .preference = 10,
                                         .candidates = Candidates,
                                         .prepare = Prepare};

}  // namespace fettle::kernels
