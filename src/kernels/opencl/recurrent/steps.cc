// opencl.recurrent.steps: RNN, GRU and LSTM with their usual activations. The products of all
// steps' inputs are one matrix product; the steps are one launch, a work-group per sequence and
// direction, whose weights stay in registers where they are few, or a launch each, where weights
// are more than one work-group reads while another launch begins. Always in f32: what a step rounds
// away comes back in all that follow.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/match/usual_cell.h"
#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/recurrent/recurrent_cell.h"
#include "kernels/opencl/recurrent/step_form.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

using ops::RecurrentAttributes;

constexpr size_t kOutputs = 3;  // all states, last state, last cell state
constexpr cl_int kReverse = 32;

Result<RecurrentCell> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(RecurrentAttributes attributes, ReadUsualCell(group));
  const RecurrentCell cell{std::move(attributes)};
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.input(kRecurrentX));
  if (x.is_constant() || !IsFloatValue(x.dtype)) return Unsupported("expected a float tensor");
  constexpr int64_t kMost = std::numeric_limits<cl_int>::max() / 4;
  const int64_t weights = cell.columns() * std::max(cell.attributes.input, cell.attributes.hidden);
  if (std::max({cell.rows() * cell.columns(), x.shape->elements(), weights}) > kMost)
    return Unsupported("kernels count elements in 32 bits");
  return cell;
}

GemmShape InputProduct(const RecurrentCell& cell) {
  return {.m = std::max<int64_t>(cell.rows(), 1), .n = cell.columns(), .k = cell.attributes.input};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const RecurrentCell&,
                                            const Device&) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

/// A location `floats` further on.
Location Behind(Location location, int64_t floats) {
  location.offset += floats * static_cast<int64_t>(sizeof(float));
  return location;
}

class Steps final : public PreparedKernel {
 public:
  Steps(const Problem& problem, RecurrentCell cell, const StepItems& form)
      : group_(problem.group), cell_(std::move(cell)), form_(form) {
    const ir::Node& node = group_->nodes()[0];
    for (size_t i = 0; i < kOutputs; ++i) outputs_[i] = IndexOf(group_->outputs, node.output(i));
    MakePacks(node);
  }

