#include "device/opencl/opencl_stream.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

using testing::HasSubstr;

class OpenClStreamTest : public OpenClTest {
 protected:
  std::shared_ptr<OpenClKernel> Build(const char* name, const std::string& text) const {
    return device_->BuildKernel({name, text, ""}, name).value();
  }
  std::vector<float> ReadFloats(const DeviceMemory& memory, size_t count) const {
    std::vector<float> values(count);
    const Status status =
        stream_->Read(values.data(), memory, 0, static_cast<int64_t>(count * sizeof(float)));
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }
};

std::vector<float> Counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST_F(OpenClStreamTest, WritesAndReadsBuffersAtAnOffset) {
  const auto buffer = NewBuffer(400);
  const std::vector<float> values = Counting(100), patch{-1, -2, -3};
  ASSERT_TRUE(stream_->Write(*buffer, 0, values.data(), 400).ok());
  ASSERT_TRUE(stream_->Write(*buffer, 40, patch.data(), 12).ok());
  std::vector<float> read(5);
  ASSERT_TRUE(stream_->Read(read.data(), *buffer, 36, 20).ok());
  EXPECT_THAT(read, testing::ElementsAre(10, -1, -2, -3, 14));
}

TEST_F(OpenClStreamTest, AcceptsTransfersOfNothing) {
  const auto buffer = NewBuffer(0);
  EXPECT_TRUE(stream_->Write(*buffer, 0, nullptr, 0).ok());
  EXPECT_TRUE(stream_->Read(nullptr, *buffer, 0, 0).ok());
}

TEST_F(OpenClStreamTest, RefusesTransfersBeyondABuffer) {
  const auto buffer = NewBuffer(16);
  const std::vector<float> values = Counting(8);
  const Status status = stream_->Write(*buffer, 0, values.data(), 32);
  EXPECT_EQ(status.code(), StatusCode::kDeviceError);
  EXPECT_THAT(status.message(), HasSubstr("writing a buffer: CL_INVALID_VALUE"));
}

TEST_F(OpenClStreamTest, WritesAndReadsImages) {
  if (!device_->facts().images) GTEST_SKIP() << "no images";
  const auto image = NewImage(5, 3, DType::kF32);
  const std::vector<float> values = Counting(60);
  ASSERT_TRUE(stream_->Write(*image, 0, values.data(), 240).ok());
  EXPECT_EQ(ReadFloats(*image, 60), values);
  EXPECT_EQ(ReadFloats(*image, 20), std::vector<float>(values.begin(), values.begin() + 20));
}

TEST_F(OpenClStreamTest, UploadsBuffers) {
  const std::vector<float> values = Counting(60);
  const auto owner = std::make_shared<std::vector<float>>(values);
  const std::shared_ptr<const std::byte> bytes(owner, std::as_bytes(std::span(*owner)).data());
  EXPECT_EQ(ReadFloats(*device_->Upload(bytes, 240).value(), 60), values);
  EXPECT_TRUE(device_->Upload(bytes, 0).ok());
}

TEST_F(OpenClStreamTest, LaunchesOverAGridThatIsNoMultipleOfTheGroup) {
  const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
  const auto buffer = NewBuffer(4 * 1003);
  const std::vector<float> ones(1003, 1);
  ASSERT_TRUE(stream_->Write(*buffer, 0, ones.data(), 4 * 1003).ok());
  ASSERT_TRUE(stream_
                  ->Launch(*kernel, {.gws = {1001, 1, 1}, .lws = {16, 1, 1}},
                           {buffer->location(), 0.5f, 1001})
                  .ok());
  const std::vector<float> result = ReadFloats(*buffer, 1003);
  for (size_t i = 0; i < 1001; ++i) ASSERT_EQ(result[i], static_cast<float>(i) * 0.5f) << i;
  EXPECT_EQ(result[1001], 1);
}

TEST_F(OpenClStreamTest, LaunchesRunInOrder) {
  const auto kernel = Build("advance",
                            "__kernel void advance(__global float* x, float a) {\n"
                            "  x[get_global_id(0)] = x[get_global_id(0)] * 2 + a;\n"
                            "}\n");
  const auto buffer = NewBuffer(4 * 256);
  const std::vector<float> zeros(256, 0);
  ASSERT_TRUE(stream_->Write(*buffer, 0, zeros.data(), 1024).ok());
  float expected = 0;
  for (int i = 0; i < 10; ++i) {
    const auto a = static_cast<float>(i);
    expected = expected * 2 + a;
    ASSERT_TRUE(stream_->Launch(*kernel, {.gws = {256, 1, 1}}, {buffer->location(), a}).ok());
  }
  EXPECT_EQ(ReadFloats(*buffer, 256), std::vector<float>(256, expected));
}

TEST_F(OpenClStreamTest, KernelsReadAndWriteImages) {
  if (!device_->facts().images) GTEST_SKIP() << "no images";
  const auto kernel = Build("negate",
                            "__constant sampler_t near = CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP |\n"
                            "                            CLK_NORMALIZED_COORDS_FALSE;\n"
                            "__kernel void negate(__read_only image2d_t in,\n"
                            "                     __write_only image2d_t out) {\n"
                            "  const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
                            "  write_imagef(out, at, -read_imagef(in, near, at));\n"
                            "}\n");
  const auto in = NewImage(7, 3, DType::kF32), out = NewImage(7, 3, DType::kF32);
  std::vector<float> values = Counting(84);
  ASSERT_TRUE(stream_->Write(*in, 0, values.data(), 336).ok());
  ASSERT_TRUE(stream_->Launch(*kernel, {.gws = {7, 3, 1}}, {in->location(), out->location()}).ok());
  for (float& value : values) value = -value;
  EXPECT_EQ(ReadFloats(*out, 84), values);
}

