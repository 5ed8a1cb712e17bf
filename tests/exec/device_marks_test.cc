// Which memory of a device is marked before which step, in builds that mark memory.
#include "exec/device_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "device/marks_memory.h"
#include "tests/annex/annex_device.h"

namespace fettle::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Range = std::pair<int64_t, int64_t>;  // offset and bytes

class RecordingStream final : public Stream, public MarksMemory {
 public:
  Status Write(const DeviceMemory&, int64_t, const void*, int64_t) override { return OkStatus(); }
  Status Read(void*, const DeviceMemory&, int64_t, int64_t) override { return OkStatus(); }
  Status Synchronise() override { return OkStatus(); }
  Status MarkFresh(const DeviceMemory&, int64_t offset, int64_t bytes) override {
    marked.emplace_back(offset, bytes);
    return OkStatus();
  }
  std::vector<Range> marked;
};

/// Three conversions: there, from one tensor of the annex to another, and back.
Plan ThereAndBack() {
  Plan plan;
  const State there{.device = kAnnex, .memory = MemoryKind::kBuffer, .storage = DType::kF32};
  plan.tensors = {{"x", Shape{100}, {.storage = DType::kF32, .external = true}},
                  {"a", Shape{100}, there},
                  {"b", Shape{100}, there},
                  {"y", Shape{100}, {.storage = DType::kF32}}};
  plan.inputs = {0};
  plan.outputs = {3};
  for (int i = 0; i < 3; ++i) {
    PlannedStep step;
    step.inputs = {i};
    step.outputs = {i + 1};
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

TEST(DeviceMarksTest, MarkWhatEachStepIsTheFirstToWrite) {
  constexpr DeviceKind kKinds[] = {DeviceKind::kCpu, kAnnex};
  const std::vector<std::vector<kernels::Alias>> aliases(3);
  const std::vector<int64_t> workspaces = {0, 70, 0};
  const MemoryPlan plan = PlanMemory(ThereAndBack(), kKinds, aliases, workspaces);
  const CpuDevice cpu(std::make_shared<ThreadPool>(2));
  const AnnexDevice annex;
  WorkMemory memory;
  ASSERT_TRUE(memory.Reserve(plan, DeviceSet(cpu, &annex)).ok());
  std::vector<std::unique_ptr<Stream>> streams;
  streams.push_back(std::make_unique<RecordingStream>());
  std::vector<Range>& marked = static_cast<RecordingStream&>(*streams[0]).marked;
  const DeviceMarks marks(plan, memory, streams);
  const auto marked_at = [&](size_t step) {
    marked.clear();
    EXPECT_TRUE(marks.Begin(step).ok());
    return marked;
  };
  EXPECT_TRUE(marks.BeginRun().ok());
  if (!fettle::marks::On()) {
    EXPECT_THAT(marked, IsEmpty());
    for (size_t step = 0; step < 3; ++step) EXPECT_THAT(marked_at(step), IsEmpty());
    return;
  }
  EXPECT_THAT(marked, ElementsAre(Range(0, plan.devices[1].bytes)));
  EXPECT_THAT(marked_at(0), ElementsAre(Range(plan.tensors[1].offset, 400)));
  EXPECT_THAT(marked_at(1),
              ElementsAre(Range(plan.tensors[2].offset, 400), Range(plan.workspaces[1], 70)));
  EXPECT_THAT(marked_at(2), IsEmpty());
}

}  // namespace
}  // namespace fettle::exec
