// compiled: small
// cpu.move: operators that only move elements, as views where the bytes already lie as wanted and
// as strided copies elsewhere.
#include <algorithm>
#include <array>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/move/copy_set.h"
#include "kernels/join_windows.h"
#include "kernels/move/views.h"
#include "kernels/planned_states.h"
#include "kernels/takes_extents.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// Blocks fit some extents only: which states there are depends on these.
bool HasBlocks(const StateAssignment& states) {
  const auto has = [](const State& state) { return !state.layout.blocks.empty(); };
  return std::ranges::any_of(states.inputs, has) || std::ranges::any_of(states.outputs, has);
}

class MoveKernel final : public CpuKernel, public JoinsWindows, public TakesExtents {
 public:
  MoveKernel(const Problem& problem, const MoveContext& context, std::vector<Piece> moves)
      : storage_(problem.states.outputs.empty() ? DType::kF32 : problem.states.outputs[0].storage),
        views_(FindViews(context, problem.states, moves)),
        windows_(FindWindows(context, problem.states, moves)),
        writes_more_(windows_.size() < moves.size()),
        has_blocks_(HasBlocks(problem.states)) {
    for (Piece& move : moves) {
      const int output = context.output(move.output).index;
      const bool is_view = std::any_of(views_.begin(), views_.end(),
                                       [&](const Alias& view) { return view.output == output; });
      if (is_view) continue;
      move.output = output;
      if (move.source != kZeroSource) {
        const MoveOperand& source = context.input(move.source);
        move.source = source.index >= 0
                          ? source.index
                          : static_cast<int>(problem.group->inputs.size()) + AddConstant(source);
      }
      copies_.Add(StorageBytes(storage_, 1), std::move(move));
    }
  }

  const JoinsWindows* joins() const override { return this; }

  std::unique_ptr<PreparedKernel> At(const Problem& problem, const Device&) const override {
    if (IsWholeView(problem)) return std::make_unique<MoveKernel>(*this);
    if (has_blocks_) return nullptr;
    const MoveContext context(*problem.group, problem.states);
    Result<std::vector<Piece>> moves = PlanMoves(context);
    if (!moves.ok()) return nullptr;
    auto kernel = std::make_unique<MoveKernel>(problem, context, *std::move(moves));
    const auto same = [](const MoveOperand& a, const MoveOperand& b) { return a.id == b.id; };
    if (!std::ranges::equal(kernel->constants_, constants_, same)) return nullptr;
    return kernel;
  }

  bool takes_constants() const override { return true; }
  bool takes_ones() const override { return !has_blocks_; }
  bool MoveTo(const Problem& problem, const Device&) override { return IsWholeView(problem); }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (const MoveOperand& operand : constants_) {
      const State packed{.storage = storage_};
      // The plain form has the reference's recipe, so that the two share it.
      const bool is_plain = operand.constant->dtype() == storage_;
      requests.push_back({{operand.id},
                          is_plain ? "row" : fmt::format("row.{}", DTypeName(storage_)),
                          StateBytes(operand.shape, packed),
                          [packed](std::span<const Constant* const> constants, std::byte* out) {
                            ASSIGN_OR_RETURN(const Tensor tensor, constants[0]->ToTensor());
                            const State own{.storage = tensor.dtype()};
                            Reorder(tensor.shape(), own, tensor.data(), packed, out);
                            return OkStatus();
                          }});
    }
    return requests;
  }

  std::vector<Alias> aliases() const override { return views_; }
  std::vector<Window> windows() const override { return windows_; }
  bool writes_nothing_else() const override { return !writes_more_; }

  Status Run(const CpuLaunch& args) const override {
    // Sources are inputs of the group, and packed constants behind them.
    const auto bound = static_cast<int>(args.inputs.size());
    copies_.Run(
        args.stream,
        [&](int source) {
          return source < bound ? args.inputs[source].host<std::byte>()
                                : args.packed[source - bound].host<std::byte>();
        },
        [&](int output) { return args.outputs[output].host<std::byte>(); });
    return OkStatus();
  }

 private:
  /// Whether the output is all of an input, row-major, in other extents: whatever they are.
  bool IsWholeView(const Problem& problem) const {
    return views_.size() == 1 && problem.states.outputs.size() == 1 && windows_.empty() &&
           constants_.empty() && views_[0].byte_offset == 0 &&
           problem.group->nodes()[0].op->Has(ir::Trait::kKeepsBytes) &&
           problem.states.outputs[0].layout == Layout() &&
           problem.states.inputs[views_[0].input].layout == Layout();
  }

  int AddConstant(const MoveOperand& source) {
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i].id == source.id) return static_cast<int>(i);
    }
    constants_.push_back(source);
    return static_cast<int>(constants_.size() - 1);
  }

  DType storage_;
  std::vector<Alias> views_;
  std::vector<Window> windows_;
  bool writes_more_;  // than what may be windows
  bool has_blocks_;
  CopySet copies_;
  std::vector<MoveOperand> constants_;
};

