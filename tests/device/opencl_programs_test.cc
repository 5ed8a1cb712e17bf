// Where programs come from, and what is remembered of those that fail, crash or hang.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "device/opencl/programs.h"
#include "tests/device/fake_opencl.h"
#include "tests/device/opencl_fixture.h"
#include "tests/test_folder.h"

namespace fettle {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const ProgramSource kDoubleSource{"double", "__kernel void double_(...) {}", "-DTILE=4"};

/// A process that does `work` and is expected to die of it, or is killed after `hang` has begun.
template <typename F>
void Die(F work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it lived";
}

class Programs : public testing::Test {
 protected:
  std::shared_ptr<ProgramCache> Cache() const {
    return ProgramCache::Open({.folder = folder_.path()}).value();
  }
  /// A device of a new process, as far as it can tell.
  std::shared_ptr<OpenClDevice> Open(const std::string& driver = "1.0") {
    return fake_.Open(Cache(), driver);
  }
  Status BuildOn(const OpenClDevice& device) {
    return device.BuildKernel(kDoubleSource, "double").status();
  }
  Status Launch(const OpenClDevice& device) {
    ASSIGN_OR_RETURN(const auto kernel, device.BuildKernel(kDoubleSource, "double"));
    ASSIGN_OR_RETURN(const auto stream, OpenClStream::Create(device.shared_from_this()));
    return stream->Launch(*kernel, {.gws = {8, 1, 1}}, {});
  }
  void DieBuilding() {
    Die([&] {
      fake_.dies_in_build = true;
      (void)BuildOn(*Open()).ok();
    });
  }
  void DieLaunching() {
    Die([&] {
      fake_.dies_in_launch = true;
      (void)Launch(*Open()).ok();
    });
  }
  size_t Markers() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder_.file("in_flight")))
      ++count;
    return count;
  }

  TestFolder folder_;
  FakeOpenCl fake_;
};

TEST_F(Programs, AreBuiltOncePerDeviceAndOncePerCache) {
  const auto device = Open();
  EXPECT_TRUE(BuildOn(*device).ok() && BuildOn(*device).ok());
  EXPECT_EQ(device->programs().statistics().built, 1);
  const auto second = Open();
  EXPECT_TRUE(BuildOn(*second).ok());
  EXPECT_EQ(second->programs().statistics().built, 0);
  EXPECT_EQ(second->programs().statistics().from_cache, 1);
  EXPECT_EQ(fake_.builds, 1);
}

TEST_F(Programs, AreBuiltWithoutWarnings) {
  ASSERT_TRUE(BuildOn(*fake_.Open()).ok());
  EXPECT_EQ(fake_.build_options, "-DTILE=4 -w");
}

TEST_F(Programs, WithoutACacheAreBuiltByEachDevice) {
  EXPECT_TRUE(BuildOn(*fake_.Open()).ok() && BuildOn(*fake_.Open()).ok());
  EXPECT_EQ(fake_.builds, 2);
}

TEST_F(Programs, AreBuiltAgainForAnotherDriver) {
  EXPECT_TRUE(BuildOn(*Open()).ok() && BuildOn(*Open("2.0")).ok());
  EXPECT_EQ(fake_.builds, 2);
}

TEST_F(Programs, AreBuiltAgainWhereTheDriverRefusesTheBinary) {
  EXPECT_TRUE(BuildOn(*Open()).ok());
  fake_.takes_binaries = false;
  const auto device = Open();
  EXPECT_TRUE(BuildOn(*device).ok());
  EXPECT_EQ(device->programs().statistics().built, 1);
}

TEST_F(Programs, FailedBuildsAreRememberedWithTheirLog) {
  fake_.build_result = CL_BUILD_PROGRAM_FAILURE;
  const Status first = BuildOn(*Open()), second = BuildOn(*Open());
  EXPECT_EQ(fake_.builds, 1);
  EXPECT_EQ(second.code(), StatusCode::kBuildFailed);
  EXPECT_THAT(second.message(), HasSubstr("'double': failed to build before: options '-DTILE=4'"));
  EXPECT_THAT(second.message(), HasSubstr("the log of the compiler"));
  fake_.build_result = CL_SUCCESS;
  EXPECT_TRUE(BuildOn(*Open("2.0")).ok());
}

