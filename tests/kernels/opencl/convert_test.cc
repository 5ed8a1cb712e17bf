// Conversions on an OpenCL device against the generic reorder.
#include "kernels/opencl/convert/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ir/noise.h"
#include "kernels/check/bound_kernel.h"
#include "tensor/reorder.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {
namespace {

std::vector<std::byte> InState(const Tensor& tensor, const State& state) {
  std::vector<std::byte> bytes(static_cast<size_t>(StateBytes(tensor.shape(), state)));
  Reorder(tensor.shape(), {.storage = tensor.dtype()}, tensor.data(), state, bytes.data());
  return bytes;
}

/// Converts a tensor that `from` can hold exactly; what differs from the generic conversion.
Status CheckConversion(const Tensor& tensor, const State& from, const State& to,
                       const OpenClDevice& device) {
  Operands operands{{{tensor.shape(), tensor.dtype(), from}},
                    {{tensor.shape(), tensor.dtype(), to}}};
  ASSIGN_OR_RETURN(std::unique_ptr<PreparedKernel> prepared,
                   PrepareOpenClConversion(tensor.shape(), from, to, device));
  const auto memory = std::make_shared<OperandMemory>();
  RETURN_IF_ERROR(Allocate(operands, true, device, *memory));
  ASSIGN_OR_RETURN(
      const BoundKernel bound,
      BoundKernel::Bind(std::move(prepared), std::move(operands), nullptr, memory, device));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream({}));
  const std::vector<std::byte> input = InState(tensor, from), want = InState(tensor, to);
  const std::span<const std::byte> inputs[] = {input};
  RETURN_IF_ERROR(bound.Poison(kPoison, *stream));
  RETURN_IF_ERROR(bound.WriteInputs(inputs, *stream));
  RETURN_IF_ERROR(bound.Launch(*stream));
  RETURN_IF_ERROR(bound.Fetch(*stream));
  RETURN_IF_ERROR(bound.CheckMemory());
  if (std::memcmp(bound.output(0), want.data(), want.size()) == 0) return OkStatus();
  return Error(StatusCode::kInternal, "the bytes differ from those of the generic conversion");
}

/// Small enough for halves, so that every conversion is exact.
Tensor WholeNumbers(DType dtype, const Shape& shape) {
  Tensor tensor = ir::NoiseTensor(dtype, shape, 3, {0, 100}).value();
  if (dtype != DType::kF32) return tensor;
  for (float& value : tensor.as<float>()) value = std::round(value);
  return tensor;
}

State OnDevice(Layout layout, DType storage) {
  const bool is_image = layout.image_y_dims > 0;
  return {.device = DeviceKind::kOpenCl,
          .memory = is_image ? MemoryKind::kImage2d : MemoryKind::kBuffer,
          .layout = std::move(layout),
          .storage = storage};
}

/// Row-major, channels last and blocks of four of a rank; images where the device has them.
std::vector<State> DeviceStates(int rank, DType storage, const OpenClFacts& facts) {
  std::vector<State> states{OnDevice({}, storage)};
  if (rank < 2) return states;
  states.push_back(OnDevice(Layout{.blocks = {{1, 4}}}, storage));
  states.push_back(OnDevice(Layout{.blocks = {{1, 16}}}, storage));
  if (rank > 2) states.push_back(OnDevice(Layout::ChannelsLast(rank), storage));
  const bool has_image = storage == DType::kF32   ? facts.images
                         : storage == DType::kF16 ? facts.images && facts.half_images
                                                  : false;
  if (rank == 4 && has_image)
    states.push_back(OnDevice(LayoutFromName("NC4HW4", 4).value(), storage));
  return states;
}

void CheckAll(const Shape& shape, const std::vector<DType>& storages) {
  const auto& opened = TestOpenClDevice();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  const OpenClDevice& device = **opened;
  const DType dtype = storages[0];
  const Tensor tensor = WholeNumbers(dtype, shape);
  std::vector<State> states;
  for (DType storage : storages) {
    for (const State& state : DeviceStates(shape.rank(), storage, device.facts()))
      states.push_back(state);
  }
  std::vector<State> hosts{{.storage = storages[0]}, {.storage = storages[0], .external = true}};
  if (shape.rank() > 2)
    hosts.push_back({.layout = Layout::ChannelsLast(shape.rank()), .storage = storages[0]});
  const auto check = [&](const State& from, const State& to) {
    const Status status = CheckConversion(tensor, from, to, device);
    EXPECT_TRUE(status.ok()) << shape.ToString() << ": " << StateName(from, shape.rank()) << " to "
                             << StateName(to, shape.rank()) << ": " << status.message();
  };
  for (const State& state : states) {
    for (const State& host : hosts) {
      check(host, state);
      check(state, host);
    }
    for (const State& other : states) check(state, other);
  }
}

TEST(OpenClConversion, LayoutsMemoryAndStorageOfPictures) {
  for (const Shape& shape : {Shape{1, 3, 5, 7}, Shape{2, 5, 3, 4}, Shape{1, 16, 2, 9},
                             Shape{3, 21, 1, 1}, Shape{1, 1, 1, 1}})
    CheckAll(shape, {DType::kF32, DType::kF16});
}

TEST(OpenClConversion, OtherRanks) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 7, 11}, Shape{1, 5, 2, 3, 4}})
    CheckAll(shape, {DType::kF32, DType::kF16});
}

/// The matrices of products: the last axis outermost, or four of it a pixel and all others along y.
TEST(OpenClConversion, MatricesByColumnsAndInPixels) {
  const auto& opened = TestOpenClDevice();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  const OpenClDevice& device = **opened;
  for (const Shape& shape : {Shape{5, 7}, Shape{3, 8}, Shape{1, 1}, Shape{2, 3, 6}}) {
    const int rank = shape.rank();
    const Tensor tensor = WholeNumbers(DType::kF32, shape);
    std::vector<Layout> forms{rank == 2 ? Layout{.order = {1, 0}} : Layout{.order = {2, 0, 1}}};
    if (device.facts().images && device.facts().half_images)
      forms.push_back({.blocks = {{rank - 1, 4}}, .image_y_dims = rank - 1});
    for (const Layout& form : forms) {
      for (const DType storage : {DType::kF32, DType::kF16}) {
        const State other = OnDevice(form, storage);
        for (const State& rows : {State{}, OnDevice({}, DType::kF32)}) {
          for (const auto& [from, to] : {std::pair(rows, other), std::pair(other, rows)}) {
            const Status status = CheckConversion(tensor, from, to, device);
            EXPECT_TRUE(status.ok()) << StateName(from, rank) << " to " << StateName(to, rank)
                                     << ": " << status.message();
          }
        }
      }
    }
  }
}

TEST(OpenClConversion, Integers) {
  for (DType dtype : {DType::kU8, DType::kI8, DType::kI32, DType::kI64})
    CheckAll({2, 5, 3, 4}, {dtype});
}

TEST(OpenClConversion, RefusesWhatItDoesNotConvert) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const auto result = PrepareOpenClConversion({1, 4, 2, 2}, {.storage = DType::kF32},
                                              OnDevice({}, DType::kU8), **device);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace fettle::kernels