/// How the moved operands of one side lie: row-major, or all that have the rank for it in another
/// way.
struct Form {
  bool channels_last = false;
  const NamedLayout* blocked = nullptr;
  bool operator==(const Form&) const = default;

  Layout For(const Shape& shape) const {
    if (channels_last) return Layout::ChannelsLast(shape.rank());
    const bool fits =
        blocked != nullptr && blocked->rank == shape.rank() && FillsBlocks(shape, blocked->layout);
    return fits ? blocked->layout : Layout::RowMajor();
  }
};

struct Forms {
  Form in, out;
};

/// The forms to list: row-major and channels-last in all pairs; blocked on both sides, and on one
/// where the operator trades axes, so that it is the conversion.
std::vector<Forms> ListForms(bool trades_axes) {
  const Form row, last{.channels_last = true};
  std::vector<Forms> forms{{row, row}, {last, last}, {row, last}, {last, row}};
  for (const NamedLayout& named : LayoutTable()) {
    if (named.layout.blocks.empty() || named.layout.image_y_dims != 0) continue;
    const Form blocked{.blocked = &named};
    forms.push_back({blocked, blocked});
    if (trades_axes) forms.insert(forms.end(), {{blocked, row}, {row, blocked}});
  }
  return forms;
}

/// The states of all operands where moved ones are stored as `storage`.
StateAssignment AssignLayouts(const ir::Graph& group, DType storage, const Forms& forms) {
  StateAssignment states = RowMajorStates(group);
  const ir::Node& node = group.nodes()[0];
  const auto assign = [&](ir::ValueId id, State& state, const Form& form) {
    state.storage = storage;
    state.layout = form.For(*group.value(id).shape);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsMoved(node, i)) continue;
    for (size_t k = 0; k < group.inputs.size(); ++k) {
      if (group.inputs[k] == node.inputs[i]) assign(group.inputs[k], states.inputs[k], forms.in);
    }
  }
  for (size_t k = 0; k < group.outputs.size(); ++k)
    assign(group.outputs[k], states.outputs[k], forms.out);
  return states;
}

/// Whether a pixel shuffle out of channels-last writes planes faster than pixels: in mode CRD a
/// pixel's few channels lie far apart in the source, a plane's pixels beside each other.
bool PrefersPlanes(const MoveContext& context, const StateAssignment& states) {
  constexpr int64_t kFewChannels = 16;
  const ir::Node& node = context.node();
  return node.op == "DepthToSpace"_op && node.attributes.Text("mode") == "CRD" &&
         context.output(0).shape[1] < kFewChannels && !states.inputs.empty() &&
         !states.inputs[0].layout.IsRowMajor();
}

/// How good an assignment is before the neighbours are known. Best are outputs that are all views,
/// then equal layouts, then others. Blocked ones are last: no plan has them before tuning.
constexpr size_t kRanks = 4;
size_t RankOf(const MoveContext& context, const StateAssignment& states,
              const std::vector<Piece>& moves, const Forms& forms) {
  if (forms.in.blocked != nullptr || forms.out.blocked != nullptr) return 3;
  if (FindViews(context, states, moves).size() == states.outputs.size()) return 0;
  return (forms.in == forms.out) != PrefersPlanes(context, states) ? 1 : 2;
}

