#include "tests/kernels/kernel_check.h"

#include <cmath>
#include <random>

#include "kernels/check/bound_kernel.h"
#include "kernels/launch_tunables.h"
#include "kernels/params_text.h"
#include "kernels/problem_text.h"
#include "tensor/compare.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// The largest finite magnitude of `tensor`.
double LargestOf(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = std::fabs(tensor.view().GetDouble(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

testing::AssertionResult Failed(const KernelRun& run, int threads, const std::string& what) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  return testing::AssertionFailure()
         << what << "\n  kernel " << run.kernel.name << ", parameters {" << PrintParams(run.params)
         << "}"
         << ", SIMD target " << run.target << ", " << threads << " threads\n"
         << PrintProblem(run.problem) << "  reproduce: --gtest_filter='" << info->test_suite_name()
         << "." << info->name() << "'";
}

/// The memory of a run, and the run itself.
class Runner {
 public:
  static Result<Runner> Make(const KernelRun& run, const Device& device) {
    ASSIGN_OR_RETURN(std::unique_ptr<PreparedKernel> prepared,
                     PrepareWithLaunches(run.kernel, run.problem, run.params, device));
    const Operands operands = OperandsOf(run.problem);
    const auto memory = std::make_shared<OperandMemory>();
    RETURN_IF_ERROR(Allocate(operands, true, device, *memory));
    ASSIGN_OR_RETURN(BoundKernel bound, BoundKernel::Bind(std::move(prepared), operands,
                                                          run.problem.group.get(), memory, device));
    return Runner(run, device, std::move(bound));
  }

  const PreparedKernel& kernel() const { return bound_.kernel(); }
  const Operands& operands() const { return bound_.operands(); }

  /// Fills inputs, poisons the rest, launches; `in_place` may name an alias to follow. False: the
  /// output does not fit in that place.
  Result<bool> Launch(int threads, const Alias* in_place) {
    if (!bound_.PutInPlace(in_place)) return false;
    const bool is_cpu = device_.kind() == DeviceKind::kCpu;
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Stream> stream,
        (is_cpu ? TestDevice(threads) : device_)
            .NewStream(StreamOptions{.threads = threads, .subnormals = run_.subnormals}));
    RETURN_IF_ERROR(bound_.Poison(threads == 1 ? kPoison : std::byte{0x5a}, *stream));
    std::vector<std::vector<std::byte>> contents;
    std::vector<std::span<const std::byte>> spans;
    for (size_t i = 0; i < run_.group.inputs.size(); ++i) {
      const Operand& operand = bound_.operands().inputs[i];
      contents.emplace_back(static_cast<size_t>(StateBytes(operand.shape, operand.state)));
      Reorder(operand.shape, {.storage = operand.dtype}, run_.group.inputs[i].data(), operand.state,
              contents.back().data());
    }
    for (const std::vector<std::byte>& bytes : contents) spans.push_back(bytes);
    RETURN_IF_ERROR(bound_.WriteInputs(spans, *stream));
    if (!bound_.LaunchesNothing()) RETURN_IF_ERROR(bound_.Launch(*stream));
    RETURN_IF_ERROR(bound_.Fetch(*stream));
    RETURN_IF_ERROR(bound_.CheckMemory());
    return true;
  }

  /// Output `o` row-major in its value's type.
  Tensor Output(size_t o) const {
    const Operand& operand = bound_.operands().outputs[o];
    Tensor tensor = Tensor::Create(operand.dtype, operand.shape).value();
    Reorder(operand.shape, operand.state, bound_.output(o), {.storage = operand.dtype},
            tensor.data());
    return tensor;
  }

  /// The output's own bytes, pad lanes included.
  std::string Bytes(size_t o) const {
    const Operand& operand = bound_.operands().outputs[o];
    return {reinterpret_cast<const char*>(bound_.output(o)),
            static_cast<size_t>(StateBytes(operand.shape, operand.state))};
  }

 private:
  Runner(const KernelRun& run, const Device& device, BoundKernel bound)
      : run_(run), device_(device), bound_(std::move(bound)) {}

  const KernelRun& run_;
  const Device& device_;
  BoundKernel bound_;
};

/// Compares all outputs with the oracle's.
std::string Disagreement(const KernelRun& run, const Runner& runner) {
  const ir::Graph& graph = *run.problem.group;
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    const Tensor& want = run.group.outputs[o];
    const double largest = LargestOf(want);
    const Tolerance stored = WidenedForStorage(GroupTolerance(graph, graph.outputs[o], largest),
                                               runner.operands(), largest);
    const Tolerance tolerance = run.tolerance.value_or(
        WidenedForArithmetic(stored, run.kernel.arithmetic, SumMagnitude(graph, largest)));
    const Difference difference = Compare(runner.Output(o).view(), want.view(), tolerance);
    if (!difference.ok()) return fmt::format("output {}: {}", o, difference.ToString(want.shape()));
  }
  return "";
}

