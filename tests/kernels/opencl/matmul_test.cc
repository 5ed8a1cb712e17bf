// Matrix products on an OpenCL device: every algorithm in every form, with every parameter that
// changes its program, against the oracle; and why an algorithm does not apply.
#include <algorithm>

#include "kernels/opencl/matmul/product_family.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClMatMulBatched, kOpenClMatMulBufferImage, kOpenClMatMulColumns,
    kOpenClMatMulImages, kOpenClMatMulLocal, kOpenClMatMulNaive, kOpenClMatMulRegisters,
    kOpenClMatMulShared, kOpenClMatMulSplitK, kOpenClMatMulSubGroups, kOpenClMatMulVector;

namespace {

/// Products with what may follow them; multiples of no tile, and of all.
constexpr std::string_view kGroups[] = {
    "input %a: f32[37x131]\ninput %b: f32[131x53]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[64x128]\ninput %b: f32[128x64]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[37x130]\nconst %b: f32[53x130]\nconst %c: f32[53]\n"
    "%g = Gemm(%a, %b, %c) {transB=1}\n%y = Relu(%g)\noutput %y\n",
    "input %a: f32[131x37]\ninput %b: f32[53x131]\ninput %c: f32[37x53]\n"
    "%y = Gemm(%a, %b, %c) {alpha=0.5, beta=2.0, transA=1, transB=1}\noutput %y\n",
    "input %a: f32[2x5x129]\ninput %b: f32[129x7]\ninput %r: f32[2x5x7]\n"
    "%m = MatMul(%a, %b)\n%y = Add(%m, %r)\noutput %y\n",
    "input %a: f32[6x133]\ninput %b: f32[133x9]\n%y = Gemm(%a, %b) {alpha=0.5}\noutput %y\n",
    "input %a: f32[3x1x5x7]\ninput %b: f32[2x7x4]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[45x67]\ninput %b: f32[67x1]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[1x67]\ninput %b: f32[67x45]\n%y = MatMul(%a, %b)\noutput %y\n",
    "input %a: f32[1x67]\nconst %b: f32[45x67]\n%y = Gemm(%a, %b) {transB=1}\noutput %y\n"};

class OpenClMatMul : public OnOpenCl {
 protected:
  /// Runs `kernel` in all states of a group with `changes` to its default parameters; the number
  /// of runs.
  int RunAll(const KernelDesc& kernel, std::string_view text, const Params& changes = {}) {
    const CaseGroup group = ParseGroup(text);
    const auto candidates = CandidatesOf(kernel, *group.graph, *device_);
    if (!candidates.ok()) return 0;
    int runs = 0;
    for (const StateAssignment& states : *candidates) {
      KernelRun run{kernel, group, {group.graph, states, 1}, {}, ""};
      run.params = DefaultParams(kernel, run.problem, *device_);
      for (const auto& [name, value] : changes) run.params[name] = value;
      if (!SpaceOf(kernel, run.problem, *device_).check(run.params).ok()) continue;
      EXPECT_TRUE(CheckRun(run, *device_));
      ++runs;
    }
    return runs;
  }