  Status Build(const OpenClDevice& device) {
    ASSIGN_OR_RETURN(steps_, form_.spread == 2 ? BuildResident(device) : BuildSteps(device));
    const GemmShape shape = InputProduct(cell_);
    setup_ = SetUpRegisters(shape, {}, UsualRegisters(shape, device.facts()), device.facts());
    BuildOptions product;
    product.Define("FETTLE_HALF", 0).Define("ADDEND", 1).Add(setup_.options.text());
    ASSIGN_OR_RETURN(
        product_, device.BuildKernel(MakeProgram("gemm/registers.cl", product), "gemm_registers"));
    return OkStatus();
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  /// The sums of all rows, then three vectors of units for each sequence.
  int64_t workspace_bytes() const override {
    return (SumFloats() + 3 * cell_.sequences() * cell_.units()) *
           static_cast<int64_t>(sizeof(float));
  }

  Status Launch(const LaunchArgs& args) const override {
    OpenClStream& stream = OpenClStreamOf(args);
    if (cell_.rows() > 0) RETURN_IF_ERROR(MultiplyInputs(args, stream));
    return Walk(args, stream);
  }

 private:
  static constexpr int64_t kFloat = sizeof(float);
  static cl_int Int(int64_t value) { return static_cast<cl_int>(value); }
  static int IndexOf(std::span<const ir::ValueId> ids, ir::ValueId id) {
    const auto at = std::find(ids.begin(), ids.end(), id);
    return id == ir::kAbsent || at == ids.end() ? -1 : static_cast<int>(at - ids.begin());
  }
  /// Whole vectors, as operands are aligned.
  int64_t SumFloats() const { return (cell_.rows() * cell_.columns() + 15) / 16 * 16; }

  Result<std::shared_ptr<OpenClKernel>> BuildSteps(const OpenClDevice& device) const {
    BuildOptions options;
    options.Define("CELL", cell_.number());
    kStepFields.Define(form_, options);
    return device.BuildKernel(MakeProgram("recurrent/steps.cl", options),
                              form_.spread > 0 ? "one_step" : "steps");
  }
  Result<std::shared_ptr<OpenClKernel>> BuildResident(const OpenClDevice& device) const {
    const Resident form(cell_);
    BuildOptions options;
    options.Define("CELL", cell_.number()).Define("ITEMS", form.items).Define("HELD", form.held);
    options.Define("HIDDEN", cell_.attributes.hidden).Define("UNITS", cell_.units());
    return device.BuildKernel(MakeProgram("recurrent/resident.cl", options), "resident");
  }

  void MakePacks(const ir::Node& node) {
    PackRequest request{.constants = {node.input(kRecurrentW), node.input(kRecurrentR)}};
    if (node.input(kRecurrentB) != ir::kAbsent)
      request.constants.push_back(node.input(kRecurrentB));
    request.recipe = fmt::format("opencl.recurrent.{}.{}x{}", node.op, cell_.attributes.directions,
                                 cell_.attributes.hidden);
    request.bytes = WeightParts(cell_).end * kFloat;
    request.pack = [cell = cell_](std::span<const Constant* const> constants, std::byte* out) {
      PackWeights(cell, constants, reinterpret_cast<float*>(out));
      return OkStatus();
    };
    packs_.push_back(std::move(request));
    for (size_t i = 0; i < 2; ++i) {
      const ir::ValueId id = node.input(kRecurrentH + i);
      initial_[i].input = IndexOf(group_->inputs, id);
      if (id == ir::kAbsent || !group_->value(id).is_constant()) continue;
      const int64_t elements = cell_.sequences() * cell_.attributes.hidden;
      initial_[i].pack = static_cast<int>(packs_.size());
      packs_.push_back(VectorPack(*group_, id, elements, elements).value());
    }
  }

  Status MultiplyInputs(const LaunchArgs& args, OpenClStream& stream) const {
    const WeightParts parts(cell_);
    const ir::ValueId x = group_->nodes()[0].input(kRecurrentX);
    const GemmShape shape = InputProduct(cell_);
    ArgList list;
    list.Value(Int(shape.m)).Value(Int(shape.n)).Value(Int(shape.k));
    list.Tensor(args.inputs[IndexOf(group_->inputs, x)], kFloat);
    list.Tensor(args.packed[0], kFloat).Tensor(args.workspace, kFloat);
    for (const KernelArg& arg : setup_.more) list.Append(arg);
    list.Value(1.0f).Value(1.0f).Tensor(Behind(args.packed[0], parts.input_bias), kFloat);
    list.Value(Int(0)).Value(Int(1));
    return stream.Launch(*product_, setup_.sizes, list.args());
  }

  Status Walk(const LaunchArgs& args, OpenClStream& stream) const {
    const WeightParts parts(cell_);
    const RecurrentAttributes& a = cell_.attributes;
    const Location state = Behind(args.workspace, SumFloats());
    cl_int flags = a.reverse ? kReverse : 0;
    ArgList list;
    list.Tensor(args.workspace, kFloat).Tensor(Behind(args.packed[0], parts.state), kFloat);
    list.Tensor(Behind(args.packed[0], parts.carried), kFloat).Tensor(state, kFloat);
    // What is absent is named, but neither read nor written.
    for (size_t i = 0; i < 2; ++i) {
      const Initial& from = initial_[i];
      if (from.input >= 0 || from.pack >= 0) flags |= 1 << i;
      list.Tensor(from.input >= 0  ? args.inputs[from.input]
                  : from.pack >= 0 ? args.packed[from.pack]
                                   : state,
                  kFloat);
    }
    for (size_t i = 0; i < kOutputs; ++i) {
      if (outputs_[i] >= 0) flags |= 4 << i;
      list.Tensor(outputs_[i] >= 0 ? args.outputs[outputs_[i]] : state, kFloat);
    }
    list.Value(cl_int4{{Int(a.steps), Int(a.batch), Int(a.directions), Int(a.hidden)}});
    list.Value(flags);
    const int64_t quads = cell_.units() / 4;
    if (form_.spread == 2)
      return stream.Launch(*steps_, GroupSizes(Resident(cell_).items, 1, cell_.sequences()),
                           list.args());
    if (form_.spread == 1) return LaunchEach(DivideUp(quads, kStepQuads), list, stream);
    const int64_t slices = std::max<int64_t>(1, form_.items / quads);
    list.Value(Int(std::min(slices, a.hidden)));
    return stream.Launch(*steps_, GroupSizes(form_.items, 1, cell_.sequences()), list.args());
  }

  Status LaunchEach(int64_t groups, const ArgList& list, OpenClStream& stream) const {
    for (int64_t step = 0; step < cell_.attributes.steps; ++step) {
      ArgList args = list;
      args.Value(Int(step));
      RETURN_IF_ERROR(
          stream.Launch(*steps_, GroupSizes(form_.items, groups, cell_.sequences()), args.args()));
    }
    return OkStatus();
  }

  struct Initial {
    int input = -1, pack = -1;
  };

  std::shared_ptr<const ir::Graph> group_;
  RecurrentCell cell_;
  StepItems form_;
  std::array<int, kOutputs> outputs_{};
  std::array<Initial, 2> initial_;  // h, c
  std::vector<PackRequest> packs_;
  GemmSetup setup_;
  std::shared_ptr<OpenClKernel> product_, steps_;
};

ParamSpace Space(const Problem&, const RecurrentCell& cell, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  StepItems usual = UsualItems(cell, facts);
  if (!CheckItems(cell, usual, facts).ok()) usual.spread = 0;
  return {kStepFields.Tunables(), kStepFields.Write(usual), [&facts, cell](const Params& params) {
            return CheckItems(cell, kStepFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const RecurrentCell& cell,
                                                const Params& params, const Device& device) {
  auto made = std::make_unique<Steps>(problem, cell, kStepFields.Read(params));
  RETURN_IF_ERROR(made->Build(AsOpenCl(device)));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<RecurrentCell> kFamily{.read = Read,
                                        .states = States,
                                        .prepare = Prepare,
                                        .params = Space,
                                        .taste = Always<10>,
                                        .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClRecurrentSteps;
const KernelDesc kOpenClRecurrentSteps = {.name = "opencl.recurrent.steps",
                                          .match = MatchAs<kFamily>,
                                          .parameters = ParametersOf<kStepFields>};

}  // namespace fettle::kernels
