// Bytes of the host on their way to a device with memory of its own, and back: in pieces, through
// pinned memory.
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "device/cpu/cpu_device.h"
#include "device/staging.h"
#include "tensor/tensor.h"
#include "tests/device/fake_opencl.h"
#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

constexpr int64_t kPiece = Staging::kPiece;
constexpr int64_t kSlots = Staging::kSlots;
/// Around one and all pieces of the ring, and what does not go through it.
constexpr int64_t kSizes[] = {1,          100'000,        kPiece - 1,         kPiece,
                              kPiece + 1, kSlots* kPiece, kSlots* kPiece + 1, 9 * kPiece + 5};

std::vector<std::byte> Bytes(int64_t count, unsigned seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((seed = seed * 1664525 + 1) >> 24);
  return bytes;
}

class StagingTest : public OpenClTest {
 protected:
  void SetUp() override {
    OpenClTest::SetUp();
    if (IsSkipped()) return;
    device_ = OpenAgain({.own_memory = true}).value();
    stream_ = NewStream({.share_out = ShareOutBy(pool_)});
  }
  /// Writes bytes that change as soon as that returns, and reads them.
  static void ThereAndBack(OpenClStream& stream, const DeviceMemory& memory, int64_t offset,
                           const std::vector<std::byte>& bytes) {
    const auto size = std::ssize(bytes);
    std::vector<std::byte> host = bytes;
    ASSERT_TRUE(stream.Write(memory, offset, host.data(), size).ok());
    std::fill(host.begin(), host.end(), std::byte{0});
    ASSERT_TRUE(stream.Read(host.data(), memory, offset, size).ok());
    ASSERT_TRUE(host == bytes) << size << " bytes";
  }

  ThreadPool pool_{3};
};

TEST_F(StagingTest, BringsAnyNumberOfBytesThereAndBack) {
  const auto memory = NewBuffer(9 * kPiece + 100);
  const auto alone = NewStream({});
  const std::vector<std::byte> around = Bytes(9 * kPiece + 100, 1);
  for (OpenClStream* stream : {stream_.get(), alone.get()}) {
    for (int64_t size : kSizes) {
      ASSERT_TRUE(stream->Write(*memory, 0, around.data(), std::ssize(around)).ok());
      const std::vector<std::byte> bytes = Bytes(size, static_cast<unsigned>(size));
      ThereAndBack(*stream, *memory, 12, bytes);
      std::vector<std::byte> want = around, got(around.size());
      std::memcpy(want.data() + 12, bytes.data(), bytes.size());
      ASSERT_TRUE(stream->Read(got.data(), *memory, 0, std::ssize(got)).ok());
      EXPECT_TRUE(got == want) << size << " bytes";
    }
  }
}

TEST_F(StagingTest, KeepsTheOrderOfWritesAndLaunches) {
  const auto kernel = device_
                          ->BuildKernel({"add",
                                         "__kernel void add(__global int* out) {\n"
                                         "  out[get_global_id(0)] += 1;\n}\n",
                                         ""},
                                        "add")
                          .value();
  constexpr size_t kCount = 3 * kPiece / sizeof(int) + 7;
  const int64_t size = kCount * sizeof(int);
  const auto memory = NewBuffer(size);
  std::vector<int> values(kCount), got(kCount);
  for (int round = 0; round < 3; ++round) {
    std::iota(values.begin(), values.end(), 1000 * round);
    ASSERT_TRUE(stream_->Write(*memory, 0, values.data(), size).ok());
    ASSERT_TRUE(stream_->Launch(*kernel, {.gws = {kCount, 1, 1}}, {memory->base()}).ok());
    ASSERT_TRUE(stream_->Write(*memory, 0, values.data(), kPiece).ok());
    ASSERT_TRUE(stream_->Read(got.data(), *memory, 0, size).ok());
    for (size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(got[i], values[i] + (i < kPiece / sizeof(int) ? 0 : 1)) << i;
  }
}

TEST_F(StagingTest, IsOneForEachOfSeveralStreamsAtOnce) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      const auto stream = NewStream({.share_out = ShareOutBy(pool_)});
      const auto memory = NewBuffer(6 * kPiece);
      for (unsigned round = 0; round < 6; ++round)
        ThereAndBack(*stream, *memory, 0, Bytes((round + 1) * kPiece - t, 10 * t + round));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StagingTest, PinnedMemoryIsKnownByAllItsBytes) {
  const std::shared_ptr<std::byte> pinned = device_->AllocateForTransfers(1000);
  ASSERT_NE(pinned, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pinned.get()) % kTensorAlignment, 0u);
  EXPECT_TRUE(device_->IsPinned(pinned.get(), 1000));
  EXPECT_TRUE(device_->IsPinned(pinned.get() + 999, 1));
  EXPECT_FALSE(device_->IsPinned(pinned.get() + 999, 2));
  EXPECT_FALSE(device_->IsPinned(pinned.get() - 1, 2));
  const std::vector<std::byte> other(10);
  EXPECT_FALSE(device_->IsPinned(other.data(), 10));
}