/// What a match says of views, before anything is prepared, is what was prepared; empty: it is.
std::string ViewFault(const KernelRun& run, const std::vector<Alias>& aliases,
                      const Device& device) {
  const auto match = MatchGroup(run.kernel, run.problem.group, device);
  if (!match.ok()) return match.status().message();
  const Result<int> states = FindStates(run.kernel, **match, run.problem.states);
  if (!states.ok()) return states.status().message();
  const bool has_view =
      std::any_of(aliases.begin(), aliases.end(), [](const Alias& alias) { return alias.is_view; });
  const bool runs_nothing = IsAllViews(*run.problem.group, aliases);
  if ((*match)->is_view(*states))
    return runs_nothing ? "" : "the match says a view, and something runs";
  return has_view && runs_nothing ? "nothing runs, and the match says no view" : "";
}

}  // namespace

const CpuDevice& TestDevice(int threads) {
  static const CpuDevice one(std::make_shared<ThreadPool>(1));
  static const CpuDevice three(std::make_shared<ThreadPool>(3));
  return threads == 1 ? one : three;
}

std::vector<Params> ParamsToTry(const KernelDesc& kernel, const Problem& problem,
                                const Device& device, int others) {
  const ParamSpace space = SpaceOf(kernel, problem, device);
  std::vector<Params> all{space.usual};
  if (space.tunables.empty()) return all;
  std::mt19937 random(1);
  for (int attempt = 0; attempt < 20 && static_cast<int>(all.size()) <= others; ++attempt) {
    Params params;
    for (const Tunable& tunable : space.tunables)
      params[tunable.name] = tunable.values[random() % tunable.values.size()];
    const bool valid = !space.check || space.check(params).ok();
    if (valid && std::find(all.begin(), all.end(), params) == all.end()) all.push_back(params);
  }
  return all;
}

testing::AssertionResult CheckRun(const KernelRun& run, const Device& device) {
  Result<Runner> made = Runner::Make(run, device);
  if (!made.ok()) return Failed(run, 1, "prepare: " + made.status().message());
  Runner& runner = *made;
  std::vector<std::string> first;
  for (int threads : {1, 3}) {
    const Result<bool> launched = runner.Launch(threads, nullptr);
    if (!launched.ok()) return Failed(run, threads, launched.status().message());
    if (const std::string what = Disagreement(run, runner); !what.empty())
      return Failed(run, threads, what);
    for (size_t o = 0; o < run.group.outputs.size(); ++o) {
      if (threads == 1) {
        first.push_back(runner.Bytes(o));
      } else if (runner.Bytes(o) != first[o]) {
        return Failed(run, threads, "the result differs from that of the first run");
      }
    }
  }
  const std::vector<Alias> aliases = runner.kernel().aliases();
  if (const std::string what = ViewFault(run, aliases, device); !what.empty())
    return Failed(run, 3, what);
  for (const Alias& alias : aliases) {
    if (alias.is_view) continue;
    const Result<bool> launched = runner.Launch(3, &alias);
    if (!launched.ok()) return Failed(run, 3, "in place: " + launched.status().message());
    if (!*launched) continue;
    if (const std::string what = Disagreement(run, runner); !what.empty())
      return Failed(
          run, 3,
          fmt::format("output {} in the place of input {}: {}", alias.output, alias.input, what));
  }
  return testing::AssertionSuccess();
}

void CheckKernel(const KernelDesc& kernel, std::string_view text, const Tolerance& tolerance) {
  const CpuDevice& device = TestDevice(3);
  const CaseGroup group = ParseGroup(text);
  const auto candidates = CandidatesOf(kernel, *group.graph, device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message() << "\n" << text;
  const Problem problem{group.graph, (*candidates)[0], 3};
  const KernelRun run{kernel, group,    problem, DefaultParams(kernel, problem, device),
                      "",     tolerance};
  EXPECT_TRUE(CheckRun(run, device));
}

}  // namespace fettle::kernels
