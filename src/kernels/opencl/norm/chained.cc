// opencl.norm.chained: element-wise operators, then LayerNormalization or RMSNormalization of the
// rows, in one launch (norm/chained.cl).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/norm/row_norm.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

struct RowItems {
  int64_t items = 64;
};
constexpr Fields kItemFields("rows.clh",
                             Field{"items", &RowItems::items, {64, 128, 256}, "ROW_ITEMS"});

/// Quads of a row that a work-item keeps in registers, at most.
constexpr int64_t kMostHeld = 8, kQuad = 4;

int64_t HeldOf(const NormedGroup& group, const RowItems& of) {
  return DivideUp(group.length, of.items * kQuad);
}

Status CheckItems(const NormedGroup& group, const RowItems& of, const OpenClFacts& facts) {
  if (of.items > std::min(facts.max_work_group_size, facts.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", of.items);
  if (HeldOf(group, of) <= kMostHeld) return OkStatus();
  return Unsupported("rows of {}: {} work-items keep {} at most", group.length, of.items,
                     of.items * kQuad * kMostHeld);
}

/// The fewest that keep a row.
RowItems UsualItems(const NormedGroup& group) {
  RowItems of;
  while (of.items < 256 && HeldOf(group, of) > kMostHeld / 2) of.items *= 2;
  return of;
}

/// The state of everything beside the chain's result as `storage`.
Result<Expression> CompileChain(const NormedGroup& group, DType storage) {
  State row = RowStates()[0];
  row.storage = storage;
  return Expression::Compile(*group.rows, StatesBeside(*group.rows, row));
}

Result<NormedGroup> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(NormedGroup read, ReadNormedGroup(group));
  for (ir::ValueId id : group.outputs)
    if (!IsFloatValue(group.value(id).dtype)) return Unsupported("results that are not floats");
  const Shape& made = *read.rows->value(read.rows->outputs[0]).shape;
  if (read.length % kQuad != 0 || made.elements() == 0)
    return Unsupported("rows of {}: no quads", read.length);
  RETURN_IF_ERROR(CheckItems(read, UsualItems(read), AsOpenCl(device).facts()));
  ASSIGN_OR_RETURN(const Expression expression, CompileChain(read, DType::kF32));
  if (expression.columns() % kQuad != 0)
    return Unsupported("operands that broadcast along rows of {}", expression.columns());
  return read;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const NormedGroup&,
                                            const Device&) {
  return RowAssignments(group);
}

ParamSpace Space(const Problem&, const NormedGroup& group, const Device& device) {
  return {kItemFields.Tunables(), kItemFields.Write(UsualItems(group)),
          [group, &facts = AsOpenCl(device).facts()](const Params& params) {
            return CheckItems(group, kItemFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const NormedGroup& group,
                                                const Params& params, const Device& device) {
  const State& state = problem.states.outputs[0];
  const int64_t element = StorageBytes(state.storage, 1);
  const RowItems of = kItemFields.Read(params);
  ASSIGN_OR_RETURN(Expression expression, CompileChain(group, state.storage));
  const size_t outputs = problem.group->outputs.size();
  BuildOptions options = AccessOptions(expression.like());
  kItemFields.Define(of, options);
  options.Define("HELD", HeldOf(group, of)).Define("SUMS", outputs > 1 ? 1 : 0);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("norm/chained.cl", options, expression.text()), "chained"));
  auto made = std::make_unique<RecordedKernel>();
  const int64_t rows = problem.shape(problem.group->outputs[0]).elements() / group.length;
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), GroupSizes(of.items, 1, rows));
  for (size_t i = 0; i < outputs; ++i) launch.Output(i, element);
  made->own_packs = group.norm.packs;
  const bool has_bias = made->own_packs.size() > 1;
  launch.Packed(0, sizeof(float))
      .Packed(has_bias ? 1 : 0, sizeof(float))
      .Int(group.norm.takes_mean ? 1 : 0)
      .Int(has_bias ? 1 : 0)
      .Value(static_cast<cl_float>(group.norm.epsilon))
      .Int(group.length)
      .Int(expression.columns());
  made->expression = std::move(expression);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<NormedGroup> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormChained;
const KernelDesc kOpenClNormChained = {.name = "opencl.norm.chained",
                                       .match = MatchAs<kFamily>,
                                       .parameters = ParametersOf<kItemFields>};

}  // namespace fettle::kernels
