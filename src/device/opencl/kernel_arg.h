// What a kernel is launched with.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device/device.h"
#include "device/opencl/api.h"

namespace fettle {

/// The name of a type of scalars or vectors in OpenCL C; empty for others.
template <typename T>
constexpr std::string_view TypeNameOf() {
  if (std::is_same_v<T, cl_int>) return "int";
  if (std::is_same_v<T, cl_uint>) return "uint";
  if (std::is_same_v<T, cl_long>) return "long";
  if (std::is_same_v<T, cl_float>) return "float";
  if (std::is_same_v<T, cl_int2>) return "int2";
  if (std::is_same_v<T, cl_int4>) return "int4";
  if (std::is_same_v<T, cl_float2>) return "float2";
  if (std::is_same_v<T, cl_float4>) return "float4";
  return {};
}

/// One argument of a kernel: a memory object, or a value of a scalar or vector type.
class KernelArg {
 public:
  KernelArg(const Location& location) : KernelArg(static_cast<cl_mem>(location.base)) {}
  template <typename T>
  requires std::is_trivially_copyable_v<T> KernelArg(const T& value)
      : size_(sizeof(T)),
        type_(TypeNameOf<T>()),
        is_memory_(std::is_same_v<T, cl_mem>) {                               // NOLINT: a handle's
    static_assert(sizeof(T) <= sizeof(bytes_), "larger values are buffers");  // NOLINT
    std::memcpy(bytes_.data(), &value, sizeof(T));                            // NOLINT
  }
  const void* data() const { return bytes_.data(); }
  size_t size() const { return size_; }
  bool is_memory() const { return is_memory_; }
  /// In OpenCL C; empty for memory objects and types without a name.
  std::string_view type() const { return type_; }
  /// The memory object; only where is_memory().
  cl_mem memory() const {
    cl_mem memory;
    std::memcpy(&memory, bytes_.data(), sizeof(memory));  // NOLINT
    return memory;
  }
  friend bool operator==(const KernelArg& a, const KernelArg& b) {
    return a.size_ == b.size_ && a.is_memory_ == b.is_memory_ &&
           std::memcmp(a.bytes_.data(), b.bytes_.data(), a.size_) == 0;
  }

 private:
  std::array<std::byte, 64> bytes_;
  size_t size_;
  std::string_view type_;
  bool is_memory_ = false;
};

/// The arguments of a kernel object as they were set last.
struct SetArgs {
  std::vector<KernelArg> args;
  /// OpenClMemory::released() then: memory objects that were made since may have the names of
  /// released ones.
  uint64_t released = 0;
};

}  // namespace fettle