  std::string Refusal(const KernelDesc& kernel, std::string_view text) {
    return CandidatesOf(kernel, *ParseGroup(text).graph, *device_).status().message();
  }
};

/// Operands `skipped` elements behind where memory begins: at such places a product reads no
/// aligned vectors, and its second program is built.
void CheckAt(const KernelDesc& kernel, int64_t skipped, const OpenClDevice& device) {
  const CaseGroup group = ParseGroup(kGroups[1]);
  const StateAssignment states = CandidatesOf(kernel, *group.graph, device).value().front();
  const auto prepared = PrepareKernel(kernel, {group.graph, states, 1}, {}, device).value();
  const std::unique_ptr<Stream> stream = device.NewStream({}).value();
  std::vector<std::shared_ptr<DeviceMemory>> memory;
  const int64_t offset = skipped * static_cast<int64_t>(sizeof(float));
  const auto place = [&](const Tensor& tensor) {
    const auto bytes = static_cast<int64_t>(tensor.bytes().size());
    memory.push_back(
        device.Allocate({.kind = MemoryKind::kBuffer, .bytes = offset + bytes}).value());
    EXPECT_TRUE(stream->Write(*memory.back(), offset, tensor.data(), bytes).ok());
    return Location{memory.back()->base(), offset};
  };
  const std::vector<Location> inputs{place(group.inputs[0]), place(group.inputs[1])};
  Tensor got = Tensor::Create(DType::kF32, group.outputs[0].shape()).value();
  const std::vector<Location> outputs{place(got)};
  memory.push_back(device
                       .Allocate({.kind = MemoryKind::kBuffer,
                                  .bytes = std::max<int64_t>(prepared->workspace_bytes(), 4)})
                       .value());
  const Status launched =
      prepared->Launch({inputs, outputs, {}, {.base = memory.back()->base()}, *stream});
  ASSERT_TRUE(launched.ok()) << launched.message();
  ASSERT_TRUE(
      stream->Read(got.data(), *memory[2], offset, static_cast<int64_t>(got.bytes().size())).ok());
  for (int64_t i = 0; i < got.shape().elements(); ++i)
    ASSERT_NEAR(got.as<float>()[i], group.outputs[0].as<float>()[i], 1e-3) << kernel.name;
}

TEST_F(OpenClMatMul, TakesOperandsThatLieAnywhere) {
  for (const KernelDesc* kernel :
       {&kOpenClMatMulLocal, &kOpenClMatMulRegisters, &kOpenClMatMulShared}) {
    for (const int64_t skipped : {0, 1}) CheckAt(*kernel, skipped, *device_);
  }
}

TEST_F(OpenClMatMul, EveryAlgorithmInEveryForm) {
  for (const KernelDesc* kernel :
       {&kOpenClMatMulBatched, &kOpenClMatMulBufferImage, &kOpenClMatMulColumns,
        &kOpenClMatMulImages, &kOpenClMatMulLocal, &kOpenClMatMulNaive, &kOpenClMatMulRegisters,
        &kOpenClMatMulShared, &kOpenClMatMulSplitK, &kOpenClMatMulVector}) {
    int runs = 0;
    for (const std::string_view text : kGroups) runs += RunAll(*kernel, text);
    const bool has_images = device_->facts().images;
    const bool needs_images = kernel == &kOpenClMatMulImages || kernel == &kOpenClMatMulBufferImage;
    if (has_images || !needs_images) {
      EXPECT_GE(runs, 4) << kernel->name;
    }
  }
}

TEST_F(OpenClMatMul, EveryParameterThatChangesTheProgram) {
  const std::string_view text = kGroups[0];
  const Params small_tiles = {{"TM", 3}, {"TN", 2},         {"VW", 4}, {"K_UNROLL", 4},
                              {"LX", 4}, {"ROWS_FIRST", 0}, {"LY", 2}, {"FAST_MATH", 1}};
  const Params wide_tiles = {{"TM", 12}, {"TN", 1},         {"VW", 8}, {"K_UNROLL", 2},
                             {"LX", 1},  {"ROWS_FIRST", 1}, {"LY", 1}};
  for (const Params& params : {small_tiles, wide_tiles}) {
    EXPECT_GT(RunAll(kOpenClMatMulRegisters, text, params), 0);
    EXPECT_GT(RunAll(kOpenClMatMulSplitK, text, params), 0);
  }
  const Params flat = {{"MWG", 32}, {"NWG", 64}, {"KWG", 8}, {"TM", 4}, {"TN", 8}, {"BUFFERS", 2}};
  const Params high = {{"MWG", 64}, {"NWG", 32},    {"KWG", 32},     {"TM", 8},
                       {"TN", 4},   {"BUFFERS", 1}, {"FAST_MATH", 1}};
  for (const Params& params : {flat, high}) EXPECT_GT(RunAll(kOpenClMatMulLocal, text, params), 0);
  if (!device_->facts().images) return;
  for (const Params& params : {Params{{"FMA", 0}, {"LX", 2}, {"LY", 4}}, Params{{"K_UNROLL", 4}}})
    EXPECT_GT(RunAll(kOpenClMatMulBufferImage, text, params), 0);
}

/// Tiles of every edge, fewer steps than items, operands that repeat, packed columns.
TEST_F(OpenClMatMul, WorkGroupsShareLongSums) {
  const Params one = {{"TM", 1}, {"TN", 1}, {"LANES", 256}};
  const Params wide = {{"TM", 2}, {"TN", 4}, {"LANES", 128}};
  const Params high = {{"TM", 4}, {"TN", 2}, {"LANES", 64}};
  for (const Params& params : {one, wide, high})
    for (const int i : {0, 3, 4, 6, 9})
      EXPECT_GT(RunAll(kOpenClMatMulShared, kGroups[i], params), 0) << kGroups[i];
}

/// The sub-groups' algorithm where the device has none.
Status AppliesEverywhere(const GemmShape& shape, const OpenClFacts&) { return OneProduct(shape); }
Params SmallSubGroup(const GemmShape&, const OpenClFacts&) {
  return {{"SUB_GROUP", 16}, {"TM", 4}, {"VW", 2}};
}
GemmSetup SetUpEmulated(const GemmShape& shape, const GemmForms& forms, const Params& params,
                        const OpenClFacts& facts) {
  GemmSetup setup = kGemmSubGroups.setup(shape, forms, params, facts);
  std::string text = setup.options.text();
  const std::string_view native = "-DEMULATED=0";
  setup.options = BuildOptions();
  setup.options.Add(text.replace(text.find(native), native.size(), "-DEMULATED=1"));
  return setup;
}
const GemmAlgorithm kEmulatedSubGroups = {.forms = kRowForms,
                                          .applies = AppliesEverywhere,
                                          .tunables = kGemmSubGroups.tunables,
                                          .valid = kGemmSubGroups.valid,
                                          .defaults = SmallSubGroup,
                                          .setup = SetUpEmulated};
const KernelDesc kEmulated = {.name = "opencl.matmul.emulated",
                              .match = MatchAs<kProductFamily<kEmulatedSubGroups, Always<1>>>};

TEST_F(OpenClMatMul, SubGroupsAddUpRightWhereTheirBroadcastIsEmulated) {
  for (const std::string_view text : {kGroups[0], kGroups[2], kGroups[4]})
    EXPECT_GT(RunAll(kEmulated, text), 0);
}

TEST_F(OpenClMatMul, RefusalsSayWhy) {
  const auto expect = [&](const KernelDesc& kernel, std::string_view text,
                          std::string_view reason) {
    EXPECT_NE(Refusal(kernel, text).find(reason), std::string::npos)
        << kernel.name << ": " << Refusal(kernel, text);
  };
  expect(kOpenClMatMulVector, kGroups[0], "m is 37 and n is 53");
  expect(kOpenClMatMulNaive, kGroups[6], "one product at a time, not 6");
  expect(kOpenClMatMulSplitK, kGroups[7], "k is 67");
  expect(kOpenClMatMulBatched,
         "input %a: f32[300x300]\nconst %b: f32[300x300]\n%y = MatMul(%a, %b)\noutput %y\n",
         "not small");
  if (!device_->facts().images) return;
  expect(kOpenClMatMulBufferImage, kGroups[3], "is transposed");
  expect(kOpenClMatMulImages, kGroups[3], "is transposed");
  expect(kOpenClMatMulImages,
         "input %a: f32[8x8]\n%y = MatMul(%a, %a)\n%z = Add(%y, %a)\noutput %z\n",
         "read more than once");
}

/// Infinities may be what follows a sum looks for.
TEST_F(OpenClMatMul, FastMathIsForSumsAlone) {
  const auto valid = [&](std::string_view text) {
    const CaseGroup group = ParseGroup(text);
    const auto states = CandidatesOf(kOpenClMatMulRegisters, *group.graph, *device_).value();
    const Problem problem{group.graph, states.front(), 1};
    const ParamSpace space = SpaceOf(kOpenClMatMulRegisters, problem, *device_);
    Params params = space.usual;
    params["FAST_MATH"] = 1;
    return space.check(params).ok();
  };
  EXPECT_TRUE(valid(kGroups[0]));
  EXPECT_FALSE(valid(kGroups[2]));
}

}  // namespace
}  // namespace fettle::kernels
