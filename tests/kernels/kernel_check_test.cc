#include "tests/kernels/kernel_check.h"

#include <cmath>
#include <cstring>
#include <set>

#include "kernels/problem.h"
#include "tensor/compare.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// NaN in every float type, and a value that stands out in the integers.
constexpr int kPoison = 0xff;
constexpr int kCanary = 0xa5;
constexpr int64_t kCanaryBytes = 64;

/// Memory of one operand: poison or contents, then canary bytes.
struct Block {
  std::shared_ptr<std::byte> owner;
  std::byte* data = nullptr;
  int64_t bytes = 0;

  bool Intact() const {
    for (int64_t i = 0; i < kCanaryBytes; ++i) {
      if (data[bytes + i] != std::byte{kCanary}) return false;
    }
    return true;
  }
};

/// `shift` moves the start off its alignment.
Block MakeBlock(int64_t bytes, int64_t shift = 0) {
  Block block{AllocateHost(bytes + shift + kCanaryBytes).value(), nullptr, bytes};
  block.data = block.owner.get() + shift;
  std::memset(block.data, kPoison, static_cast<size_t>(bytes));
  std::memset(block.data + bytes, kCanary, kCanaryBytes);
  return block;
}

bool HasNode(const ir::Graph& graph, std::string_view op) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const ir::Node& node) { return node.op == op; });
}

/// What `want` allows: the type's rounding once per node, and sums as long as the longest of the
/// group. Data of random signs keep sums near the square root of their length.
Tolerance GroupTolerance(const ir::Graph& graph, ir::ValueId output, const Tensor& want) {
  int64_t length = 1;
  for (const ir::Node& node : graph.nodes()) {
    const ir::ValueId id = node.outputs.empty() ? ir::kAbsent : node.outputs[0];
    if (id == ir::kAbsent) continue;
    const int64_t elements = std::max<int64_t>(graph.value(id).shape->elements(), 1);
    length = std::max(length, Macs(graph, node) / elements);
    // Reductions count no multiply-adds, but sum as many elements as they lose.
    for (ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent)
        length = std::max(length, graph.value(input).shape->elements() / elements);
    }
  }
  const DType dtype = graph.value(output).dtype;
  double largest = 1;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double value = std::fabs(want.view().GetDouble(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double magnitude = std::max(largest, std::sqrt(static_cast<double>(length)));
  Tolerance tolerance = KernelTolerance(dtype, length, IsFloat(dtype) ? magnitude : 0);
  const auto nodes = static_cast<double>(graph.nodes().size());
  tolerance.atol *= nodes;
  tolerance.rtol *= nodes;
  // The oracle rounds reduced types after every node, a fused kernel once.
  if (nodes > 1 && IsFloat(dtype) && dtype != DType::kF32)
    tolerance.atol += tolerance.rtol * largest;
  const bool quantises =
      HasNode(graph, "QuantizeLinear") || HasNode(graph, "DynamicQuantizeLinear");
  // A value next to the border of two steps may fall to either side.
  if (quantises && IsInteger(dtype)) tolerance.atol = 1;
  if (quantises && IsFloat(dtype)) tolerance.atol += 0.02 * largest;
  return tolerance;
}

std::string ParamsText(const Params& params) {
  std::string text;
  for (const auto& [name, value] : params) text += fmt::format(" {}={}", name, value);
  return text.empty() ? " (none)" : text;
}

testing::AssertionResult Failed(const KernelRun& run, int threads, const std::string& what) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  return testing::AssertionFailure()
         << what << "\n  kernel " << run.kernel.name << ", parameters" << ParamsText(run.params)
         << ", SIMD target " << run.target << ", " << threads << " threads\n"
         << PrintProblem(run.problem) << "  reproduce: --gtest_filter='" << info->test_suite_name()
         << "." << info->name() << "'";
}

/// The memory of a run, and the run itself.
class Runner {
 public:
  Runner(const KernelRun& run, const PreparedKernel& prepared) : run_(run), prepared_(prepared) {}

  Status Pack() {
    for (const PackRequest& request : prepared_.packs()) {
      std::vector<const Constant*> constants;
      for (ir::ValueId id : request.constants)
        constants.push_back(run_.problem.group->value(id).constant.get());
      packed_.push_back(MakeBlock(request.bytes));
      RETURN_IF_ERROR(request.pack(constants, packed_.back().data));
      if (!packed_.back().Intact())
        return Error(StatusCode::kInternal, "packing '{}' wrote behind its end", request.recipe);
    }
    return OkStatus();
  }

