// Work-groups that a kernel or a driver does not take.
#include <gmock/gmock.h>

#include "tests/device/fake_opencl.h"
#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

using testing::HasSubstr;
using Extents = std::array<size_t, 3>;

class Groups : public testing::Test {
 protected:
  Status Launch(const WorkSizes& sizes) {
    if (kernel_ == nullptr) kernel_ = device_->BuildKernel(ScaleProgram(), "scale").value();
    if (stream_ == nullptr) stream_ = OpenClStream::Create(device_).value();
    return stream_->Launch(*kernel_, sizes, {1});
  }

  FakeOpenCl fake_;
  std::shared_ptr<OpenClDevice> device_ = fake_.Open();
  std::shared_ptr<OpenClKernel> kernel_;
  std::unique_ptr<OpenClStream> stream_;
};

TEST_F(Groups, AreNoLargerThanTheKernelTakes) {
  fake_.most_items = 64;
  ASSERT_TRUE(Launch({.gws = {100, 30, 1}, .lws = {64, 4, 1}, .any_group = true}).ok());
  ASSERT_EQ(fake_.commands.size(), 1u);
  EXPECT_EQ(fake_.commands[0].lws, (Extents{64, 1, 1}));
  EXPECT_EQ(fake_.commands[0].gws, (Extents{128, 32, 1}));
  EXPECT_EQ(fake_.refusals, 0);
}

TEST_F(Groups, BecomeSmallerWhereTheDriverRefusesThemAndStaySo) {
  fake_.refuses_above = 32;
  for (cl_int refusal : {CL_OUT_OF_RESOURCES, CL_INVALID_WORK_GROUP_SIZE}) {
    fake_.refusal = refusal;
    kernel_ = nullptr;
    fake_.refusals = 0;
    fake_.commands.clear();
    const WorkSizes sizes{.gws = {128, 8, 1}, .lws = {16, 8, 1}, .any_group = true};
    ASSERT_TRUE(Launch(sizes).ok());
    EXPECT_EQ(fake_.refusals, 2);  // 128 and 64 items
    EXPECT_EQ(fake_.commands[0].lws, (Extents{16, 2, 1}));
    ASSERT_TRUE(Launch(sizes).ok());
    EXPECT_EQ(fake_.refusals, 2) << "the kernel remembers";
  }
}

TEST_F(Groups, OfKernelsThatNeedTheirSizeAreRefusedWithIt) {
  fake_.refuses_above = 32;
  fake_.most_items = 32;
  const Status status = Launch({.gws = {128, 8, 1}, .lws = {16, 8, 1}});
  EXPECT_EQ(status.code(), StatusCode::kDeviceError);
  EXPECT_THAT(status.message(), HasSubstr("'scale' in work-groups of 16x8x1 (it takes 32 items)"));
}

TEST_F(Groups, OfOddExtentsBecomeSingleItems) {
  fake_.refuses_above = 1;
  EXPECT_TRUE(Launch({.gws = {7, 1, 1}, .lws = {7, 1, 1}, .any_group = true}).ok());
  EXPECT_EQ(fake_.commands[0].lws, (Extents{1, 1, 1}));
}

TEST(SmallerGroup, HalvesTheLastAxisFirst) {
  EXPECT_EQ(SmallerGroup({64, 4, 2}, 256), (Extents{64, 4, 1}));
  EXPECT_EQ(SmallerGroup({64, 4, 2}, 64), (Extents{64, 1, 1}));
  EXPECT_EQ(SmallerGroup({64, 4, 2}, 5), (Extents{4, 1, 1}));
  EXPECT_EQ(SmallerGroup({3, 56, 1}, 100), (Extents{3, 28, 1}));
  EXPECT_EQ(SmallerGroup({1, 1, 1}, 0), (Extents{1, 1, 1}));
}

}  // namespace
}  // namespace fettle
