// A tensor of a device in the host's hands, without a copy where the two agree on the form.
#pragma once

#include <memory>

#include "base/status.h"
#include "device/device.h"

namespace fettle {

enum class MapAccess : uint8_t { kRead, kWrite, kReadWrite };

/// A tensor in device memory and the form that it has there.
struct DeviceTensor {
  std::shared_ptr<DeviceMemory> memory;
  int64_t offset = 0;  // into a buffer
  Shape shape;
  State state;  // layout and storage type, as kernels see them
};

/// How the host wants to see a tensor.
struct HostForm {
  Layout layout;
  DType storage = DType::kF32;
  /// Takes an image in its own form as it lies, gaps between its rows included.
  bool keeps_pitch = false;
};

/// One mapped tensor (Stream::Map). Any number can be mapped at the same time, also parts of one
/// buffer; a launch on memory of which any part is mapped is an error (OpenCL leaves open what it
/// does). Where the host's form differs from the device's in layout or type, or an image has gaps
/// between its rows that the host does not want, the mapping has staging memory of its own and
/// converts: what is read when it is mapped, what is written when it is unmapped. Belongs to the
/// thread of its stream, which must outlive it.
class MappedTensor {
 public:
  /// Unmaps; what fails then is logged.
  virtual ~MappedTensor() = default;
  MappedTensor(const MappedTensor&) = delete;
  MappedTensor& operator=(const MappedTensor&) = delete;

  /// The tensor in the host's form; null after Unmap.
  const std::byte* data() const { return staging_ ? staging_.get() : region_.data; }
  /// The same to write to; null where it was mapped to be read.
  std::byte* writable() const {
    return access_ == MapAccess::kRead ? nullptr : const_cast<std::byte*>(data());
  }
  /// Whether the host sees the device's own bytes.
  bool is_direct() const { return staging_ == nullptr; }
  /// Of data(), in bytes: `row_bytes` of elements in each of `rows`, one every `row_pitch`. One row
  /// but for images as they lie.
  int64_t row_pitch() const;
  int64_t row_bytes() const;
  int64_t rows() const;

  /// Hands the tensor back: what was written is converted and visible to later launches of the
  /// stream, of a read nothing is written. Later calls do nothing.
  Status Unmap();

 protected:
  /// The device's bytes as the host sees them; of images, rows with or without gaps.
  struct Region {
    std::byte* data = nullptr;
    int64_t row_pitch = 0, row_bytes = 0;  // 0: no image
  };

  MappedTensor(const DeviceTensor& tensor, const HostForm& host, MapAccess access);
  /// Takes the bytes and brings them into the host's form; every derived destructor calls Finish.
  Status Start();
  void Finish();
  const DeviceTensor& tensor() const { return tensor_; }
  MapAccess access() const { return access_; }
  /// Of the tensor in its device form.
  int64_t bytes() const { return bytes_; }

 private:
  virtual Result<Region> Take() = 0;
  virtual Status Give(const Region& region) = 0;
  virtual void CountConversion() {}
  Status PrepareStaging();
  Status ReadStaging();
  Status WriteStaging();
  bool HasGaps() const { return region_.row_pitch != region_.row_bytes; }
  State HostState() const;

  DeviceTensor tensor_;
  HostForm host_;
  MapAccess access_;
  int64_t bytes_;
  Region region_;
  std::shared_ptr<std::byte> staging_;
};

/// A tensor in host memory, which is there as it is; another form still costs a conversion.
Result<std::unique_ptr<MappedTensor>> MapHostTensor(const DeviceTensor& tensor,
                                                    const HostForm& host, MapAccess access);

}  // namespace fettle