TEST_F(Programs, FailuresOfMemoryAreNotRemembered) {
  fake_.build_result = CL_OUT_OF_HOST_MEMORY;
  EXPECT_EQ(BuildOn(*Open()).code(), StatusCode::kBuildFailed);
  fake_.build_result = CL_SUCCESS;
  EXPECT_TRUE(BuildOn(*Open()).ok());
}

TEST_F(Programs, OfAPackageAreTakenWithAnEmptyCache) {
  const auto device = fake_.Open();
  ASSERT_TRUE(BuildOn(*device).ok());
  const std::vector<ProgramBinary> binaries = device->programs().Export();
  ASSERT_EQ(binaries.size(), 1u);
  const auto second = Open();
  second->programs().Import(binaries);
  EXPECT_TRUE(Launch(*second).ok());
  EXPECT_EQ(second->programs().statistics().from_package, 1);
  EXPECT_EQ(second->programs().statistics().built, 0);
  const auto other_driver = fake_.Open(nullptr, "2.0");
  other_driver->programs().Import(binaries);
  EXPECT_TRUE(BuildOn(*other_driver).ok());
  EXPECT_EQ(other_driver->programs().statistics().built, 1);
  EXPECT_EQ(other_driver->programs().statistics().from_package, 0);
}

TEST_F(Programs, OfAPackageAreNotWatchedOnceTheyRan) {
  const auto device = fake_.Open();
  ASSERT_TRUE(BuildOn(*device).ok());
  const std::vector<ProgramBinary> binaries = device->programs().Export();
  for (const bool is_first : {true, false}) {
    const auto started = Open();
    started->programs().Import(binaries);
    const auto kernel = started->BuildKernel(kDoubleSource, "double");
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ((*kernel)->program().watched(), is_first);
    EXPECT_TRUE(Launch(*started).ok());
    EXPECT_EQ(started->programs().statistics().from_package, is_first ? 1 : 0);
    EXPECT_EQ(started->programs().statistics().from_cache, is_first ? 0 : 1);
  }
}

TEST_F(Programs, LeaveNoMarkersWhereAllGoesWell) {
  EXPECT_TRUE(Launch(*Open()).ok());
  fake_.build_result = CL_BUILD_PROGRAM_FAILURE;
  EXPECT_FALSE(BuildOn(*Open("2.0")).ok());
  EXPECT_EQ(Markers(), 0u);
}

TEST_F(Programs, TheFirstLaunchEverIsWaitedForAndNoOther) {
  const auto device = Open();
  EXPECT_TRUE(Launch(*device).ok());
  EXPECT_TRUE(fake_.commands.front().finished);
  const auto second = Open();
  const auto stream = OpenClStream::Create(second).value();
  const auto kernel = second->BuildKernel(kDoubleSource, "double").value();
  EXPECT_TRUE(stream->Launch(*kernel, {.gws = {8, 1, 1}}, {}).ok());
  EXPECT_FALSE(fake_.commands.back().finished);
}

TEST_F(Programs, ThatCrashTheCompilerAreTriedTwiceThenRefused) {
  DieBuilding();
  EXPECT_EQ(Markers(), 1u);
  DieBuilding();
  fake_.dies_in_build = true;  // would take this process down
  const Status status = BuildOn(*Open());
  EXPECT_EQ(status.code(), StatusCode::kBuildFailed);
  EXPECT_THAT(status.message(), HasSubstr("program 'double': 2 processes died while building or "
                                          "first launching it with this driver; not tried again"));
  fake_.dies_in_build = false;
  EXPECT_TRUE(BuildOn(*Open("2.0")).ok());
}

TEST_F(Programs, OneCrashIsForgivenAfterALaunch) {
  DieBuilding();
  EXPECT_TRUE(Launch(*Open()).ok());
  EXPECT_EQ(Markers(), 0u);
  fs::remove_all(folder_.path());
  DieBuilding();
  EXPECT_TRUE(BuildOn(*Open()).ok());
}

TEST_F(Programs, ThatCrashWhenLaunchedAreRefusedToo) {
  DieLaunching();
  DieLaunching();
  EXPECT_EQ(Launch(*Open()).code(), StatusCode::kBuildFailed);
}

