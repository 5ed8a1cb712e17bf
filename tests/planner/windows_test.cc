// Tensors that are written where a Concat would copy them to: which, and that networks stay what
// the oracle computes.
#include <gtest/gtest.h>

#include "exec/choose_windows.h"
#include "planner/planner.h"
#include "tests/planner/run_plan.h"

namespace fettle::planner {
namespace {

struct WindowsCase {
  const char* name;
  const char* graph;
  int windows;  // inputs of joining steps that lie in what those write
};

/// Inputs of steps on the CPU that lie inside of an output of the same step.
int CountWindows(const exec::Program& program) {
  int count = 0;
  const auto& places = program.memory_plan().tensors;
  for (const exec::PlannedStep& step : program.plan().steps) {
    if (step.kernel == nullptr || step.kernel->name != "cpu.move") continue;
    const exec::Placement& whole = places[static_cast<size_t>(step.outputs[0])];
    const exec::PlannedTensor& tensor =
        program.plan().tensors[static_cast<size_t>(step.outputs[0])];
    const int64_t bytes = StateBytes(tensor.shape, tensor.state);
    for (int input : step.inputs) {
      const exec::Placement& place = places[static_cast<size_t>(input)];
      count += place.kind == whole.kind && place.index == whole.index &&
               place.offset >= whole.offset && place.offset < whole.offset + bytes;
    }
  }
  return count;
}

class WindowsTest : public testing::TestWithParam<WindowsCase> {};

TEST_P(WindowsTest, GivesWhatTheOracleComputes) {
  ir::Graph graph = ops::Parse(GetParam().graph).value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1).value();
  const std::vector<Tensor> want = ops::EvaluateGraph(graph, inputs).value();
  for (int threads : {1, 2}) {
    const CpuDevice device(std::make_shared<ThreadPool>(threads));
    const exec::Plan plan = MakePlan(graph, device, {.threads = threads}).value();
    exec::PackedStore packed;
    const auto program = exec::Program::Build(plan, device, packed);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(CountWindows(**program), GetParam().windows);
    const Result<std::vector<Tensor>> got = RunPlan(graph, plan, device, inputs);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ExpectClose(graph, *got, want, 0);
  }
}

/// Channels-last, as outputs of convolutions over few pixels are: windows of 16 and 32 of 68
/// channels begin at whole cache lines, which those behind 20 do not.
constexpr const char* kBranches =
    "input %x: f32[2x24x3x3]\n"
    "const %w: f32[16x24x1x1] = noise(-1, 1)\nconst %v: f32[32x24x3x3] = noise(-1, 1)\n"
    "const %u: f32[20x24x1x1] = noise(-1, 1)\nconst %r: f32[8x68x1x1] = noise(-1, 1)\n"
    "%a = Conv(%x, %w) {kernel_shape=[1, 1]}\n%b = Relu(%a)\n"
    "%c = Conv(%x, %v) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}\n%d = Sigmoid(%c)\n"
    "%e = Mul(%c, %d)\n%f = Conv(%x, %u) {kernel_shape=[1, 1]}\n"
    "%g = Concat(%b, %e, %f) {axis=1}\n"
    "%y = Conv(%g, %r) {kernel_shape=[1, 1]}\noutput %y\n";

/// %b is read twice, so that it stays where it is.
constexpr const char* kReadTwice =
    "input %x: f32[1x16x11x13]\n"
    "const %w: f32[16x16x1x1] = noise(-1, 1)\nconst %v: f32[16x16x5x5] = noise(-1, 1)\n"
    "const %r: f32[8x32x1x1] = noise(-1, 1)\n"
    "%b = Conv(%x, %w) {kernel_shape=[1, 1]}\n"
    "%c = Conv(%b, %v) {kernel_shape=[5, 5], pads=[2, 2, 2, 2]}\n"
    "%g = Concat(%b, %c) {axis=1}\n%y = Conv(%g, %r) {kernel_shape=[1, 1]}\noutput %y\n";

/// Joined with itself: it can lie in one place alone.
constexpr const char* kItself =
    "input %x: f32[1x16x11x13]\nconst %w: f32[16x16x1x1] = noise(-1, 1)\n"
    "const %r: f32[8x32x1x1] = noise(-1, 1)\n%b = Conv(%x, %w) {kernel_shape=[1, 1]}\n"
    "%g = Concat(%b, %b) {axis=1}\n%y = Conv(%g, %r) {kernel_shape=[1, 1]}\noutput %y\n";

/// Pooled beside a convolution, as in GoogLeNet, and joined once more: a tensor that has windows is
/// none itself.
constexpr const char* kPooled =
    "input %x: f32[1x32x12x12]\n"
    "const %w: f32[32x32x1x1] = noise(-1, 1)\nconst %r: f32[8x96x1x1] = noise(-1, 1)\n"
    "%p = MaxPool(%x) {kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]}\n"
    "%a = Conv(%p, %w) {kernel_shape=[1, 1]}\n"
    "%q = AveragePool(%x) {kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]}\n"
    "%g = Concat(%a, %q) {axis=1}\n%h = Conv(%x, %w) {kernel_shape=[1, 1]}\n"
    "%i = Concat(%g, %h) {axis=1}\n%y = Conv(%i, %r) {kernel_shape=[1, 1]}\noutput %y\n";

/// Lines one behind the other: any kernel writes them there.
constexpr const char* kOuterAxis =
    "input %x: f32[16x64]\nconst %w: f32[64x48] = noise(-1, 1)\nconst %v: f32[64x48] = noise(-1, "
    "1)\n"
    "const %k: f32[4x48] = noise(-1, 1)\nconst %r: f32[48x8] = noise(-1, 1)\n"
    "%a = MatMul(%x, %w)\n%b = MatMul(%x, %v)\n%g = Concat(%a, %k, %b) {axis=0}\n"
    "%y = MatMul(%g, %r)\noutput %y\n";

/// A convolution with a sum and a Relu behind it reads its addend as it writes its output.
constexpr const char* kResidual =
    "input %x: f32[1x32x3x3]\nconst %w: f32[32x32x1x1] = noise(-1, 1)\n"
    "const %r: f32[8x64x1x1] = noise(-1, 1)\n%z = Relu(%x)\n"
    "%a = Conv(%z, %w) {kernel_shape=[1, 1]}\n%b = Add(%a, %z)\n%c = Relu(%b)\n"
    "%d = Conv(%z, %w) {kernel_shape=[1, 1]}\n%g = Concat(%c, %d) {axis=1}\n"
    "%y = Conv(%g, %r) {kernel_shape=[1, 1]}\noutput %y\n";

/// Part of a tensor, and all of it with zeros around, are no windows of what is written.
constexpr const char* kPartsAndPads =
    "input %x: f32[1x32x9x9]\nconst %w: f32[32x32x1x1] = noise(-1, 1)\n"
    "const %pads: i64[8] = 0 0 1 1 0 0 1 1\nconst %s: i64[1] = 0\nconst %e: i64[1] = 7\n"
    "const %axis: i64[1] = 3\n"
    "%a = Conv(%x, %w) {kernel_shape=[1, 1]}\n%y = Pad(%a, %pads)\n"
    "%b = Conv(%x, %w) {kernel_shape=[1, 1]}\n%z = Slice(%b, %s, %e, %axis)\n"
    "output %y\noutput %z\n";

/// Products of bits beside each other, with the sums of their shortcut.
constexpr const char* kBits =
    "input %x: f32[1x32x9x7]\n%t = PackBits(%x) {low=0.0, high=inf}\n"
    "const %w: u64[32x1x1x1] = noise(0, 4294967295)\n"
    "const %v: u64[32x1x1x1] = noise(0, 2147483647)\n"
    "const %r: f32[3x32]\n%a = BinaryConv(%t, %w, %r) {channels=32}\n%b = Add(%a, %x)\n"
    "%c = BinaryConv(%t, %v, %r) {channels=32}\n%d = Add(%c, %x)\n"
    "%g = Concat(%b, %d) {axis=1}\n%y = Relu(%g)\noutput %y\n";

INSTANTIATE_TEST_SUITE_P(
    All, WindowsTest,
    testing::Values(WindowsCase{"Branches", kBranches, 3}, WindowsCase{"ReadTwice", kReadTwice, 1},
                    WindowsCase{"Itself", kItself, 0}, WindowsCase{"Pooled", kPooled, 3},
                    WindowsCase{"OuterAxis", kOuterAxis, 2}, WindowsCase{"Residual", kResidual, 1},
                    WindowsCase{"PartsAndPads", kPartsAndPads, 0}, WindowsCase{"Bits", kBits, 2}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::planner