TEST_F(StagingTest, NoMoreIsPinnedThanTheSystemCanSpare) {
  constexpr int64_t kMost = PinnedPool::kMost;
  std::shared_ptr<std::byte> half = device_->AllocateForTransfers(kMost / 2);
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(device_->AllocateForTransfers(kMost / 2 + 1), nullptr);
  half.reset();
  EXPECT_NE(device_->AllocateForTransfers(kMost / 2 + 1), nullptr);
}

TEST_F(StagingTest, PinnedMemoryOutlivesItsDevice) {
  const int64_t size = 2 * kPiece;
  const std::vector<std::byte> bytes = Bytes(size, 5);
  std::shared_ptr<std::byte> pinned = device_->AllocateForTransfers(size);
  ASSERT_NE(pinned, nullptr);
  const auto memory = NewBuffer(size);
  ASSERT_TRUE(stream_->Write(*memory, 0, bytes.data(), size).ok());
  ASSERT_TRUE(stream_->Read(pinned.get(), *memory, 0, size).ok());
  stream_.reset();
  device_.reset();
  EXPECT_EQ(std::memcmp(pinned.get(), bytes.data(), bytes.size()), 0);
  std::memset(pinned.get(), 1, bytes.size());
}

TEST_F(StagingTest, IsNotWhereTheHostMaps) {
  const auto shared = OpenAgain({}).value();
  if (!shared->facts().unified_memory) GTEST_SKIP() << "the device has memory of its own";
  EXPECT_EQ(shared->AllocateForTransfers(1000), nullptr);
}

/// No command of this driver runs before somebody waits for it.
class StagingFaults : public testing::Test {
 protected:
  void Open() {
    device_ = fake_.Open();
    stream_ = OpenClStream::Create(device_).value();
    memory_ = device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = 16 * kPiece}).value();
  }
  Status Write(int64_t size) {
    const std::vector<std::byte> bytes = Bytes(size, 3);
    return stream_->Write(*memory_, 0, bytes.data(), size);
  }
  std::vector<std::byte> Read(int64_t size) {
    std::vector<std::byte> bytes(static_cast<size_t>(size));
    EXPECT_TRUE(stream_->Read(bytes.data(), *memory_, 0, size).ok());
    return bytes;
  }

  FakeOpenCl fake_;
  std::shared_ptr<OpenClDevice> device_;
  std::unique_ptr<OpenClStream> stream_;
  std::shared_ptr<DeviceMemory> memory_;
};

TEST_F(StagingFaults, NoPlaceIsTakenWhileItsBytesTravel) {
  Open();
  const int64_t size = 11 * kPiece + 3;
  ASSERT_TRUE(Write(size).ok());
  EXPECT_EQ(fake_.commands.size(), 12u);
  EXPECT_EQ(fake_.most_unfinished, static_cast<size_t>(kSlots));
  EXPECT_TRUE(Read(size) == Bytes(size, 3));
}

TEST_F(StagingFaults, ALostDeviceIsAnError) {
  Open();
  ASSERT_TRUE(Write(kPiece).ok());
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(Write(6 * kPiece).code(), StatusCode::kDeviceError);
  std::vector<std::byte> bytes(kPiece);
  EXPECT_EQ(stream_->Read(bytes.data(), *memory_, 0, kPiece).code(), StatusCode::kDeviceError);
  stream_.reset();
  memory_.reset();
  device_.reset();
  EXPECT_EQ(fake_.live_objects, 0);
}

TEST_F(StagingFaults, NothingReadsIntoPinnedMemoryAfterAFailure) {
  Open();
  const std::shared_ptr<std::byte> pinned = device_->AllocateForTransfers(100);
  ASSERT_NE(pinned, nullptr);
  fake_.wait_result = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(stream_->Read(pinned.get(), *memory_, 0, 100).code(), StatusCode::kDeviceError);
  pinned.get()[5] = std::byte{7};
  stream_.reset();
  EXPECT_EQ(pinned.get()[5], std::byte{7});
}

TEST_F(StagingFaults, WithoutPinnedMemoryTheDriverCopies) {
  Open();
  fake_.allocation_result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  EXPECT_EQ(device_->AllocateForTransfers(100), nullptr);
  ASSERT_TRUE(Write(6 * kPiece).ok());
  EXPECT_TRUE(fake_.commands.empty());
  EXPECT_TRUE(Read(6 * kPiece) == Bytes(6 * kPiece, 3));
  fake_.allocation_result = CL_SUCCESS;
  fake_.map_result = CL_MAP_FAILURE;
  EXPECT_EQ(device_->AllocateForTransfers(100), nullptr);
  stream_.reset();
  memory_.reset();
  device_.reset();
  EXPECT_EQ(fake_.live_objects, 0);
}

TEST_F(StagingFaults, AQueueWithAWindowCountsEachCommand) {
  Open();
  stream_ = OpenClStream::Create(device_, {.queue_window = 2}).value();
  ASSERT_TRUE(Write(6 * kPiece).ok());
  EXPECT_TRUE(fake_.commands.empty());
  EXPECT_TRUE(Read(6 * kPiece) == Bytes(6 * kPiece, 3));
}

}  // namespace
}  // namespace fettle
