#include <gmock/gmock.h>

#include <cmath>
#include <thread>

#include "device/opencl/mapping.h"
#include "tensor/reorder.h"
#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

using testing::HasSubstr;

State StateOf(MemoryKind memory, const char* layout, DType storage) {
  return {.device = memory == MemoryKind::kHost ? DeviceKind::kCpu : DeviceKind::kOpenCl,
          .memory = memory,
          .layout = *LayoutFromName(layout, 4),
          .storage = storage};
}

const State kHostRows = StateOf(MemoryKind::kHost, "row", DType::kF32);
const Shape kShape{2, 7, 5, 9};

/// Values that fp16 holds exactly.
std::vector<float> Values(float first) {
  std::vector<float> values(static_cast<size_t>(kShape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i) * 0.5f;
  return values;
}

std::vector<float> HostValues(const MappedTensor& mapped, const State& host) {
  std::vector<float> values(static_cast<size_t>(kShape.elements()));
  Reorder(kShape, host, mapped.data(), kHostRows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

void WriteValues(const MappedTensor& mapped, const State& host, const std::vector<float>& values) {
  Reorder(kShape, kHostRows, reinterpret_cast<const std::byte*>(values.data()), host,
          mapped.writable());
}

class Mapping : public OpenClTest {
 protected:
  DeviceTensor NewTensor(const State& state) const {
    return {.memory = device_->Allocate(RequestFor(kShape, state)).value(),
            .shape = kShape,
            .state = state};
  }
  std::unique_ptr<MappedTensor> Map(OpenClStream& stream, const DeviceTensor& tensor,
                                    const State& host, MapAccess access) const {
    Result<std::unique_ptr<MappedTensor>> mapped =
        stream.Map(tensor, {host.layout, host.storage}, access);
    EXPECT_TRUE(mapped.ok()) << mapped.status().message();
    return mapped.ok() ? std::move(*mapped) : nullptr;
  }
  /// What the device holds, by a copy.
  std::vector<float> Read(const DeviceTensor& tensor) const {
    std::vector<std::byte> bytes(static_cast<size_t>(StateBytes(kShape, tensor.state)));
    EXPECT_TRUE(
        stream_
            ->Read(bytes.data(), *tensor.memory, tensor.offset, static_cast<int64_t>(bytes.size()))
            .ok());
    std::vector<float> values(static_cast<size_t>(kShape.elements()));
    Reorder(kShape, tensor.state, bytes.data(), kHostRows,
            reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  void Write(const DeviceTensor& tensor, const std::vector<float>& values) const {
    std::vector<std::byte> bytes(static_cast<size_t>(StateBytes(kShape, tensor.state)));
    Reorder(kShape, kHostRows, reinterpret_cast<const std::byte*>(values.data()), tensor.state,
            bytes.data());
    ASSERT_TRUE(
        stream_
            ->Write(*tensor.memory, tensor.offset, bytes.data(), static_cast<int64_t>(bytes.size()))
            .ok());
  }
  /// Every form that a tensor may have on this device.
  std::vector<State> DeviceStates() const {
    std::vector<State> states;
    for (const DType storage : {DType::kF32, DType::kF16}) {
      for (const char* layout : {"row", "NHWC", "NCHW4c"})
        states.push_back(StateOf(MemoryKind::kBuffer, layout, storage));
      if (device_->facts().images && (storage == DType::kF32 || device_->facts().half_images))
        states.push_back(StateOf(MemoryKind::kImage2d, "NC4HW4", storage));
    }
    return states;
  }
};

std::vector<State> HostStates() {
  std::vector<State> states;
  for (const char* layout : {"row", "NHWC", "NCHW4c"})
    for (const DType storage : {DType::kF32, DType::kF16})
      states.push_back(StateOf(MemoryKind::kHost, layout, storage));
  return states;
}

TEST_F(Mapping, ConvertsBothWaysBetweenAllForms) {
  for (const State& state : DeviceStates()) {
    for (const State& host : HostStates()) {
      SCOPED_TRACE(StateName(state, 4) + " mapped as " + StateName(host, 4));
      const DeviceTensor tensor = NewTensor(state);
      const auto values = Values(1), others = Values(-100);
      const auto written = Map(*stream_, tensor, host, MapAccess::kWrite);
      WriteValues(*written, host, values);
      ASSERT_TRUE(written->Unmap().ok());
      EXPECT_EQ(Read(tensor), values);
      Write(tensor, others);
      EXPECT_EQ(HostValues(*Map(*stream_, tensor, host, MapAccess::kRead), host), others);
    }
  }
}

TEST_F(Mapping, IsDirectWhereBothFormsAgreeAndOfUnifiedMemoryNotACopy) {
  const State state = StateOf(MemoryKind::kBuffer, "NHWC", DType::kF16);
  const State host = StateOf(MemoryKind::kHost, "NHWC", DType::kF16);
  const DeviceTensor tensor = NewTensor(state);
  const auto stream = NewStream({});
  {
    const auto mapped = Map(*stream, tensor, host, MapAccess::kWrite);
    EXPECT_TRUE(mapped->is_direct());
    WriteValues(*mapped, host, Values(3));
  }
  EXPECT_EQ(HostValues(*Map(*stream, tensor, host, MapAccess::kRead), host), Values(3));
  EXPECT_FALSE(Map(*stream, tensor, kHostRows, MapAccess::kRead)->is_direct());
  const Transfers transfers = stream->transfers();
  EXPECT_EQ(transfers.maps, 3);
  EXPECT_EQ(transfers.conversions, 1);
  EXPECT_EQ(transfers.copies, device_->facts().unified_memory ? 0 : 3);
}

TEST_F(Mapping, SeveralTensorsOfOneBufferAtTheSameTime) {
  const State state = StateOf(MemoryKind::kBuffer, "NCHW4c", DType::kF16);
  const int64_t bytes = StateBytes(kShape, state);
  const auto arena = NewBuffer(3 * bytes);
  std::vector<DeviceTensor> tensors;
  for (int i = 0; i < 3; ++i) tensors.push_back({arena, i * bytes, kShape, state});
  Write(tensors[0], Values(1));
  Write(tensors[1], Values(2));
  const State nhwc = StateOf(MemoryKind::kHost, "NHWC", DType::kF32);
  const State blocked = StateOf(MemoryKind::kHost, "NCHW4c", DType::kF32);
  const auto first = Map(*stream_, tensors[0], kHostRows, MapAccess::kRead);
  const auto second = Map(*stream_, tensors[1], nhwc, MapAccess::kRead);
  const auto third = Map(*stream_, tensors[2], blocked, MapAccess::kWrite);
  WriteValues(*third, blocked, Values(3));
  EXPECT_EQ(HostValues(*first, kHostRows), Values(1));
  EXPECT_EQ(HostValues(*second, nhwc), Values(2));
  ASSERT_TRUE(second->Unmap().ok() && third->Unmap().ok() && first->Unmap().ok());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Read(tensors[static_cast<size_t>(i)]), Values(static_cast<float>(i + 1)));
}

TEST_F(Mapping, UnmappingAReadWritesNothingBack) {
  const DeviceTensor tensor = NewTensor(StateOf(MemoryKind::kBuffer, "NHWC", DType::kF16));
  Write(tensor, Values(1));
  const auto mapped = Map(*stream_, tensor, kHostRows, MapAccess::kRead);
  EXPECT_EQ(mapped->writable(), nullptr);
  const auto others = Values(50);
  std::memcpy(const_cast<std::byte*>(mapped->data()), others.data(), others.size() * 4);
  ASSERT_TRUE(mapped->Unmap().ok());
  EXPECT_EQ(mapped->data(), nullptr);
  EXPECT_EQ(Read(tensor), Values(1));
  EXPECT_EQ(stream_->transfers().conversions, 1);
}

TEST_F(Mapping, WrittenPadLanesAreZero) {
  const DeviceTensor tensor = NewTensor(StateOf(MemoryKind::kBuffer, "NCHW4c", DType::kF32));
  const int64_t bytes = StateBytes(kShape, tensor.state);
  std::vector<float> raw(static_cast<size_t>(bytes / 4), 7.0f);
  ASSERT_TRUE(stream_->Write(*tensor.memory, 0, raw.data(), bytes).ok());
  WriteValues(*Map(*stream_, tensor, kHostRows, MapAccess::kWrite), kHostRows, Values(1));
  ASSERT_TRUE(stream_->Read(raw.data(), *tensor.memory, 0, bytes).ok());
  // Seven channels are two blocks of four: lane 3 of the second block is none.
  for (size_t pixel = 0; pixel < 45; ++pixel) ASSERT_EQ(raw[(45 + pixel) * 4 + 3], 0) << pixel;
}

TEST_F(Mapping, ALaunchOnAMappedTensorIsAnError) {
  const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
  const State state = StateOf(MemoryKind::kBuffer, "row", DType::kF32);
  const int64_t bytes = StateBytes(kShape, state);
  const auto arena = NewBuffer(2 * bytes);
  const DeviceTensor tensor{arena, bytes, kShape, state};
  const WorkSizes sizes{.gws = {8, 1, 1}};
  const auto mapped = Map(*stream_, tensor, kHostRows, MapAccess::kRead);
  const Status refused = stream_->Launch(*kernel, sizes, {arena->location(bytes), 1.0f, 8});
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_THAT(refused.message(), HasSubstr("argument 0: the host has it mapped"));
  EXPECT_FALSE(stream_->Launch(*kernel, sizes, {arena->location(0), 1.0f, 8}).ok());
  EXPECT_TRUE(stream_->Launch(*kernel, sizes, {NewBuffer(64)->location(), 1.0f, 8}).ok());
  ASSERT_TRUE(mapped->Unmap().ok());
  EXPECT_TRUE(stream_->Launch(*kernel, sizes, {arena->location(bytes), 1.0f, 8}).ok());
}

TEST_F(Mapping, ATensorIsMappedOnceAtATime) {
  const DeviceTensor tensor = NewTensor(StateOf(MemoryKind::kBuffer, "row", DType::kF32));
  {
    const auto mapped = Map(*stream_, tensor, kHostRows, MapAccess::kRead);
    EXPECT_EQ(stream_->Map(tensor, {}, MapAccess::kWrite).status().code(), StatusCode::kBusy);
  }
  EXPECT_TRUE(stream_->Map(tensor, {}, MapAccess::kWrite).ok());
}

TEST_F(Mapping, LaunchesSeeWhatWasWrittenAndReadsWhatWasLaunched) {
  for (const auto svm :
       {SharedVirtualMemory::kOff, SharedVirtualMemory::kCoarse, SharedVirtualMemory::kFine}) {
    SCOPED_TRACE(static_cast<int>(svm));
    const auto opened = OpenAgain({.svm = svm});
    if (!opened.ok()) {
      EXPECT_EQ(opened.status().code(), StatusCode::kUnsupported);
      continue;
    }
    const auto stream = OpenClStream::Create(*opened).value();
    const auto own = (*opened)->BuildKernel({"negated",
                                             "__kernel void negated(__global const float* in,\n"
                                             "                      __global float* out) {\n"
                                             "  out[get_global_id(0)] = -in[get_global_id(0)];\n"
                                             "}\n",
                                             ""},
                                            "negated");
    ASSERT_TRUE(own.ok());
    const State state = StateOf(MemoryKind::kBuffer, "row", DType::kF32);
    const auto request = RequestFor(kShape, state);
    const DeviceTensor in{(*opened)->Allocate(request).value(), 0, kShape, state};
    const DeviceTensor out{(*opened)->Allocate(request).value(), 0, kShape, state};
    for (int round = 0; round < 3; ++round) {
      auto values = Values(static_cast<float>(round));
      WriteValues(*Map(*stream, in, kHostRows, MapAccess::kWrite), kHostRows, values);
      ASSERT_TRUE(stream
                      ->Launch(**own, {.gws = {values.size(), 1, 1}},
                               {in.memory->location(), out.memory->location()})
                      .ok());
      for (float& value : values) value = -value;
      EXPECT_EQ(HostValues(*Map(*stream, out, kHostRows, MapAccess::kRead), kHostRows), values);
    }
    if (svm != SharedVirtualMemory::kOff) {
      EXPECT_EQ(stream->transfers().copies, 0);
    }
  }
}

TEST_F(Mapping, FourThreadsMapThreeTensorsEach) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  const auto states = DeviceStates();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = NewStream({});
      const auto host = HostStates();
      for (int round = 0; round < 5; ++round) {
        const auto pick = static_cast<size_t>(t + round);
        const DeviceTensor a = NewTensor(states[pick % states.size()]);
        const DeviceTensor b = NewTensor(states[(pick + 1) % states.size()]);
        const DeviceTensor c = NewTensor(states[(pick + 2) % states.size()]);
        const State& form = host[pick % host.size()];
        const auto values = Values(static_cast<float>(10 * t + round));
        WriteValues(*Map(*stream, a, form, MapAccess::kWrite), form, values);
        WriteValues(*Map(*stream, b, form, MapAccess::kWrite), form, values);
        const auto first = Map(*stream, a, kHostRows, MapAccess::kRead);
        const auto second = Map(*stream, b, form, MapAccess::kRead);
        const auto third = Map(*stream, c, form, MapAccess::kWrite);
        WriteValues(*third, form, HostValues(*first, kHostRows));
        if (HostValues(*second, form) != values || !third->Unmap().ok()) continue;
        right += HostValues(*Map(*stream, c, form, MapAccess::kRead), form) == values;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

}  // namespace
}  // namespace fettle
