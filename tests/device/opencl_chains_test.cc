// Launches as one: what a chain computes, what can be none, and what becomes of work-groups that
// are not there at once.
#include <gmock/gmock.h>

#include <numeric>

#include "device/opencl/chain_text.h"
#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

using testing::HasSubstr;

/// Turns each work-group's part of `in` round through local memory, adds `more` to what the last
/// argument says, and hands it to the work-group at the other end.
constexpr const char* kTurn = R"(
#ifndef ITEMS
#define ITEMS 16
#endif
// A comment with "quotes" and __local float x[3];
typedef float element_t;
__constant float kFactor = 1.5f;
static element_t Scaled(const element_t v) { return v * kFactor; }
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void turn(
    __global const element_t* restrict in, __global element_t* out, const float more, const int2 range) {
  __local element_t part[ITEMS];
  __local element_t unused[ITEMS] __attribute__((aligned(16)));
  const int item = get_local_id(0), group = get_group_id(0);
  part[item] = Scaled(in[group * ITEMS + item]);
  unused[item] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int to = (range.y - 1 - group) * ITEMS + item;
  if (to < range.x) out[to] = part[ITEMS - 1 - item] + more + unused[item];
})";

class OpenClChains : public OpenClTest {
 protected:
  static constexpr int kGroups = 36, kItems = 16;

  std::shared_ptr<OpenClKernel> Turn(int items) {
    return device_->BuildKernel({"turn", kTurn, fmt::format("-DITEMS={}", items)}, "turn").value();
  }
  Status LaunchTurn(OpenClStream& stream, const OpenClKernel& kernel, int from, float more,
                    int items = kItems) {
    const size_t count = kGroups * kItems;
    return stream.Launch(
        kernel, {.gws = {count, 1, 1}, .lws = {static_cast<size_t>(items), 1, 1}},
        {buffers_[from]->location(), buffers_[1 - from]->location(), more,
         cl_int2{{static_cast<cl_int>(count), static_cast<cl_int>(count) / items}}});
  }
  /// Three launches, the last of which takes work-groups of any size.
  Status LaunchAll(OpenClStream& stream) {
    RETURN_IF_ERROR(LaunchTurn(stream, *turn_, 0, 0.25f));
    RETURN_IF_ERROR(LaunchTurn(stream, *turn_, 1, -3));
    return stream.Launch(*scale_,
                         {.gws = {kGroups * kItems, 1, 1}, .lws = {8, 1, 1}, .any_group = true},
                         {buffers_[0]->location(), 0.5f, kGroups * kItems - 5});
  }
  void Fill() {
    std::vector<float> values(kGroups * kItems);
    std::iota(values.begin(), values.end(), 1.0f);
    for (auto& buffer : buffers_)
      ASSERT_TRUE(stream_->WriteBuffer(buffer->location(), values.data(), kBytes).ok());
  }
  std::vector<float> Read(int buffer) {
    std::vector<float> values(kGroups * kItems);
    EXPECT_TRUE(stream_->ReadBuffer(values.data(), buffers_[buffer]->location(), kBytes).ok());
    return values;
  }
  void SetUp() override {
    OpenClTest::SetUp();
    if (IsSkipped()) return;
    // As the probe of matrix instructions says, which is not of this layer.
    if (device_->name().find("NVIDIA") != std::string_view::npos)
      device_->Learn({.available = true, .local_bytes = 48 << 10});
    if (const Status status = device_->CheckChains(); !status.ok())
      GTEST_SKIP() << "no OpenCL device with chains: " << status.message();
    for (auto& buffer : buffers_) buffer = NewBuffer(kBytes);
    turn_ = Turn(kItems);
    scale_ = device_
                 ->BuildKernel({"add",
                                "__kernel void add(__global float* out, float f, int n) {\n"
                                "  const int i = get_global_id(0);\n"
                                "  if (i < n) out[i] += i * f;\n}\n",
                                ""},
                               "add")
                 .value();
  }
  void ComputesWhatItsLaunchesDo() {
    Fill();
    ASSERT_TRUE(LaunchAll(*stream_).ok());
    const std::vector<float> want[] = {Read(0), Read(1)};
    const auto chain = stream_->MakeChain([&] { return LaunchAll(*stream_); }, 0);
    ASSERT_TRUE(chain.ok()) << chain.status().message();
    for (int run = 0; run < 3; ++run) {
      Fill();
      ASSERT_TRUE((*chain)->Enqueue().ok());
      EXPECT_EQ(Read(0), want[0]);
      EXPECT_EQ(Read(1), want[1]);
      EXPECT_TRUE(stream_->ChainsMet().value());
    }
  }
  std::string RefusalOf(const std::function<Status()>& launches) {
    const auto chain = stream_->MakeChain(launches, 0);
    EXPECT_EQ(chain.status().code(), StatusCode::kUnsupported);
    return chain.status().message();
  }

  static constexpr int64_t kBytes = kGroups * kItems * sizeof(float);
  std::array<std::shared_ptr<DeviceMemory>, 2> buffers_;
  std::shared_ptr<OpenClKernel> turn_, scale_;
};

TEST_F(OpenClChains, ComputeWhatTheirLaunchesDo) { ComputesWhatItsLaunchesDo(); }

TEST_F(OpenClChains, NothingIsEnqueuedWhileTheyAreMade) {
  Fill();
  const std::vector<float> before = Read(1);
  ASSERT_TRUE(stream_->MakeChain([&] { return LaunchAll(*stream_); }, 0).ok());
  EXPECT_EQ(Read(1), before);
  ASSERT_TRUE(LaunchAll(*stream_).ok());
  EXPECT_NE(Read(1), before);
}