TEST_F(OpenClStreamTest, KernelsReadABufferAsAnImage) {
  if (!device_->facts().images) GTEST_SKIP() << "no images";
  if (device_->graphs() != nullptr) GTEST_SKIP() << "buffers are imported from CUDA";
  const auto kernel = Build("pixels",
                            "__kernel void pixels(__read_only image1d_buffer_t in,\n"
                            "                     __global float4* out) {\n"
                            "  const int i = get_global_id(0);\n"
                            "  out[i] = read_imagef(in, i);\n"
                            "}\n");
  const auto in = NewBuffer(256), out = NewBuffer(256);
  const auto view = device_->ViewAsImage1d(*in, 16, DType::kF32);
  ASSERT_TRUE(view.ok()) << view.status().message();
  const std::vector<float> values = Counting(64);
  ASSERT_TRUE(stream_->Write(*in, 0, values.data(), 256).ok());
  ASSERT_TRUE(
      stream_->Launch(*kernel, {.gws = {16, 1, 1}}, {(*view)->location(), out->location()}).ok());
  EXPECT_EQ(ReadFloats(*out, 64), values);
}

TEST_F(OpenClStreamTest, RefusesLaunchesThatTheDriverRefuses) {
  const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
  const auto buffer = NewBuffer(64);
  const auto over = static_cast<size_t>(device_->facts().max_work_group_size) * 2;
  const Status size = stream_->Launch(*kernel, {.gws = {over, 1, 1}, .lws = {over, 1, 1}},
                                      {buffer->location(), 1.0f, 16});
  EXPECT_EQ(size.code(), StatusCode::kDeviceError);
  EXPECT_THAT(size.message(), HasSubstr("CL_INVALID_WORK_"));
  const Status argument =
      stream_->Launch(*kernel, {.gws = {16, 1, 1}}, {buffer->location(), 1.0f, 16, 17});
  EXPECT_THAT(argument.message(), HasSubstr("argument 3"));
}

TEST_F(OpenClStreamTest, ArgumentsStayTheirOwnAcrossThreads) {
  const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
  constexpr int kThreads = 4, kCount = 512;
  std::vector<std::vector<float>> results(kThreads, std::vector<float>(kCount));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = NewStream({});
      const auto buffer = NewBuffer(4 * kCount);
      for (int repeat = 0; repeat < 20; ++repeat) {
        if (!stream
                 ->Launch(*kernel, {.gws = {kCount, 1, 1}, .lws = {8, 1, 1}},
                          {buffer->location(), static_cast<float>(t), kCount})
                 .ok())
          return;
      }
      (void)!stream->Read(results[static_cast<size_t>(t)].data(), *buffer, 0, 4 * kCount).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t)
    EXPECT_EQ(results[static_cast<size_t>(t)][511], static_cast<float>(511 * t));
}

/// Counts what is set of kernels.
class CountedArguments {
 public:
  CountedArguments() : real_(*LoadOpenCl().value()), api_(real_) {
    g_counted = this;
    api_.SetKernelArg = [](cl_kernel kernel, cl_uint i, size_t size, const void* value) {
      ++g_counted->count_;
      return g_counted->real_.SetKernelArg(kernel, i, size, value);
    };
  }
  const OpenClApi& api() const { return api_; }
  int Take() { return std::exchange(count_, 0); }

 private:
  static inline CountedArguments* g_counted = nullptr;
  const OpenClApi& real_;
  OpenClApi api_;
  int count_ = 0;
};

TEST_F(OpenClStreamTest, SetsArgumentsAnewThatChangeOrMayHaveChanged) {
  constexpr int kCount = 8;
  static CountedArguments counted;  // the fixture's device and stream go after the test's variables
  device_ = OpenAgain({.api = &counted.api()}).value();
  stream_ = NewStream({});
  const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
  auto out = NewBuffer(kCount * sizeof(float));
  const auto launch = [&](float factor) {
    const Status status =
        stream_->Launch(*kernel, {.gws = {kCount, 1, 1}}, {out->location(), factor, kCount});
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(ReadFloats(*out, kCount)[1], factor);
    return counted.Take();
  };
  counted.Take();  // what opening the device took
  EXPECT_EQ(launch(2), 3);
  EXPECT_EQ(launch(2), 0);
  EXPECT_EQ(launch(5), 1);
  EXPECT_EQ(launch(5), 0);
  const auto other = std::exchange(out, NewBuffer(kCount * sizeof(float)));
  EXPECT_EQ(launch(5), 1) << "another buffer";
  out = nullptr;
  out = NewBuffer(kCount * sizeof(float));
  EXPECT_EQ(launch(5), 3) << "a buffer that may have the name of one that is no more";
}

TEST_F(OpenClStreamTest, RunsWhatFollowsAHold) {
  constexpr int kCount = 100;
  const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
  const auto out = NewBuffer(kCount * sizeof(float));
  for (const float factor : {2.0F, 3.0F}) {
    ASSERT_TRUE(stream_->Hold(100).ok());
    const Status status =
        stream_->Launch(*kernel, {.gws = {kCount, 1, 1}}, {out->location(), factor, kCount});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(ReadFloats(*out, kCount)[kCount - 1], (kCount - 1) * factor);
  }
}

TEST_F(OpenClStreamTest, HoldsNothingWhereItsLaunchesArePaced) {
  EXPECT_EQ(stream_->holds(), !device_->facts().is_cpu);
  EXPECT_FALSE(NewStream({.queue_window = 2})->holds());
  EXPECT_FALSE(NewStream({.kernel_ms = 1})->holds());
}

}  // namespace
}  // namespace fettle
