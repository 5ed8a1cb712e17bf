// Which device is opened, from a machine's list of devices; and a machine without OpenCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/opencl/opencl_device.h"

namespace fettle {
namespace {

using testing::HasSubstr;

OpenClListing Listing(int platform, int device, const char* platform_name, const char* name,
                      bool is_cpu) {
  OpenClListing listing{.platform_index = platform, .device_index = device};
  listing.facts.platform = platform_name;
  listing.facts.name = name;
  listing.facts.is_cpu = is_cpu;
  return listing;
}

class ChooseDevice : public testing::Test {
 protected:
  /// The name of the device that is chosen, or what went wrong.
  std::string Choose(std::string_view choice) const {
    const Result<const OpenClListing*> chosen = ChooseOpenClDevice(listings_, choice);
    return chosen.ok() ? (*chosen)->facts.name : chosen.status().message();
  }

  std::vector<OpenClListing> listings_{
      Listing(0, 0, "Portable Computing Language", "pthread-skylake", true),
      Listing(1, 0, "Big Vendor", "Card 7", false), Listing(1, 1, "Big Vendor", "Card 8", false)};
};

TEST_F(ChooseDevice, TakesTheFirstGpuUnlessTold) {
  EXPECT_EQ(Choose(""), "Card 7");
  listings_.resize(1);
  EXPECT_EQ(Choose(""), "pthread-skylake");
}

TEST_F(ChooseDevice, GoesByPlatformAndDeviceIndex) {
  EXPECT_EQ(Choose("0"), "pthread-skylake");
  EXPECT_EQ(Choose("1:1"), "Card 8");
  EXPECT_EQ(Choose(":1"), "Card 8");
}

TEST_F(ChooseDevice, GoesByAPartOfAName) {
  EXPECT_EQ(Choose("portable"), "pthread-skylake");
  EXPECT_EQ(Choose("VENDOR:card 8"), "Card 8");
  EXPECT_EQ(Choose("1:8"),
            "OpenCL: no device is named '1:8'; known: 0:0 'pthread-skylake' (Portable "
            "Computing Language), 1:0 'Card 7' (Big Vendor), 1:1 'Card 8' (Big "
            "Vendor)");
}

TEST_F(ChooseDevice, SaysWhatThereIs) {
  EXPECT_THAT(Choose("tesla"), HasSubstr("no device is named 'tesla'; known: 0:0"));
  listings_.clear();
  EXPECT_EQ(Choose(""), "OpenCL: no device is named 'any'; known: none");
}

TEST(Family, GoesByNameAndVendor) {
  EXPECT_EQ(FamilyOf("QUALCOMM Adreno(TM)", "QUALCOMM", false), "adreno");
  EXPECT_EQ(FamilyOf("Mali-G78", "ARM", false), "mali");
  EXPECT_EQ(FamilyOf("PowerVR Rogue GE8320", "Imagination Technologies", false), "powervr");
  EXPECT_EQ(FamilyOf("NVIDIA H200", "NVIDIA Corporation", false), "nvidia");
  EXPECT_EQ(FamilyOf("gfx1100", "Advanced Micro Devices, Inc.", false), "amd");
  EXPECT_EQ(FamilyOf("Intel(R) UHD Graphics", "Intel(R) Corporation", false), "intel");
  EXPECT_EQ(FamilyOf("pthread-skylake Intel", "GenuineIntel", true), "cpu");
  EXPECT_EQ(FamilyOf("Vivante GC7000", "Vivante", false), "other");
}

TEST(OpenClErrors, SayNameAndKind) {
  EXPECT_TRUE(OpenClStatus(CL_SUCCESS, "anything").ok());
  const Status memory = OpenClStatus(CL_MEM_OBJECT_ALLOCATION_FAILURE, "OpenCL: allocating");
  EXPECT_EQ(memory.code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(memory.message(), "OpenCL: allocating: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
  EXPECT_EQ(OpenClStatus(-9999, "x").code(), StatusCode::kDeviceError);
  EXPECT_EQ(OpenClStatus(-9999, "x").message(), "x: OpenCL error -9999");
}

/// Ends a process of its own, because a loader is opened once per process.
[[noreturn]] void ExitWithoutLoader() {
  setenv("FETTLE_OPENCL_LIBRARY", "/nowhere/libOpenCL.so", 1);
  const Status status = OpenClDevice::Open().status();
  fmt::print(stderr, "{}\n", status.message());
  std::exit(status.code() == StatusCode::kDeviceUnavailable ? 42 : 1);
}

TEST(OpenClLoaderDeathTest, IsUnavailableWhereThereIsNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ExitWithoutLoader(), testing::ExitedWithCode(42),
              "no OpenCL loader: /nowhere/libOpenCL.so");
}

}  // namespace
}  // namespace fettle
