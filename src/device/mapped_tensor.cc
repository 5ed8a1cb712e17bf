#include "device/mapped_tensor.h"

#include <cstring>

#include "base/log.h"
#include "tensor/reorder.h"
#include "tensor/tensor.h"

namespace fettle {
namespace {

/// Copies rows of `bytes` between memories with different distances between them.
void CopyRows(const std::byte* from, int64_t from_pitch, std::byte* to, int64_t to_pitch,
              int64_t bytes, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, bytes);
}

}  // namespace

namespace {

class HostMapping final : public MappedTensor {
 public:
  HostMapping(const DeviceTensor& tensor, const HostForm& host, MapAccess access)
      : MappedTensor(tensor, host, access) {}
  ~HostMapping() override { Finish(); }
  using MappedTensor::Start;

 private:
  Result<Region> Take() override {
    return Region{.data = tensor().memory->location(tensor().offset).host<std::byte>()};
  }
  Status Give(const Region&) override { return OkStatus(); }
};

/// By copies, for streams that have no maps.
class CopiedMapping final : public MappedTensor {
 public:
  CopiedMapping(Stream& stream, const DeviceTensor& tensor, const HostForm& host, MapAccess access)
      : MappedTensor(tensor, host, access), stream_(stream) {}
  ~CopiedMapping() override { Finish(); }
  using MappedTensor::Start;

 private:
  Result<Region> Take() override {
    ASSIGN_OR_RETURN(copy_, AllocateHost(bytes()));
    if (access() != MapAccess::kWrite)
      RETURN_IF_ERROR(stream_.Read(copy_.get(), *tensor().memory, tensor().offset, bytes()));
    return Region{.data = copy_.get()};
  }
  Status Give(const Region& region) override {
    if (access() == MapAccess::kRead) return OkStatus();
    return stream_.Write(*tensor().memory, tensor().offset, region.data, bytes());
  }

  Stream& stream_;
  std::shared_ptr<std::byte> copy_;
};

}  // namespace

Result<std::unique_ptr<MappedTensor>> Stream::Map(const DeviceTensor& tensor, const HostForm& host,
                                                  MapAccess access) {
  auto mapping = std::make_unique<CopiedMapping>(*this, tensor, host, access);
  RETURN_IF_ERROR(mapping->Start());
  return std::unique_ptr<MappedTensor>(std::move(mapping));
}

Result<std::unique_ptr<MappedTensor>> MapHostTensor(const DeviceTensor& tensor,
                                                    const HostForm& host, MapAccess access) {
  auto mapping = std::make_unique<HostMapping>(tensor, host, access);
  RETURN_IF_ERROR(mapping->Start());
  return std::unique_ptr<MappedTensor>(std::move(mapping));
}

MappedTensor::MappedTensor(const DeviceTensor& tensor, const HostForm& host, MapAccess access)
    : tensor_(tensor),
      host_(host),
      access_(access),
      bytes_(StateBytes(tensor.shape, tensor.state)) {}

State MappedTensor::HostState() const { return {.layout = host_.layout, .storage = host_.storage}; }

int64_t MappedTensor::row_bytes() const {
  if (is_direct() && region_.row_bytes > 0) return region_.row_bytes;
  return StateBytes(tensor_.shape, HostState());
}

int64_t MappedTensor::row_pitch() const {
  return is_direct() && region_.row_bytes > 0 ? region_.row_pitch : row_bytes();
}

int64_t MappedTensor::rows() const {
  return is_direct() && region_.row_bytes > 0 ? bytes_ / region_.row_bytes : 1;
}

Status MappedTensor::Start() {
  ASSIGN_OR_RETURN(region_, Take());
  return PrepareStaging();
}

void MappedTensor::Finish() {
  const Status status = Unmap();
  if (!status.ok()) Log(LogLevel::kError, "{}", status.message());
}

Status MappedTensor::PrepareStaging() {
  if ((!HasGaps() || host_.keeps_pitch) && host_.storage == tensor_.state.storage &&
      SameOffsets(tensor_.shape, host_.layout, tensor_.state.layout))
    return OkStatus();
  ASSIGN_OR_RETURN(staging_, AllocateHost(StateBytes(tensor_.shape, HostState())));
  return access_ == MapAccess::kWrite ? OkStatus() : ReadStaging();
}

Status MappedTensor::ReadStaging() {
  CountConversion();
  if (!HasGaps()) {
    Reorder(tensor_.shape, tensor_.state, region_.data, HostState(), staging_.get());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> dense, AllocateHost(bytes_));
  CopyRows(region_.data, region_.row_pitch, dense.get(), region_.row_bytes, region_.row_bytes,
           bytes_ / region_.row_bytes);
  Reorder(tensor_.shape, tensor_.state, dense.get(), HostState(), staging_.get());
  return OkStatus();
}

Status MappedTensor::WriteStaging() {
  CountConversion();
  if (!HasGaps()) {
    Reorder(tensor_.shape, HostState(), staging_.get(), tensor_.state, region_.data);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> dense, AllocateHost(bytes_));
  Reorder(tensor_.shape, HostState(), staging_.get(), tensor_.state, dense.get());
  CopyRows(dense.get(), region_.row_bytes, region_.data, region_.row_pitch, region_.row_bytes,
           bytes_ / region_.row_bytes);
  return OkStatus();
}

Status MappedTensor::Unmap() {
  if (region_.data == nullptr) return OkStatus();
  const Status written =
      access_ != MapAccess::kRead && staging_ != nullptr ? WriteStaging() : OkStatus();
  const Status given = Give(std::exchange(region_, {}));
  staging_.reset();
  return written.ok() ? given : written;
}

}  // namespace fettle
