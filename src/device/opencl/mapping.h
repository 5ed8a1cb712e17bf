// Maps of OpenCL memory.
#pragma once

#include <memory>

#include "device/mapped_tensor.h"
#include "device/opencl/opencl_stream.h"
#include "device/own_copy.h"

namespace fettle {

/// A tensor in a buffer, an image or shared virtual memory (OpenClStream::Map).
class OpenClMapping final : public MappedTensor, public HasOwnCopy {
 public:
  static Result<std::unique_ptr<MappedTensor>> Map(OpenClStream& stream, const DeviceTensor& tensor,
                                                   const HostForm& host, MapAccess access);
  ~OpenClMapping() override { Finish(); }
  std::shared_ptr<std::byte> own_copy() const override {
    return access() == MapAccess::kRead && is_direct() ? copy_ : nullptr;
  }

 private:
  OpenClMapping(OpenClStream& stream, const DeviceTensor& tensor, const HostForm& host,
                MapAccess access)
      : MappedTensor(tensor, host, access), stream_(stream) {}
  Result<Region> Take() override;
  Status Give(const Region& region) override;
  void CountConversion() override { stream_.CountConversion(); }
  Result<Region> TakeMemory();
  Result<Region> TakeBuffer(cl_map_flags flags);
  Result<Region> TakeImage(cl_map_flags flags);
  Status GiveMemory(const Region& region);
  Result<Region> TakeCopy();
  const OpenClMemory& memory() const { return static_cast<const OpenClMemory&>(*tensor().memory); }

  OpenClStream& stream_;
  // Of a buffer that CUDA copies.
  std::optional<cuda::Address> address_;
  std::shared_ptr<std::byte> copy_;
};

}  // namespace fettle
