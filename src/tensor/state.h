// The state of a tensor: where and how its elements are stored. What kernels ask for and the
// planner chooses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace fettle {

constexpr uint64_t PackedName(std::string_view name) {
  uint64_t packed = 0;
  for (size_t i = 0; i < name.size(); ++i)
    packed |= static_cast<uint64_t>(static_cast<unsigned char>(name[i])) << (8 * i);
  return packed;
}

/// The backend whose device it is, by name: at most eight small letters and digits, packed. States
/// are kept as texts whatever devices a process has, so they say the name and not an index into a
/// DeviceSet.
enum class DeviceKind : uint64_t { kCpu = PackedName("cpu"), kOpenCl = PackedName("opencl") };

/// The kind called `name`, which is at most eight characters long.
constexpr DeviceKind DeviceKindOf(std::string_view name) { return DeviceKind{PackedName(name)}; }
std::string DeviceKindName(DeviceKind kind);

enum class MemoryKind : uint8_t { kHost, kBuffer, kImage2d, kImage1d };

/// (device, memory kind, layout, storage type). `storage` may differ from the value's element type
/// where a wider or declared narrower form holds it. Planned tensors are 64-byte aligned with 64
/// readable bytes behind them; `external` ones (bound by the caller) promise neither and are
/// row-major.
struct State {
  DeviceKind device = DeviceKind::kCpu;
  MemoryKind memory = MemoryKind::kHost;
  Layout layout;
  DType storage = DType::kF32;
  bool external = false;

  bool operator==(const State&) const = default;
};

/// "cpu:host:NHWC:f32", with ":external" where it is.
std::string StateName(const State& state, int rank);
Result<State> StateFromName(std::string_view name, int rank);

/// Bytes that a tensor of `shape` occupies in `state`.
int64_t StateBytes(const Shape& shape, const State& state);

}  // namespace fettle
