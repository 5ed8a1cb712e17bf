// Tensors that the caller owns, for runs to read and write and for the host to map.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "device/mapped_tensor.h"
#include "tensor/tensor.h"

namespace fettle::runtime {

/// How the host wants to see a tensor: its own element type and row-major where nothing is said.
struct MapForm {
  std::optional<Layout> layout;
  DType dtype = DType::kUndefined;
  /// As it lies in the device's memory: its layout and storage type, gaps between rows included.
  bool as_stored = false;
};

/// A mapped tensor as the host sees it; good until it is unmapped. Sizes in bytes.
struct MappedView {
  std::byte* data = nullptr;
  int64_t row_pitch = 0, row_bytes = 0, rows = 0;
  bool is_direct = false;  // the memory's own bytes
  Layout layout;
  DType dtype = DType::kUndefined;
};

/// One tensor in host memory or in that of a device. The host's maps and the runs that use it
/// exclude each other: whoever comes second gets kBusy. Thread-safe, but for its elements.
class TensorBuffer {
 public:
  /// `recyclable`: from AllocateHost, so that runs may write it in place.
  TensorBuffer(Tensor host, bool recyclable);
  /// Memory with undefined contents; `state` is `device`'s. kUnsupported where the device has no
  /// such memory or cannot convert it to row-major.
  static Result<std::shared_ptr<TensorBuffer>> Create(std::shared_ptr<const Device> device,
                                                      DType dtype, const Shape& shape,
                                                      const State& state);
  /// Another tensor over the same memory on a device, so that a run may read and write it in place.
  static Result<std::shared_ptr<TensorBuffer>> OverMemoryOf(const TensorBuffer& other);
  TensorBuffer(const TensorBuffer&) = delete;
  TensorBuffer& operator=(const TensorBuffer&) = delete;

  /// No other tensor of this process has or had it.
  uint64_t id() const { return id_; }
  DType dtype() const { return host_.dtype(); }
  const Shape& shape() const { return host_.shape(); }
  /// In host memory: the tensor itself; otherwise one without bytes.
  const Tensor& host() const { return host_; }
  /// Null in host memory.
  const Device* device() const { return device_.get(); }
  const State& state() const { return tensor_.state; }
  bool recyclable() const { return recyclable_; }
  /// What kernels take; of host memory, its address.
  std::byte* base() const;
  /// Row-major elements that need no map; null where there are none.
  std::byte* shared() const;

  /// kBusy where it is mapped already or a run uses it; kInvalidArgument where its type cannot
  /// become the wanted one (64-bit integers, 4-bit ones and booleans are seen as they are).
  Result<MappedView> Map(MapAccess access, const MapForm& form);
  /// kInvalidArgument where it is not mapped.
  Status Unmap();

  /// A run begins to read it, or to write it alone. kBusy.
  Status Acquire(bool writes);
  void Release(bool writes);

  /// For runs that cannot use the memory itself: a copy as a host tensor (of host memory, the
  /// tensor), and the reverse.
  Result<Tensor> ReadToHost();
  /// The same into a tensor of this type and shape.
  Status ReadInto(Tensor& to);
  /// The same for callers that look at the bytes: `to` becomes a device's own copy of them where it
  /// made one, without a copy more.
  Status ReadOrTakeInto(Tensor& to);
  Status WriteFromHost(const Tensor& from);

  /// By maps, those of ReadToHost and WriteFromHost among them.
  Transfers transfers() const;

 private:
  static uint64_t NextId();
  Status CheckFree() const;
  Status ReadHeld(Tensor& to, bool may_take);

  const uint64_t id_ = NextId();
  Tensor host_;
  bool recyclable_ = false;
  std::shared_ptr<const Device> device_;
  DeviceTensor tensor_;
  std::unique_ptr<Stream> stream_;  // of its maps; null in host memory
  mutable std::mutex mutex_;
  std::unique_ptr<MappedTensor> mapped_;  // guarded by mutex_, as all below
  int readers_ = 0;
  bool writer_ = false;
};

}  // namespace fettle::runtime
