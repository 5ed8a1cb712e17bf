// A damaged cache, a full disk and several processes at once, seen from a device: programs come out
// right by the next best way.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "device/opencl/mapping.h"
#include "tests/device/fake_opencl.h"
#include "tests/device/opencl_fixture.h"
#include "tests/test_folder.h"

namespace fettle {
namespace {

namespace fs = std::filesystem;

class Faults : public testing::Test {
 protected:
  std::shared_ptr<OpenClDevice> Open() {
    return fake_.Open(ProgramCache::Open({.folder = folder_.path()}).value());
  }
  /// The statistics of a device that builds `count` programs; fails where one cannot be had.
  Result<ProgramStatistics> BuildAll(int count) {
    const auto device = Open();
    for (int i = 0; i < count; ++i)
      RETURN_IF_ERROR(device->BuildKernel({"k", std::to_string(i), ""}, "k").status());
    return device->programs().statistics();
  }
  fs::path OnlyEntry() const {
    for (const auto& file : fs::directory_iterator(folder_.path()))
      if (file.path().extension() == ".program") return file.path();
    return {};
  }
  /// The exit code of a process that does `work`.
  template <typename F>
  static int InAProcess(F work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    return WaitFor(child);
  }
  static int WaitFor(pid_t child) {
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TestFolder folder_;
  FakeOpenCl fake_;
};

TEST_F(Faults, ADamagedEntryIsBuiltAgainAndMended) {
  ASSERT_TRUE(BuildAll(1).ok());
  const fs::path entry = OnlyEntry();
  std::ifstream file(entry, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::minstd_rand random(3);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = whole;
    // Not in the last word of the header, which is no part of what is checked.
    const size_t at = random() % 48;
    if (i % 2 == 0) damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    if (i % 2 == 1) damaged.resize(at);
    std::ofstream(entry, std::ios::binary) << damaged;
    const auto again = BuildAll(1);
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_EQ(again->built, 1) << "place " << at;
    ASSERT_EQ(BuildAll(1)->from_cache, 1) << "place " << at;
  }
}

TEST_F(Faults, AFullDiskCostsTheCacheOnly) {
  const int code = InAProcess([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{20, 20};  // no file grows beyond 20 bytes
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto all = BuildAll(5);
    return all.ok() && all->built == 5 ? 42 : 1;
  });
  EXPECT_EQ(code, 42);
  EXPECT_EQ(OnlyEntry(), fs::path());
  EXPECT_EQ(BuildAll(5)->built, 5);
  EXPECT_EQ(BuildAll(5)->from_cache, 5);
}

TEST_F(Faults, ProcessesBuildTheSameProgramsAtTheSameTime) {
  constexpr int kProcesses = 4, kPrograms = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    const auto all = BuildAll(kPrograms);
    ::_exit(all.ok() && all->built + all->from_cache == kPrograms ? 42 : 1);
  }
  for (const pid_t child : children) EXPECT_EQ(WaitFor(child), 42);
  EXPECT_EQ(BuildAll(kPrograms)->from_cache, kPrograms);
}

TEST_F(Faults, AFolderThatGoesAwayCostsTheCacheOnly) {
  const auto device = Open();
  fs::remove_all(folder_.path());
  EXPECT_TRUE(device->BuildKernel({"k", "text", ""}, "k").ok());
}

TEST_F(Faults, ALostDeviceFailsEveryWaitUntilTheEnd) {
  const auto device = fake_.Open();
  const auto stream = OpenClStream::Create(device, {.queue_window = 2}).value();
  const auto kernel = device->BuildKernel({"k", "text", ""}, "k").value();
  ASSERT_TRUE(stream->Launch(*kernel, {}, {}).ok());
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(stream->Launch(*kernel, {}, {}).code(), StatusCode::kDeviceError);
  EXPECT_EQ(stream->Synchronise().code(), StatusCode::kDeviceError);
  EXPECT_EQ(stream->Synchronise().message(),
            "OpenCL: waiting for the device: CL_OUT_OF_RESOURCES (-5)");
}

TEST_F(Faults, AFailedMapLeavesNothingMapped) {
  const auto device = fake_.Open();
  const auto stream = OpenClStream::Create(device).value();
  const State state{.device = DeviceKind::kOpenCl, .memory = MemoryKind::kBuffer};
  const DeviceTensor tensor{device->Allocate(RequestFor({4}, state)).value(), 0, {4}, state};
  for (const auto& [result, expected] :
       {std::pair(CL_MAP_FAILURE, StatusCode::kDeviceError),
        std::pair(CL_OUT_OF_HOST_MEMORY, StatusCode::kOutOfMemory)}) {
    fake_.map_result = result;
    const Status failed = stream->Map(tensor, {}, MapAccess::kRead).status();
    EXPECT_EQ(failed.code(), expected);
    EXPECT_THAT(failed.message(), testing::HasSubstr("OpenCL: mapping a buffer"));
    EXPECT_FALSE(device->mapped().any());
  }
  fake_.map_result = CL_SUCCESS;
  EXPECT_TRUE(stream->Map(tensor, {}, MapAccess::kWrite).ok());
  EXPECT_FALSE(device->mapped().any());
}

}  // namespace
}  // namespace fettle
