#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>

#include "ir/noise.h"
#include "kernels/check/state_map.h"
#include "kernels/check/tolerance.h"
#include "tensor/reorder.h"
#include "tuner/measure/sampling.h"

namespace fettle::tuner {
namespace {

/// Unwritten results show as NaN once and as something else another time: integers have no NaN.
constexpr std::byte kPoisons[] = {kernels::kPoison, std::byte{0x5a}};

/// Elements of a conversion that are compared.
constexpr int64_t kMostCompared = 1 << 20;

/// Reads a result piece by piece and compares it.
Difference CompareOutput(const kernels::Operand& operand, const std::byte* data,
                         const Elements& elements, std::span<const double> want,
                         const Tolerance& tolerance) {
  constexpr int64_t kPiece = 1024;
  double got[kPiece];
  const kernels::StateMap map(operand.shape, operand.state);
  Comparison comparison(tolerance);
  for (const ops::Region& range : elements) {
    for (int64_t begin = range.begin; begin < range.end; begin += kPiece) {
      const int64_t count = std::min(kPiece, range.end - begin);
      map.Read(data, begin, count, got);
      const size_t size = count;
      comparison.Add(begin, {got, size}, want.first(size));
      want = want.subspan(size);
    }
  }
  return comparison.Finish();
}

/// Compares all outputs with a set; returns what is wrong, or "".
std::string CheckOutputs(const kernels::BoundKernel& kernel, kernels::Arithmetic arithmetic,
                         const Expectation& set, double& error) {
  const kernels::Operands& operands = kernel.operands();
  for (size_t o = 0; o < set.outputs.size(); ++o) {
    const ExpectedOutput& expected = set.outputs[o];
    const kernels::Operand& operand = operands.outputs[o];
    const Tolerance tolerance = kernels::WidenedForArithmetic(
        kernels::WidenedForStorage(expected.tolerance, operands, expected.largest), arithmetic,
        expected.sums);
    const Difference difference =
        CompareOutput(operand, kernel.output(o), expected.elements, expected.values, tolerance);
    if (!difference.ok())
      return fmt::format("{} inputs, output {}: {}", set.inputs_name, o,
                         difference.ToString(operand.shape));
    if (kernels::StoresLess(operands) || kernels::IsLossy(arithmetic))
      error = std::max(error, std::pow(10, -difference.sqnr_db / 10));
  }
  return "";
}

/// An alias that lets an output lie in the place of an input; null: none. Nothing is put in the
/// place of what belongs to the caller.
const kernels::Alias* FindInPlace(const std::vector<kernels::Alias>& aliases,
                                  const kernels::Operands& operands) {
  const auto found = std::find_if(aliases.begin(), aliases.end(), [&](const kernels::Alias& alias) {
    return !alias.is_view && !operands.inputs[alias.input].state.external;
  });
  return found == aliases.end() ? nullptr : &*found;
}

/// One launch on fresh inputs; what it did to memory that is not its own, or "".
Result<std::string> LaunchOnce(kernels::BoundKernel& kernel,
                               std::span<const std::span<const std::byte>> inputs, std::byte poison,
                               Stream& stream) {
  RETURN_IF_ERROR(kernel.Poison(poison, stream));
  RETURN_IF_ERROR(kernel.WriteInputs(inputs, stream));
  if (!kernel.LaunchesNothing()) RETURN_IF_ERROR(kernel.Launch(stream));
  RETURN_IF_ERROR(kernel.Fetch(stream));
  return kernel.CheckMemory().message();
}

/// Whether a float operand is stored in fewer bytes than its type has.
bool StoresNarrower(const kernels::Operands& operands) {
  const auto narrower = [](const kernels::Operand& operand) {
    return IsFloat(operand.dtype) && RowOf(operand.state.storage).bits < RowOf(operand.dtype).bits;
  };
  return std::any_of(operands.inputs.begin(), operands.inputs.end(), narrower) ||
         std::any_of(operands.outputs.begin(), operands.outputs.end(), narrower);
}

}  // namespace

Result<Verdict> Verify(kernels::BoundKernel& kernel, kernels::Arithmetic arithmetic,
                       GroupExpectations& expectations, Stream& stream,
                       const std::function<bool()>& is_late) {
  Verdict verdict;
  const bool trusted = arithmetic == kernels::Arithmetic::kReference;
  if (!trusted) RETURN_IF_ERROR(expectations.oracle());
  const std::vector<kernels::Alias> aliases = kernel.kernel().aliases();
  // Large and tiny inputs are beyond what narrower types hold; whether a network's own values fit
  // is judged on the whole plan.
  const bool extremes = !trusted && !StoresNarrower(kernel.operands());
  const size_t sets = extremes ? expectations.sets().size() : 1;
  for (size_t s = 0; s < sets; ++s) {
    if (is_late && is_late()) return OutOfTime();
    const Expectation& set = expectations.sets()[s];
    const bool in_place =
        s > 0 && s + 1 == sets && kernel.PutInPlace(FindInPlace(aliases, kernel.operands()));
    if (!in_place) kernel.PutInPlace(nullptr);
    std::vector<std::span<const std::byte>> inputs;
    for (size_t i = 0; i < set.inputs.size(); ++i)
      inputs.push_back(expectations.InState(s, i, kernel.operands().inputs[i].state));
    ASSIGN_OR_RETURN(verdict.wrong,
                     LaunchOnce(kernel, inputs, kPoisons[s % std::size(kPoisons)], stream));
    double error = 0;
    if (verdict.wrong.empty() && !trusted)
      verdict.wrong = CheckOutputs(kernel, arithmetic, set, error);
    if (!verdict.wrong.empty()) break;
    if (s == 0) verdict.error = error;
  }
  kernel.PutInPlace(nullptr);
  return verdict;
}

Result<Verdict> VerifyConversion(kernels::BoundKernel& conversion, Stream& stream) {
  const kernels::Operand& from = conversion.operands().inputs[0];
  const kernels::Operand& to = conversion.operands().outputs[0];
  ir::NoiseRange range{0, from.dtype == DType::kBool ? 1.0 : IsSubByte(from.dtype) ? 7.0 : 100.0};
  if (IsFloat(from.dtype)) range = {-1, 1};
  ASSIGN_OR_RETURN(const Tensor noise, ir::NoiseTensor(from.dtype, from.shape, /*seed=*/1, range));
  std::vector<std::byte> input(StateBytes(from.shape, from.state));
  std::vector<std::byte> want(StateBytes(to.shape, to.state));
  Reorder(from.shape, {.storage = from.dtype}, noise.data(), from.state, input.data());
  Reorder(from.shape, from.state, input.data(), to.state, want.data());
  const std::span<const std::byte> inputs[] = {input};
  Verdict verdict;
  ASSIGN_OR_RETURN(verdict.wrong, LaunchOnce(conversion, inputs, kernels::kPoison, stream));
  if (!verdict.wrong.empty()) return verdict;
  const Elements elements = SampleElements(to.shape, kMostCompared, /*seed=*/1);
  const kernels::StateMap map(to.shape, to.state);
  std::vector<double> values(CountElements(elements));
  double* at = values.data();
  for (const ops::Region& range : elements) {
    map.Read(want.data(), range.begin, range.end - range.begin, at);
    at += range.end - range.begin;
  }
  const Difference difference =
      CompareOutput(to, conversion.output(0), elements, values, Tolerance{});
  if (!difference.ok()) verdict.wrong = difference.ToString(to.shape);
  return verdict;
}

}  // namespace fettle::tuner