TEST_F(Programs, ThatHangAreRefusedOnceTheyWereKilledTwice) {
  const std::string folder = Cache()->flight_folder();
  const std::string key =
      ProgramKey(kDoubleSource.text, kDoubleSource.options, Open()->fingerprint());
  for (int deaths = 0; deaths < 2; ++deaths) {
    const pid_t child = ::fork();
    if (child == 0) {
      fake_.hangs_in_build = true;
      (void)BuildOn(*Open()).ok();
      ::_exit(0);
    }
    const auto flies = [](const auto& file) { return file.path().extension() == ".flight"; };
    const auto any_flies = [&] {
      return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(), flies);
    };
    while (!any_flies()) ::usleep(1000);
    EXPECT_EQ(InFlight::Crashes(folder, key), deaths);  // it lives
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(InFlight::Crashes(folder, key), deaths + 1);
  }
  EXPECT_THAT(BuildOn(*Open()).message(), HasSubstr("2 processes died"));
}

TEST_F(Programs, OfALivingProcessAreNoCrash) {
  const std::string folder = Cache()->flight_folder();
  const auto marker = InFlight::Begin(folder, "key");
  ASSERT_NE(marker, nullptr);
  EXPECT_EQ(InFlight::Crashes(folder, "key"), 0);
}

TEST_F(Programs, AreBuiltWhereTheCacheIsUnwritable) {
  const auto cache = Cache();
  fs::remove_all(folder_.path());
  std::ofstream(folder_.path()) << "a file where the folder was";
  const auto device = fake_.Open(cache);
  EXPECT_TRUE(Launch(*device).ok());
  EXPECT_EQ(device->programs().statistics().built, 1);
}

TEST_F(Programs, ALostDeviceIsReportedAndNoCrash) {
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  const Status status = Launch(*Open());
  EXPECT_EQ(status.code(), StatusCode::kDeviceError);
  EXPECT_THAT(status.message(), HasSubstr("CL_OUT_OF_RESOURCES (-5)"));
  EXPECT_EQ(Markers(), 0u);
}

TEST_F(Programs, AFailedAllocationIsOutOfMemory) {
  fake_.allocation_result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  const Status status = fake_.Open()->Allocate({.kind = MemoryKind::kBuffer, .bytes = 64}).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("allocating 64 bytes"));
}

TEST_F(Programs, UploadsAreWrittenToADeviceWithMemoryOfItsOwn) {
  const auto owner = std::make_shared<std::vector<std::byte>>(64, std::byte{7});
  const std::shared_ptr<const std::byte> bytes(owner, owner->data());
  const auto device = fake_.Open();
  const auto memory = device->Upload(bytes, 64);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  std::vector<std::byte> read(64);
  ASSERT_TRUE(OpenClStream::Create(device).value()->Read(read.data(), **memory, 0, 64).ok());
  EXPECT_EQ(read, *owner);
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  const int objects = fake_.live_objects;
  const Status lost = device->Upload(bytes, 64).status();
  EXPECT_EQ(lost.code(), StatusCode::kDeviceError);
  EXPECT_THAT(lost.message(), HasSubstr("uploading 64 bytes"));
  EXPECT_EQ(fake_.live_objects, objects);
}

using ProgramsOnADevice = OpenClTest;

TEST_F(ProgramsOnADevice, ComeBackFromTheCacheAndFromAPackage) {
  const TestFolder folder;
  std::vector<ProgramBinary> binaries;
  for (int start = 0; start < 2; ++start) {
    const auto cache = ProgramCache::Open({.folder = folder.path()}).value();
    const auto device = OpenAgain({.cache = cache}).value();
    const auto kernel = device->BuildKernel(ScaleProgram(), "scale");
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    EXPECT_EQ(device->programs().statistics().from_cache, start);
    binaries = device->programs().Export();
  }
  const auto device = OpenAgain({}).value();
  device->programs().Import(binaries);
  const auto kernel = device->BuildKernel(ScaleProgram(), "scale").value();
  EXPECT_EQ(device->programs().statistics().from_package, 1);
  const auto stream = OpenClStream::Create(device).value();
  const auto buffer = device->Allocate({.kind = MemoryKind::kBuffer, .bytes = 64}).value();
  ASSERT_TRUE(stream->Launch(*kernel, {.gws = {16, 1, 1}}, {buffer->location(), 2.0f, 16}).ok());
  std::vector<float> values(16);
  ASSERT_TRUE(stream->Read(values.data(), *buffer, 0, 64).ok());
  EXPECT_EQ(values[15], 30);
}

}  // namespace
}  // namespace fettle
