// opencl.elementwise.chain: any connected run of element-wise nodes in one pass over memory;
// opencl.elementwise.chain.f16: computed in f16.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

using expr::Expr;

Result<Expr> Read(const ir::Graph& group, const Device&) {
  if (group.outputs.size() != 1) return Unsupported("expected one output");
  const DType type = group.value(group.outputs[0]).dtype;
  if (!IsFloatValue(type) && ElementTypeName(type).empty())
    return Unsupported("{} is not written by expressions", DTypeName(type));
  return expr::Lower(group);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Expr& expr,
                                            const Device& device) {
  const ir::Value& out = group.value(group.outputs[0]);
  std::vector<State> forms = RowStates();
  if (HasVolumeRank(*out.shape) && IsFloatValue(out.dtype)) {
    const std::vector<State> pixels = PixelStates(device);
    forms.insert(forms.begin(), pixels.begin(), pixels.end());
  }
  std::vector<StateAssignment> states;
  Status refused = OkStatus();
  for (const State& form : forms) {
    // Inputs rounded to f16 would fall on the other side of a step now and then.
    if (!IsFloatValue(out.dtype) && form.storage == DType::kF16) continue;
    StateAssignment next = StatesBeside(group, form);
    if (std::find(states.begin(), states.end(), next) != states.end()) continue;
    const Status compiled = Expression::Compile(expr, group, next).status();
    if (compiled.ok()) {
      states.push_back(std::move(next));
    } else {
      refused = compiled;
    }
  }
  if (states.empty()) return refused;
  return states;
}

Result<std::vector<StateAssignment>> StatesInHalf(const ir::Graph& group, const Expr& expr,
                                                  const Device& device) {
  return HalfStates(group, States(group, expr, device), device);
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Expr& expr,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const State& state = problem.states.outputs[0];
  ASSIGN_OR_RETURN(Expression expression, Expression::Compile(expr, group, problem.states));
  BuildOptions options = AccessOptions(expression.like());
  DefineArithmetic(arithmetic, device, options);
  if (const DType type = group.value(group.outputs[0]).dtype; !IsFloatValue(type))
    options.Add(
        fmt::format("-DOUT_TYPE={0} -DOUT_CONVERT=convert_{0}4_sat_rte", ElementTypeName(type)));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("elementwise/chain.cl", options, expression.text()), "chain"));
  auto made = std::make_unique<RecordedKernel>();
  const auto sizes = [](int64_t items, int64_t images) {
    return WorkSizes{.gws = {static_cast<size_t>(items), static_cast<size_t>(images), 1},
                     .lws = {kGroupItems, 1, 1}};
  };
  if (const Shape& y = problem.shape(group.outputs[0]); IsPixels(state)) {
    made->recorded
        .emplace_back(std::move(kernel), sizes(DivideUp(y[1], 4) * y.Count(2, y.rank()), y[0]))
        .Output(0, PixelBytes(state.storage))
        .Value(PixelDims(y));
  } else {
    const int64_t quads = DivideUp(expression.columns(), 4);
    made->recorded.emplace_back(std::move(kernel), sizes(expression.rows() * quads, 1))
        .Output(0, StorageBytes(state.storage, 1))
        .Int(expression.rows())
        .Int(expression.columns());
  }
  made->expression = std::move(expression);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Expr> kFamily{
    .read = Read, .states = States, .prepare = Prepare<Arithmetic::kF32>, .taste = Always<10>};
constexpr Family<Expr> kHalfFamily{.read = Read,
                                   .states = StatesInHalf,
                                   .prepare = Prepare<Arithmetic::kF16>,
                                   .taste = Always<11>};

}  // namespace

extern const KernelDesc kOpenClElementwiseChain;
const KernelDesc kOpenClElementwiseChain = {.name = "opencl.elementwise.chain",
                                            .match = MatchAs<kFamily>};

extern const KernelDesc kOpenClElementwiseChainF16;
const KernelDesc kOpenClElementwiseChainF16 = {.name = "opencl.elementwise.chain.f16",
                                               .arithmetic = Arithmetic::kF16,
                                               .match = MatchAs<kHalfFamily>};

}  // namespace fettle::kernels
