// opencl.half_weights.rows: MatMul and Gemm whose constant weights 16 bits hold exactly, with the
// element-wise operators behind them: f16 and bf16 of language models, which are read as they are.
#include "kernels/family.h"
#include "kernels/opencl/half_weights/half_rows.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<HalfFacts> Read(const ir::Graph& group, const Device& device) {
  if (group.outputs.size() != 1) return Unsupported("several results");
  ASSIGN_OR_RETURN(const Product p, ReadRowsByConstant(group));
  return ReadHalfProduct(group, p, device);
}

ParamSpace Space(const Problem&, const HalfFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kHalfFields.Tunables(), kHalfFields.Write(UsualHalfTile(facts, facts.p.n, of)),
          [&of](const Params& params) { return CheckHalfTile(kHalfFields.Read(params), of); }};
}

Work WorkOf(const Problem&, const HalfFacts& facts, const Params&, const Device&) {
  const auto m = static_cast<double>(facts.p.m), n = static_cast<double>(facts.p.n),
             k = static_cast<double>(facts.p.k);
  return {.operations = 2 * m * n * k, .bytes = 2 * n * k + 4 * m * (n + k)};
}

int Taste(const HalfFacts& facts, const Device&) { return facts.widened ? 50 : 1; }

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const HalfFacts& facts,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const HalfTile tile = kHalfFields.Read(params);
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression,
                   Expression::Compile(group, problem.states, group.nodes()[0].output(0)));
  made->own_packs.push_back(PackHalfWeights(facts));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("half_weights/rows.cl", HalfOptions(facts, tile, device),
                                   made->expression.text()),
                       "rows"));
  made->recorded
      .emplace_back(std::move(kernel),
                    GroupSizes(tile.items, DivideUp(facts.p.n, tile.group_columns()),
                               DivideUp(facts.p.m, tile.rows)))
      .Input(InputIndex(group, facts.p.a), 4)
      .Packed(0, 16)
      .Output(0, 4)
      .Int(facts.p.n)
      .Int(facts.p.m);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<HalfFacts> kFamily{.read = Read,
                                    .states = HalfRowStates,
                                    .prepare = Prepare,
                                    .params = Space,
                                    .taste = Taste,
                                    .work = WorkOf};

}  // namespace

extern const KernelDesc kOpenClHalfWeightsRows;
const KernelDesc kOpenClHalfWeightsRows = {.name = "opencl.half_weights.rows",
                                           .match = MatchAs<kFamily>,
                                           .parameters = ParametersOf<kHalfFields>};

}  // namespace fettle::kernels
