// Kernels that read operands where the caller bound them read nothing behind their ends: each case
// in each state that has such operands, which end where memory does.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "kernels/cpu/simd/targets.h"
#include "tests/case_printer.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// The bytes of a tensor, and a page behind them that nobody may read.
class AtTheEnd {
 public:
  explicit AtTheEnd(const Tensor& tensor) : bytes_(tensor.bytes().size()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_ = (bytes_ + page - 1) / page * page + page;
    void* const mapped =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return;
    start_ = static_cast<std::byte*>(mapped);
    mprotect(start_ + size_ - page, page, PROT_NONE);
    std::memcpy(data(), tensor.data(), bytes_);
  }
  ~AtTheEnd() {
    if (start_ != nullptr) munmap(start_, size_);
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;

  bool ok() const { return start_ != nullptr; }
  std::byte* data() const {
    return start_ + size_ - static_cast<size_t>(sysconf(_SC_PAGESIZE)) - bytes_;
  }

 private:
  size_t bytes_ = 0, size_ = 0;
  std::byte* start_ = nullptr;
};

/// What the kernel computes from inputs of which the external ones lie as `at_the_end` says.
/// Others are row-major too, so that they are tensors as they are.
std::vector<Tensor> Compute(const KernelDesc& kernel, const CaseGroup& group,
                            const StateAssignment& states, bool at_the_end) {
  const CpuDevice& device = TestDevice(3);
  const Problem problem{group.graph, states, 3};
  const auto prepared = PrepareKernel(kernel, problem, {}, device).value();
  std::vector<std::unique_ptr<AtTheEnd>> guarded;
  std::vector<std::shared_ptr<std::byte>> memory;
  std::vector<Location> inputs, outputs, packed;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    Location at{.base = group.inputs[i].data()};
    if (states.inputs[i].external && at_the_end) {
      guarded.push_back(std::make_unique<AtTheEnd>(group.inputs[i]));
      EXPECT_TRUE(guarded.back()->ok());
      at.base = guarded.back()->data();
    }
    inputs.push_back(at);
  }
  std::vector<Tensor> results;
  for (const Tensor& output : group.outputs) {
    results.push_back(Tensor::Create(output.dtype(), output.shape()).value());
    outputs.push_back({.base = results.back().data()});
  }
  for (const PackRequest& request : prepared->packs()) {
    std::vector<const Constant*> constants;
    for (ir::ValueId id : request.constants)
      constants.push_back(group.graph->value(id).constant.get());
    memory.push_back(AllocateHost(request.bytes).value());
    EXPECT_TRUE(request.pack(constants, memory.back().get()).ok());
    packed.push_back({.base = memory.back().get()});
  }
  memory.push_back(AllocateHost(prepared->workspace_bytes()).value());
  const std::unique_ptr<Stream> stream = device.NewStream({}).value();
  const Status launched =
      prepared->Launch({inputs, outputs, packed, {.base = memory.back().get()}, *stream});
  EXPECT_TRUE(launched.ok()) << launched.message();
  return results;
}

/// Whether all is row-major, and what is external has bytes.
bool IsPlain(const CaseGroup& group, const StateAssignment& states) {
  bool has_callers = false;
  for (size_t i = 0; i < states.inputs.size(); ++i) {
    const State& state = states.inputs[i];
    if (!state.layout.IsRowMajor() || state.storage != group.inputs[i].dtype()) return false;
    has_callers = has_callers || (state.external && !group.inputs[i].bytes().empty());
  }
  for (size_t o = 0; o < states.outputs.size(); ++o) {
    const State& state = states.outputs[o];
    if (!state.layout.IsRowMajor() || state.storage != group.outputs[o].dtype()) return false;
  }
  return has_callers;
}

class CallersMemoryTest : public testing::TestWithParam<ops::Case> {
 protected:
  ~CallersMemoryTest() override { ForceSimdTarget(""); }
};

TEST_P(CallersMemoryTest, EndsWhereMemoryDoes) {
  const Result<EvaluatedCase> evaluated = EvaluateCase(GetParam());
  if (!evaluated.ok()) GTEST_SKIP() << evaluated.status().message();
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const CaseGroup& group : GroupsOf(*evaluated)) {
      for (const KernelDesc* kernel : CpuKernels()) {
        const auto candidates = CandidatesOf(*kernel, *group.graph, TestDevice(3));
        if (!candidates.ok()) continue;
        for (const StateAssignment& states : *candidates) {
          if (!IsPlain(group, states)) continue;
          SCOPED_TRACE(kernel->name);
          const std::vector<Tensor> usual = Compute(*kernel, group, states, false);
          const std::vector<Tensor> at_end = Compute(*kernel, group, states, true);
          for (size_t o = 0; o < usual.size(); ++o)
            EXPECT_EQ(std::memcmp(usual[o].data(), at_end[o].data(), usual[o].bytes().size()), 0);
        }
      }
    }
  }
}

/// Cases that no bench is made of.
std::vector<ops::Case> SmallCases() {
  std::vector<ops::Case> small;
  for (const ops::Case& one : ops::AllCases())
    if (!one.bench) small.push_back(one);
  return small;
}

INSTANTIATE_TEST_SUITE_P(All, CallersMemoryTest, testing::ValuesIn(SmallCases()),
                         ops::CaseTestName);

}  // namespace
}  // namespace fettle::kernels