  /// Fills inputs, poisons the rest, launches; `in_place` may name an alias to follow.
  Status Launch(int threads, const Alias* in_place) {
    const ir::Graph& graph = *run_.problem.group;
    inputs_.clear();
    outputs_.clear();
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const ir::Value& value = graph.value(graph.inputs[i]);
      const State& state = run_.problem.states.inputs[i];
      inputs_.push_back(
          MakeBlock(StateBytes(*value.shape, state), state.external ? ByteSize(state.storage) : 0));
      Reorder(*value.shape, {.storage = value.dtype}, run_.group.inputs[i].data(), state,
              inputs_.back().data);
    }
    for (size_t o = 0; o < graph.outputs.size(); ++o) {
      const State& state = run_.problem.states.outputs[o];
      outputs_.push_back(MakeBlock(StateBytes(*graph.value(graph.outputs[o]).shape, state),
                                   state.external ? ByteSize(state.storage) : 0));
    }
    for (const Alias& alias : prepared_.aliases()) {
      if (alias.is_view || (in_place != nullptr && alias.output == in_place->output &&
                            alias.input == in_place->input)) {
        Block& output = outputs_[static_cast<size_t>(alias.output)];
        const Block& input = inputs_[static_cast<size_t>(alias.input)];
        if (!alias.is_view && in_place == nullptr) continue;
        output = {input.owner, input.data + alias.byte_offset, output.bytes};
        shared_.insert(alias.output);
      }
    }
    const Block workspace = MakeBlock(prepared_.workspace_bytes());
    CpuStream stream(TestDevice(threads), threads);
    const std::vector<Location> in = Locations(inputs_), out = Locations(outputs_),
                                packed = Locations(packed_);
    RETURN_IF_ERROR(prepared_.Launch({in, out, packed, {workspace.data}, stream}));
    if (!workspace.Intact()) return Error(StatusCode::kInternal, "wrote behind the workspace");
    return CheckBorders();
  }

  /// Output `o` row-major in its value's type.
  Tensor Output(size_t o) const {
    const ir::Value& value = run_.problem.group->value(run_.problem.group->outputs[o]);
    Tensor tensor = Tensor::Create(value.dtype, *value.shape).value();
    Reorder(*value.shape, run_.problem.states.outputs[o], outputs_[o].data,
            {.storage = value.dtype}, tensor.data());
    return tensor;
  }

  /// The output's own bytes, pad lanes included.
  std::string Bytes(size_t o) const {
    return {reinterpret_cast<const char*>(outputs_[o].data),
            static_cast<size_t>(outputs_[o].bytes)};
  }

 private:
  static std::vector<Location> Locations(const std::vector<Block>& blocks) {
    std::vector<Location> locations;
    for (const Block& block : blocks) locations.push_back({block.data});
    return locations;
  }

  Status CheckBorders() const {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      if (!shared_.contains(static_cast<int>(o)) && !outputs_[o].Intact())
        return Error(StatusCode::kInternal, "wrote behind output {}", o);
      RETURN_IF_ERROR(CheckPadLanes(o));
    }
    for (const Block& input : inputs_) {
      if (!input.Intact()) return Error(StatusCode::kInternal, "wrote behind an input");
    }
    for (const Block& packed : packed_) {
      if (!packed.Intact()) return Error(StatusCode::kInternal, "wrote behind a packed constant");
    }
    return OkStatus();
  }

  /// Through row-major and back, pad lanes come out as zeros: the bytes must not change.
  Status CheckPadLanes(size_t o) const {
    const State& state = run_.problem.states.outputs[o];
    const Shape& shape = *run_.problem.group->value(run_.problem.group->outputs[o]).shape;
    if (state.layout.blocks.empty() || !state.layout.IsDense()) return OkStatus();
    const State plain{.storage = state.storage};
    const Block row = MakeBlock(StateBytes(shape, plain)), back = MakeBlock(outputs_[o].bytes);
    Reorder(shape, state, outputs_[o].data, plain, row.data);
    Reorder(shape, plain, row.data, state, back.data);
    if (std::memcmp(back.data, outputs_[o].data, static_cast<size_t>(outputs_[o].bytes)) != 0)
      return Error(StatusCode::kInternal, "pad lanes of output {} are not zero", o);
    return OkStatus();
  }

  const KernelRun& run_;
  const PreparedKernel& prepared_;
  std::vector<Block> inputs_, outputs_, packed_;
  std::set<int> shared_;
};

/// Compares all outputs with the oracle's.
std::string Disagreement(const KernelRun& run, const Runner& runner) {
  const ir::Graph& graph = *run.problem.group;
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    const Tensor& want = run.group.outputs[o];
    const Tolerance tolerance = GroupTolerance(graph, graph.outputs[o], want);
    const Difference difference = Compare(runner.Output(o).view(), want.view(), tolerance);
    if (!difference.ok()) return fmt::format("output {}: {}", o, difference.ToString(want.shape()));
  }
  return "";
}

}  // namespace

const CpuDevice& TestDevice(int threads) {
  static const CpuDevice one(std::make_shared<ThreadPool>(1));
  static const CpuDevice three(std::make_shared<ThreadPool>(3));
  return threads == 1 ? one : three;
}

testing::AssertionResult CheckRun(const KernelRun& run) {
  const auto prepared = run.kernel.prepare(run.problem, run.params, TestDevice(3));
  if (!prepared.ok()) return Failed(run, 1, "prepare: " + prepared.status().message());
  Runner runner(run, **prepared);
  if (const Status packed = runner.Pack(); !packed.ok()) return Failed(run, 1, packed.message());
  std::vector<std::string> first;
  for (int threads : {1, 3}) {
    const Status launched = runner.Launch(threads, nullptr);
    if (!launched.ok()) return Failed(run, threads, launched.message());
    if (const std::string what = Disagreement(run, runner); !what.empty())
      return Failed(run, threads, what);
    for (size_t o = 0; o < run.group.outputs.size(); ++o) {
      if (threads == 1) {
        first.push_back(runner.Bytes(o));
      } else if (runner.Bytes(o) != first[o]) {
        return Failed(run, threads, "the result differs from that of one thread");
      }
    }
  }
  for (const Alias& alias : (*prepared)->aliases()) {
    if (alias.is_view) continue;
    const Status launched = runner.Launch(3, &alias);
    if (!launched.ok()) return Failed(run, 3, "in place: " + launched.message());
    if (const std::string what = Disagreement(run, runner); !what.empty())
      return Failed(
          run, 3,
          fmt::format("output {} in the place of input {}: {}", alias.output, alias.input, what));
  }
  return testing::AssertionSuccess();
}

}  // namespace fettle::kernels
