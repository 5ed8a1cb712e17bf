// What is asked of the CUDA driver, by a driver that writes it down.
#include <gtest/gtest.h>

#include <cstring>

#include "device/cuda/copies.h"
#include "device/cuda/memory.h"
#include "device/cuda/queue_copies.h"

namespace fettle::cuda {
namespace {

/// Of the one driver there is: its functions have no state of their own.
struct Driver {
  std::vector<std::string> said;
  int modules = 0, contexts = 0, mapped = 0, failing_launch = -1;
  std::mutex mutex;
};
Driver driver;

void Say(std::string text) {
  const std::lock_guard lock(driver.mutex);
  driver.said.push_back(std::move(text));
}

template <typename T>
T Handle(uintptr_t value) {
  return reinterpret_cast<T>(value);
}

void AddLaunches(Api& api) {
  api.StreamCreate = [](Stream* stream, unsigned) { return *stream = Handle<Stream>(1), 0; };
  api.StreamDestroy = [](Stream) { return 0; };
  api.StreamSynchronize = [](Stream) { return Say("wait"), 0; };
  api.StreamBeginCapture = [](Stream, int) { return Say("begin"), 0; };
  api.StreamEndCapture = [](Stream, Graph* graph) {
    return Say("end"), *graph = Handle<Graph>(3), 0;
  };
  api.LaunchKernel = [](Function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
                        unsigned bz, unsigned bytes, Stream, void** parameters, void**) -> Result {
    Address address = 0;
    int value = 0;
    std::memcpy(&address, parameters[0], sizeof(address));
    std::memcpy(&value, parameters[1], sizeof(value));
    Say(fmt::format("launch {}x{}x{} of {}x{}x{}, {} bytes: {:#x} {}", x, y, z, bx, by, bz, bytes,
                    address, value));
    return value == driver.failing_launch ? 701 : 0;
  };
  api.CopyToDeviceAsync = [](Address to, const void* from, size_t bytes, Stream) {
    return Say(fmt::format("write {:#x}: {}", to,
                           std::string(static_cast<const char*>(from), bytes))),
           0;
  };
  api.CopyToHostAsync = [](void* to, Address from, size_t bytes, Stream) {
    std::memset(to, 'r', bytes);
    return Say(fmt::format("read {:#x}", from)), 0;
  };
  api.EventCreate = [](Event* event, unsigned) { return *event = Handle<Event>(6), 0; };
  api.EventRecord = [](Event, Stream) { return Say("mark"), 0; };
  api.EventSynchronize = [](Event) { return Say("wait for a mark"), 0; };
  api.EventDestroy = [](Event) { return 0; };
  api.GraphInstantiate = [](GraphExec* ready, Graph, unsigned long long) {
    return *ready = Handle<GraphExec>(4), 0;
  };
  api.GraphLaunch = [](GraphExec, Stream) { return Say("replay"), 0; };
  api.GraphExecDestroy = [](GraphExec) { return 0; };
  api.GraphDestroy = [](Graph) { return 0; };
}

void AddMemory(Api& api) {
  api.MemGranularity = [](size_t* page, const AllocationProperties*, int) {
    return *page = 2 << 20, 0;
  };
  api.MemCreate = [](cuda::Handle* handle, size_t bytes, const AllocationProperties*,
                     unsigned long long) { return *handle = 9, bytes > (1u << 30) ? 2 : 0; };
  api.MemRelease = [](cuda::Handle) { return Say("release"), 0; };
  api.MemReserve = [](Address* address, size_t, size_t, Address, unsigned long long) {
    return *address = 0x1000, 0;
  };
  api.MemAddressFree = [](Address, size_t) { return 0; };
  api.MemMap = [](Address, size_t, size_t, cuda::Handle, unsigned long long) {
    return ++driver.mapped, 0;
  };
  api.MemUnmap = [](Address, size_t) { return --driver.mapped, 0; };
  api.MemSetAccess = [](Address, size_t, const AccessDescription*, size_t) { return 0; };
  api.MemExport = [](void* file, cuda::Handle, int, unsigned long long) {
    const int number = 42;
    std::memcpy(file, &number, sizeof(number));
    return 0;
  };
}

void AddCopies(Api& api) {
  static char host[4096];
  api.MemAllocHost = [](void** made, size_t bytes) {
    Say(fmt::format("host memory of {}", bytes));
    return *made = host, bytes > sizeof(host) ? 2 : 0;
  };
  api.MemFreeHost = [](void*) { return Say("free host memory"), 0; };
  api.CopyToDevice = [](Address to, const void*, size_t bytes) {
    return Say(fmt::format("{} bytes to {:#x}", bytes, to)), 0;
  };
  api.CopyFromDevice = [](void*, Address from, size_t bytes) {
    return Say(fmt::format("{} bytes from {:#x}", bytes, from)), from == 0xbad ? 700 : 0;
  };
}

Api FakeApi() {
  Api api;
  api.GetErrorName = [](Result, const char** name) { return *name = "ERROR", 0; };
  api.DeviceGetCount = [](int* count) { return *count = 2, 0; };
  api.DeviceGet = [](Device* device, int i) { return *device = i, 0; };
  api.DeviceGetUuid = [](Uuid* uuid, Device device) {
    std::memset(uuid, device + 1, sizeof(*uuid));
    return 0;
  };
  api.PrimaryContextRetain = [](Context* made, Device device) {
    ++driver.contexts;
    return *made = Handle<Context>(100 + device), 0;
  };
  api.PrimaryContextRelease = [](Device) { return --driver.contexts, 0; };
  api.ContextPush = [](Context) { return 0; };
  api.ContextPop = [](Context*) { return 0; };
  api.ContextSynchronize = [] { return Say("wait for all"), 0; };
  api.ModuleLoadData = [](Module* module, const void* text) {
    const std::lock_guard lock(driver.mutex);
    if (std::string_view(static_cast<const char*>(text)).find("broken") != std::string_view::npos)
      return 200;
    return *module = Handle<Module>(++driver.modules), 0;
  };
  api.ModuleUnload = [](Module) { return --driver.modules, 0; };
  api.ModuleGetFunction = [](Function* function, Module, const char* name) {
    Say(fmt::format("function {}", name));
    return *function = Handle<Function>(7), 0;
  };
  api.FunctionSetAttribute = [](Function, int attribute, int value) {
    return Say(fmt::format("attribute {} {}", attribute, value)), 0;
  };
  AddLaunches(api);
  AddMemory(api);
  AddCopies(api);
  return api;
}

class CudaGraphs : public testing::Test {
 protected:
  CudaGraphs() {
    driver.said.clear();
    driver.modules = driver.contexts = driver.mapped = 0;
    driver.failing_launch = -1;
    Uuid uuid{};
    std::memset(&uuid, 2, sizeof(uuid));
    context_ = *PrimaryContext::Open(uuid, api_);
    modules_ = std::make_shared<Modules>(context_);
    auto queue = Queue::Create(modules_);
    queue_ = std::move(*queue);
  }
  /// A launch of a program of that text, with an address and a number.
  static Launch Of(std::string_view program, std::string_view body, int value) {
    Launch launch{.program = program, .function = "f", .groups = {5, 1, 2}, .items = {64, 2, 1}};
    launch.ptx = [body] {
      const std::string text = fmt::format(
          "//\n.version 9.0\n.target sm_90\n.address_size 64\n.entry f(\n)\n{{{}}}\n", body);
      const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const Address address = 0xabc0;
    launch.parameters.resize(2);
    std::memcpy(launch.parameters[0].data(), &address, sizeof(address));
    std::memcpy(launch.parameters[1].data(), &value, sizeof(value));
    return launch;
  }

  const Api api_ = FakeApi();
  std::shared_ptr<PrimaryContext> context_;
  std::shared_ptr<Modules> modules_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(CudaGraphs, RecordsLaunchesInOrderAndReplaysThem) {
  const Launch launches[] = {Of("one", "", 1), Of("two", "\t.shared .align 4 .b8 f_x[65536];\n", 2),
                             Of("one", "", 3)};
  const auto graph = queue_->Record(launches);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(driver.modules, 2);
  const std::vector<std::string> recorded = {"begin",
                                             "function f",
                                             "launch 5x1x2 of 64x2x1, 0 bytes: 0xabc0 1",
                                             "function f",
                                             "attribute 8 65536",
                                             "launch 5x1x2 of 64x2x1, 65536 bytes: 0xabc0 2",
                                             "launch 5x1x2 of 64x2x1, 0 bytes: 0xabc0 3",
                                             "end"};
  EXPECT_EQ(driver.said, recorded);
  driver.said.clear();
  EXPECT_TRUE(queue_->Wait().ok());
  EXPECT_EQ(driver.said, std::vector<std::string>());  // nothing was launched
  EXPECT_TRUE((*graph)->Launch().ok());
  EXPECT_TRUE((*graph)->Launch().ok());
  EXPECT_TRUE(queue_->Wait().ok());
  EXPECT_EQ(driver.said, (std::vector<std::string>{"replay", "replay", "wait"}));
}

TEST_F(CudaGraphs, LaunchesAndCopiesGoBehindWhatIsReplayed) {
  const Launch launches[] = {Of("one", "", 1)};
  const auto graph = queue_->Record(launches);
  driver.said.clear();
  EXPECT_TRUE(queue_->Write(0x10, "abc", 3).ok());
  EXPECT_TRUE((*graph)->Launch().ok());
  EXPECT_TRUE(queue_->Launch(Of("one", "", 5)).ok());
  std::string text(2, ' ');
  EXPECT_TRUE(queue_->Read(text.data(), 0x20, 2).ok());
  EXPECT_EQ(text, "rr");
  EXPECT_TRUE(queue_->Wait().ok());  // nothing is left
  EXPECT_EQ(driver.said, (std::vector<std::string>{"write 0x10: abc", "replay",
                                                   "launch 5x1x2 of 64x2x1, 0 bytes: 0xabc0 5",
                                                   "read 0x20", "wait"}));
  EXPECT_EQ(driver.modules, 1);
}

TEST_F(CudaGraphs, LargeTransfersGoByPinnedMemory) {
  Staging staging(std::make_unique<QueueCopies>(*queue_), nullptr);
  ASSERT_TRUE(staging.Reserve(3));
  const std::string_view text = "xyz";
  ASSERT_TRUE(staging.Write(QueueCopies::At(0x30), std::as_bytes(std::span(text)).data(), 3).ok());
  std::array<char, 3> back{};
  ASSERT_TRUE(
      staging.Read(reinterpret_cast<std::byte*>(back.data()), QueueCopies::At(0x40), 3).ok());
  EXPECT_EQ(std::string_view(back.data(), 3), "rrr");
  EXPECT_EQ(driver.said,
            (std::vector<std::string>{"host memory of 3", "write 0x30: xyz", "mark",
                                      "wait for a mark", "read 0x40", "mark", "wait for a mark"}));
}

TEST_F(CudaGraphs, AProgramThatIsNoPtxIsRefusedBeforeItsLaunch) {
  Launch launch = Of("other", "", 1);
  launch.ptx = [] { return std::vector<std::byte>(4); };
  const Status status = queue_->Launch(launch);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(driver.said, std::vector<std::string>());
}

TEST_F(CudaGraphs, ARefusedLaunchEndsTheRecording) {
  driver.failing_launch = 1;
  const Launch launches[] = {Of("one", "", 1), Of("one", "", 2)};
  const auto graph = queue_->Record(launches);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), "CUDA: f: ERROR (701)");
  EXPECT_EQ(driver.said.back(), "end");
}

TEST_F(CudaGraphs, ABrokenProgramIsSaidBeforeAnythingIsRecorded) {
  const Launch launches[] = {Of("one", "", 1), Of("two", "broken", 2)};
  EXPECT_FALSE(queue_->Record(launches).ok());
  EXPECT_EQ(driver.said, std::vector<std::string>());
}

TEST_F(CudaGraphs, ADeviceThatCudaLacksIsNotOpened) {
  Uuid uuid{};
  std::memset(&uuid, 9, sizeof(uuid));
  const auto context = PrimaryContext::Open(uuid, api_);
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.status().code(), StatusCode::kDeviceUnavailable);
}

TEST_F(CudaGraphs, MemoryIsWholePagesAndEndsAfterAllLaunches) {
  auto memory = Memory::Allocate(context_, 100);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ((*memory)->bytes(), 2 << 20);
  EXPECT_EQ((*memory)->address(), 0x1000u);
  EXPECT_EQ(*(*memory)->Export(), 42);
  driver.said.clear();
  memory->reset();
  EXPECT_EQ(driver.said, (std::vector<std::string>{"wait for all", "release"}));
  EXPECT_EQ(driver.mapped, 0);
}

TEST_F(CudaGraphs, MemoryThatIsNotThereIsSaid) {
  const auto memory = Memory::Allocate(context_, int64_t{1} << 31);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(driver.mapped, 0);
}

TEST_F(CudaGraphs, ProgramsAndContextsAreGivenBack) {
  {
    const Launch launches[] = {Of("one", "", 1)};
    ASSERT_TRUE(queue_->Record(launches).ok());
  }
  queue_.reset();
  modules_.reset();
  EXPECT_EQ(driver.modules, 0);
  context_.reset();
  EXPECT_EQ(driver.contexts, 0);
}

TEST_F(CudaGraphs, HostMemoryOfCopiesIsKept) {
  {
    const auto copies = std::make_shared<Copies>(context_);
    std::byte* first = nullptr;
    {
      const auto memory = copies->HostMemory(100);
      first = memory.get();
      EXPECT_TRUE(copies->ToDevice(0x10, memory.get(), 100).ok());
      EXPECT_NE(copies->HostMemory(9000).get(), first);  // not the driver's
    }
    EXPECT_EQ(copies->HostMemory(3000).get(), first);
    EXPECT_EQ(copies->FromDevice(first, 0xbad, 8).message(),
              "CUDA: copying from the device: ERROR (700)");
  }
  EXPECT_EQ(driver.said, (std::vector<std::string>{"host memory of 4096", "100 bytes to 0x10",
                                                   "host memory of 9000", "8 bytes from 0xbad",
                                                   "free host memory"}));
}

}  // namespace
}  // namespace fettle::cuda