/// Work-groups of 64 items beside ones of 32, which share them where a device has barriers of
/// warps.
TEST_F(OpenClChains, WorkGroupsOfOtherSizes) {
  const auto wide = Turn(64), narrow = Turn(32);
  const auto launches = [&]() -> Status {
    RETURN_IF_ERROR(LaunchTurn(*stream_, *narrow, 0, 1, 32));
    RETURN_IF_ERROR(LaunchTurn(*stream_, *wide, 1, 1, 64));
    return LaunchTurn(*stream_, *narrow, 0, 1, 32);
  };
  const OpenClFacts& facts = device_->facts();
  if (!facts.mma.available || facts.mma.emulated) {
    EXPECT_THAT(RefusalOf(launches), HasSubstr("work-groups of 32 items among ones of 64"));
    return;
  }
  Fill();
  ASSERT_TRUE(launches().ok());
  const std::vector<float> want[] = {Read(0), Read(1)};
  for (const int groups : {0, 2, 7}) {
    const auto chain = stream_->MakeChain(launches, groups);
    ASSERT_TRUE(chain.ok()) << chain.status().message();
    Fill();
    ASSERT_TRUE((*chain)->Enqueue().ok());
    EXPECT_EQ(Read(0), want[0]);
    EXPECT_EQ(Read(1), want[1]);
    EXPECT_TRUE(stream_->ChainsMet().value());
  }
}

TEST_F(OpenClChains, TransfersAreNoPartOfThem) {
  float value = 0;
  EXPECT_THAT(RefusalOf([&]() -> Status {
                RETURN_IF_ERROR(LaunchTurn(*stream_, *turn_, 0, 1));
                return stream_->ReadBuffer(&value, buffers_[0]->location(), sizeof(value));
              }),
              HasSubstr("cannot be part of a chain"));
  // The stream is as it was.
  EXPECT_TRUE(stream_->ReadBuffer(&value, buffers_[0]->location(), sizeof(value)).ok());
  EXPECT_THAT(RefusalOf([] { return OkStatus(); }), HasSubstr("no launches"));
}

TEST_F(OpenClChains, LaunchesThatAreSplitAreNoPartOfThem) {
  const auto split = NewStream({.kernel_ms = 5});
  const auto chain = split->MakeChain([&] { return LaunchAll(*split); }, 0);
  EXPECT_THAT(chain.status().message(), HasSubstr("split"));
}

TEST_F(OpenClChains, WorkGroupsThatAreNotThereAtOnceSaySo) {
  const int too_many = 64 * device_->facts().compute_units;
  if (!device_->facts().is_cpu) GTEST_SKIP() << "has no OpenCL device that runs so few at once";
  const auto chain = stream_->MakeChain([&] { return LaunchAll(*stream_); }, too_many);
  ASSERT_TRUE(chain.ok()) << chain.status().message();
  ASSERT_TRUE((*chain)->Enqueue().ok());
  ASSERT_TRUE(stream_->Synchronise().ok());
  EXPECT_FALSE(stream_->ChainsMet().value());
  EXPECT_TRUE(stream_->ChainsMet().value()) << "it is said once";
  // The state is as before, so that others work.
  ComputesWhatItsLaunchesDo();
}

TEST(ChainText, LocalMemoryOfAllStagesFitsTheDevice) {
  const ProgramSource program{"turn", kTurn, "-DITEMS=16"};
  const std::vector<KernelArg> args;
  const ChainStage stage{.program = &program,
                         .function = "turn",
                         .lws = {16, 1, 1},
                         .args = args,
                         .local_bytes = 1 << 15};
  ChainText text({.items = 16, .local_bytes = 1 << 15});
  const Status refused = text.Add(stage);
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("of local memory, the device has 32768"));
  ChainText larger({.items = 16, .local_bytes = 1 << 17});
  EXPECT_TRUE(larger.Add(stage).ok());
}

TEST(ChainText, ProgramsThatKnowTheirLaunchAreNoPart) {
  const auto refusal = [](std::string_view text, std::string options = {}) {
    return CheckChains({"f", std::string(text), std::move(options)}).message();
  };
  EXPECT_THAT(refusal("int n = get_num_groups(0);"), HasSubstr("get_num_groups"));
  EXPECT_THAT(refusal("", "-DFETTLE_IMAGE=1"), HasSubstr("images"));
  EXPECT_EQ(refusal(kTurn), "");
}

TEST(ChainText, ArraysOfLocalMemoryStandAlone) {
  for (const char* arrays : {"float a[4][4];", "float a[4], b[4];"}) {
    const ProgramSource program{
        "f", fmt::format("__kernel void f(__global float* y) {{ __local {} y[0] = 1; }}", arrays),
        ""};
    ChainText text({.items = 16, .local_bytes = 1 << 15});
    EXPECT_THAT(text.Add({.program = &program, .function = "f", .lws = {16, 1, 1}}).message(),
                HasSubstr("local memory"))
        << arrays;
  }
}

TEST(ChainText, CompilerOptionsAreTheSame) {
  const ProgramSource exact{"turn", kTurn, "-DITEMS=16"};
  const ProgramSource fast{"turn", kTurn, "-DITEMS=16 -cl-fast-relaxed-math"};
  ChainText text({.items = 16, .local_bytes = 1 << 15});
  ChainStage stage{.program = &exact, .function = "turn", .lws = {16, 1, 1}};
  ASSERT_TRUE(text.Add(stage).ok());
  stage.program = &fast;
  EXPECT_THAT(text.Add(stage).message(), HasSubstr("-cl-fast-relaxed-math"));
}

}  // namespace
}  // namespace fettle
