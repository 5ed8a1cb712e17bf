// Tensors of an OpenCL device in the host's hands, without a copy where the two agree on the form.
#pragma once

#include <memory>

#include "device/opencl/opencl_stream.h"
#include "tensor/tensor.h"

namespace fettle {

enum class MapAccess : uint8_t { kRead, kWrite };

/// A tensor in device memory and the form that it has there.
struct DeviceTensor {
  std::shared_ptr<DeviceMemory> memory;  // an OpenClMemory
  int64_t offset = 0;                    // into a buffer
  Shape shape;
  State state;  // layout and storage type, as kernels see them
};

/// One mapped tensor. Any number can be mapped at the same time, also parts of one buffer; a launch
/// on a buffer or image of which any part is mapped is an error (OpenCL leaves open what it does).
/// Where the host's form differs from the device's in layout or type, or an image has gaps between
/// its rows, the mapping has staging memory of its own and converts: a read when it is mapped, a
/// write when it is unmapped. Belongs to the thread of its stream, which must outlive it.
class MappedTensor {
 public:
  /// Waits for what is enqueued before. `host` gives the layout and the type that the host wants.
  /// A write starts with undefined contents, all of which are to be written. kBusy where part of
  /// the tensor is mapped already, kOutOfMemory, kDeviceError.
  static Result<std::unique_ptr<MappedTensor>> Map(OpenClStream& stream, const DeviceTensor& tensor,
                                                   const State& host, MapAccess access);
  /// Unmaps; what fails then is logged.
  ~MappedTensor();
  MappedTensor(const MappedTensor&) = delete;
  MappedTensor& operator=(const MappedTensor&) = delete;

  /// The tensor in the host's form; null after Unmap.
  const std::byte* data() const { return staging_ ? staging_.get() : Direct(); }
  /// The same to write to; null where it was mapped to be read.
  std::byte* writable() const {
    return access_ != MapAccess::kWrite ? nullptr : staging_ ? staging_.get() : Direct();
  }
  /// Whether the host sees the device's own bytes.
  bool is_direct() const { return staging_ == nullptr; }

  /// Hands the tensor back: a write is converted and visible to later launches of the stream, of a
  /// read nothing is written. Later calls do nothing.
  Status Unmap();

 private:
  MappedTensor(OpenClStream& stream, const DeviceTensor& tensor, const State& host,
               MapAccess access)
      : stream_(stream), tensor_(tensor), host_(host), access_(access) {}
  Status MapMemory();
  Status MapBuffer(cl_map_flags flags);
  Status MapImage(cl_map_flags flags);
  Status UnmapMemory();
  Status PrepareStaging();
  Status ReadStaging();
  Status WriteStaging();
  bool HasGaps() const { return row_pitch_ != row_bytes_; }
  std::byte* Direct() const { return mapped_; }
  const OpenClMemory& memory() const { return static_cast<const OpenClMemory&>(*tensor_.memory); }

  OpenClStream& stream_;
  DeviceTensor tensor_;
  State host_;
  MapAccess access_;
  std::byte* mapped_ = nullptr;           // the device's bytes
  int64_t bytes_ = 0;                     // of the tensor in its device form
  size_t row_pitch_ = 0, row_bytes_ = 0;  // of images
  std::shared_ptr<std::byte> staging_;
};

}  // namespace fettle
