#include "device/opencl/opencl_device.h"

#include <gmock/gmock.h>

#include "base/memory_budget.h"
#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

using testing::HasSubstr;

using OpenClDeviceTest = OpenClTest;

TEST_F(OpenClDeviceTest, HasAnIdentityAndPlausibleFacts) {
  const OpenClFacts& facts = device_->facts();
  EXPECT_EQ(device_->kind(), DeviceKind::kOpenCl);
  EXPECT_EQ(device_->name(), facts.name);
  EXPECT_FALSE(facts.family.empty());
  EXPECT_GE(facts.compute_units, 1);
  EXPECT_GE(facts.max_work_group_size, 1);
  EXPECT_GT(facts.global_bytes, 0);
  EXPECT_LE(facts.max_allocation_bytes, facts.global_bytes);
  EXPECT_TRUE(facts.fp16_storage);
  if (facts.svm_fine) {
    EXPECT_TRUE(facts.svm_coarse);
  }
}

TEST_F(OpenClDeviceTest, FingerprintHoldsTheDriver) {
  const OpenClFacts& facts = device_->facts();
  EXPECT_THAT(std::string(device_->fingerprint()), HasSubstr(facts.name));
  EXPECT_THAT(std::string(device_->fingerprint()), HasSubstr("|" + facts.driver + "|"));
  OpenClFacts other = facts;
  other.driver += "1";
  EXPECT_NE(Fingerprint(other), device_->fingerprint());
}

TEST_F(OpenClDeviceTest, CountsWhatItTakesOfTheHostsMemory) {
  const OpenClFacts& facts = device_->facts();
  if (!facts.is_cpu && !facts.unified_memory) GTEST_SKIP() << "it has memory of its own";
  const auto budget = std::make_shared<MemoryBudget>(int64_t{1} << 20);
  const MemoryScope scope(budget);
  const auto half = device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = 1 << 19});
  ASSERT_TRUE(half.ok()) << half.status().message();
  EXPECT_EQ(budget->used(), 1 << 19);
  const MemoryRequest more{.kind = MemoryKind::kBuffer, .bytes = (1 << 19) + 1};
  EXPECT_EQ(device_->Allocate(more).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(budget->used(), 1 << 19);
  if (facts.images) {
    const MemoryRequest image{
        .kind = MemoryKind::kImage2d, .width = 256, .height = 256, .storage = DType::kF32};
    EXPECT_EQ(device_->Allocate(image).status().code(), StatusCode::kOutOfMemory);
  }
  {
    const auto other = device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = 1 << 18});
    EXPECT_EQ(budget->used(), 3 << 18);
  }
  EXPECT_EQ(budget->used(), 1 << 19);
}

TEST_F(OpenClDeviceTest, OpensByTheIndexAndNameThatItIsListedUnder) {
  const auto listings = ListOpenClDevices();
  ASSERT_TRUE(listings.ok());
  for (const OpenClListing& listing : *listings) {
    const auto opened =
        OpenClDevice::Open(fmt::format("{}:{}", listing.platform_index, listing.device_index));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ((*opened)->name(), listing.facts.name);
  }
  EXPECT_EQ(OpenClDevice::Open("no such platform").status().code(), StatusCode::kDeviceUnavailable);
}

TEST_F(OpenClDeviceTest, RefusesMemoryOverItsLimitsNamingThem) {
  const OpenClFacts& facts = device_->facts();
  const Status buffer =
      device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = facts.max_allocation_bytes + 1})
          .status();
  EXPECT_EQ(buffer.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(buffer.message(), HasSubstr(fmt::format("{}", facts.max_allocation_bytes)));
  if (!facts.images) GTEST_SKIP() << "no images";
  const Status image =
      device_
          ->Allocate(
              {.kind = MemoryKind::kImage2d, .width = facts.image2d_max_width + 1, .height = 1})
          .status();
  EXPECT_EQ(image.code(), StatusCode::kUnsupported);
  EXPECT_THAT(image.message(), HasSubstr(fmt::format("at most {}x", facts.image2d_max_width)));
}

TEST_F(OpenClDeviceTest, RefusesHostMemoryAndImagesOfIntegers) {
  EXPECT_EQ(device_->Allocate({.kind = MemoryKind::kHost, .bytes = 4}).status().code(),
            StatusCode::kUnsupported);
  const MemoryRequest integers{
      .kind = MemoryKind::kImage2d, .width = 4, .height = 4, .storage = DType::kU8};
  EXPECT_THAT(device_->Allocate(integers).status().message(), HasSubstr("f32 or f16"));
}

TEST_F(OpenClDeviceTest, FailedBuildSaysKernelOptionsAndLog) {
  const auto built = device_->BuildKernel(
      {"broken", "__kernel void broken(__global float* o) { o[0] = undeclared; }", "-DTILE=4"},
      "broken");
  EXPECT_EQ(built.status().code(), StatusCode::kBuildFailed);
  EXPECT_THAT(built.status().message(), HasSubstr("'broken'"));
  EXPECT_THAT(built.status().message(), HasSubstr("-DTILE=4"));
  EXPECT_THAT(built.status().message(), HasSubstr("undeclared"));
}

TEST_F(OpenClDeviceTest, MissingKernelIsNamed) {
  const auto built = device_->BuildKernel(ScaleProgram(), "absent");
  EXPECT_EQ(built.status().code(), StatusCode::kDeviceError);
  EXPECT_THAT(built.status().message(), HasSubstr("'absent': CL_INVALID_KERNEL_NAME"));
}

}  // namespace
}  // namespace fettle