/// The copies that a group is, in all states that it can be moved in.
using Plans = PlannedStates<std::vector<Piece>>;

/// Row `plain` of `all` with every choice of row-major inputs that are read where the caller bound
/// them: copies work at any alignment, and save one. Few inputs only, as the choices double with
/// each.
void AppendExternal(const ir::Graph& group, DType dtype, size_t plain, Plans& all) {
  constexpr size_t kMaxInputs = 3;
  std::vector<size_t> readable;
  const ir::Node& node = group.nodes()[0];
  for (size_t k = 0; k < group.inputs.size(); ++k) {
    const State& state = all.states(plain).inputs[k];
    bool is_moved = true;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      is_moved = is_moved && (node.inputs[i] != group.inputs[k] || IsMoved(node, i));
    if (is_moved && state.layout.IsRowMajor() && state.storage == dtype) readable.push_back(k);
  }
  if (readable.size() > kMaxInputs) return;
  for (unsigned chosen = 1; chosen < 1u << readable.size(); ++chosen) {
    StateAssignment states = all.states(plain);
    for (size_t i = 0; i < readable.size(); ++i)
      states.inputs[readable[i]].external = (chosen >> i & 1) != 0;
    all.Add(std::move(states), all.plan(plain));
  }
}

Result<Plans> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1)
    return Unsupported("computes moves of elements only, one at a time");
  if (!MovesElements(group.nodes()[0].op)) return Unsupported("computes moves of elements only");
  const DType dtype =
      group.outputs.empty() ? DType::kUndefined : group.value(group.outputs[0]).dtype;
  if (!IsStored(dtype) || RowOf(dtype).bits > 64)
    return Unsupported("elements of type {} are not moved", DTypeName(dtype));
  std::vector<DType> storages = {dtype};
  if (dtype == DType::kF16 || dtype == DType::kBF16) storages.push_back(DType::kF32);
  std::array<Plans, kRanks> ranked;
  Status refusal;
  for (DType storage : storages) {
    for (const Forms& forms : ListForms(TradesAxes(group.nodes()[0]))) {
      StateAssignment states = AssignLayouts(group, storage, forms);
      const auto is_known = [&](const Plans& plans) { return plans.Has(states); };
      if (std::any_of(ranked.begin(), ranked.end(), is_known)) continue;
      const MoveContext context(group, states);
      Result<std::vector<Piece>> moves = PlanMoves(context);
      if (!moves.ok()) {
        if (refusal.ok()) refusal = moves.status();
        continue;
      }
      const size_t rank = RankOf(context, states, *moves, forms);
      ranked[rank].Add(std::move(states),
                       std::make_shared<const std::vector<Piece>>(*std::move(moves)));
    }
  }
  Plans all;
  size_t unblocked = 0;
  for (Plans& plans : ranked) {
    if (&plans == &ranked.back()) unblocked = all.size();
    all.Append(std::move(plans));
  }
  if (all.size() == 0) return refusal;
  for (size_t i = 0; i < unblocked; ++i) AppendExternal(group, dtype, i, all);
  return all;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Plans& plans,
                                                const Params&, const Device&) {
  if (!plans.Has(problem.states)) return Unsupported("these states do not fit the extents");
  const MoveContext context(*problem.group, problem.states);
  return std::unique_ptr<PreparedKernel>(
      new MoveKernel(problem, context, plans.In(problem.states)));
}

bool IsView(const Problem& problem, const Plans& plans, const Device&) {
  return IsView(problem, plans.In(problem.states));
}

constexpr Family<Plans> kFamily{.read = Read,
                                .states = ListPlanned,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .is_view = IsView,
                                .takes_no_first_output = true,
                                .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuMove;
const KernelDesc kCpuMove = {.name = "cpu.move", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
