#include "device/opencl/mapping.h"

#include <cstring>

#include "base/log.h"
#include "tensor/reorder.h"

namespace fettle {
namespace {

/// Copies rows of `bytes` between memories with different distances between them.
void CopyRows(const std::byte* from, size_t from_pitch, std::byte* to, size_t to_pitch,
              size_t bytes, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to + static_cast<size_t>(row) * to_pitch,
                from + static_cast<size_t>(row) * from_pitch, bytes);
}

}  // namespace

Result<std::unique_ptr<MappedTensor>> MappedTensor::Map(OpenClStream& stream,
                                                        const DeviceTensor& tensor,
                                                        const State& host, MapAccess access) {
  std::unique_ptr<MappedTensor> mapping(new MappedTensor(stream, tensor, host, access));
  mapping->bytes_ = StateBytes(tensor.shape, tensor.state);
  const cl_mem memory = mapping->memory().get();
  if (!stream.device().mapped().Add(memory, tensor.offset, mapping->bytes_))
    return Error(StatusCode::kBusy, "OpenCL: mapping a tensor: part of it is mapped already");
  const Status mapped = mapping->MapMemory();
  if (!mapped.ok()) {
    stream.device().mapped().Remove(memory, tensor.offset, mapping->bytes_);
    return mapped;
  }
  // From here on the destructor cleans up.
  RETURN_IF_ERROR(mapping->PrepareStaging());
  return mapping;
}

MappedTensor::~MappedTensor() {
  const Status status = Unmap();
  if (!status.ok()) Log(LogLevel::kError, "{}", status.message());
}

Status MappedTensor::MapMemory() {
  stream_.CountMap(memory().svm() == nullptr && !stream_.device().facts().unified_memory, bytes_);
  const cl_map_flags flags =
      access_ == MapAccess::kRead ? CL_MAP_READ : CL_MAP_WRITE_INVALIDATE_REGION;
  return memory().request().kind == MemoryKind::kImage2d ? MapImage(flags) : MapBuffer(flags);
}

Status MappedTensor::MapBuffer(cl_map_flags flags) {
  const OpenClApi& api = stream_.device().api();
  const auto offset = static_cast<size_t>(tensor_.offset);
  const auto bytes = static_cast<size_t>(std::max<int64_t>(bytes_, 1));
  cl_int code = CL_SUCCESS;
  if (memory().svm() == nullptr) {
    mapped_ = static_cast<std::byte*>(api.EnqueueMapBuffer(stream_.queue(), memory().get(), CL_TRUE,
                                                           flags, offset, bytes, 0, nullptr,
                                                           nullptr, &code));
    return OpenClStatus(code, "OpenCL: mapping a buffer");
  }
  std::byte* const place = memory().svm() + offset;
  // Finely shared memory needs no mapping, only that the device has finished with it.
  code = memory().svm_is_fine() ? api.Finish(stream_.queue())
                                : api.EnqueueSVMMap(stream_.queue(), CL_TRUE, flags, place, bytes,
                                                    0, nullptr, nullptr);
  if (code == CL_SUCCESS) mapped_ = place;
  return OpenClStatus(code, "OpenCL: mapping shared virtual memory");
}

Status MappedTensor::MapImage(cl_map_flags flags) {
  const OpenClApi& api = stream_.device().api();
  const MemoryRequest image = RequestFor(tensor_.shape, tensor_.state);
  constexpr size_t kOrigin[3] = {0, 0, 0};
  const size_t region[3] = {static_cast<size_t>(image.width), static_cast<size_t>(image.height), 1};
  cl_int code = CL_SUCCESS;
  mapped_ = static_cast<std::byte*>(api.EnqueueMapImage(stream_.queue(), memory().get(), CL_TRUE,
                                                        flags, kOrigin, region, &row_pitch_,
                                                        nullptr, 0, nullptr, nullptr, &code));
  row_bytes_ = static_cast<size_t>(image.width * 4 * ByteSize(image.storage));
  return OpenClStatus(code, "OpenCL: mapping an image");
}

Status MappedTensor::PrepareStaging() {
  if (!HasGaps() && host_.storage == tensor_.state.storage &&
      SameOffsets(tensor_.shape, host_.layout, tensor_.state.layout))
    return OkStatus();
  ASSIGN_OR_RETURN(staging_, AllocateHost(StateBytes(tensor_.shape, host_)));
  return access_ == MapAccess::kRead ? ReadStaging() : OkStatus();
}

Status MappedTensor::ReadStaging() {
  stream_.CountConversion();
  if (!HasGaps()) {
    Reorder(tensor_.shape, tensor_.state, mapped_, host_, staging_.get());
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> dense, AllocateHost(bytes_));
  const auto rows = bytes_ / static_cast<int64_t>(row_bytes_);
  CopyRows(mapped_, row_pitch_, dense.get(), row_bytes_, row_bytes_, rows);
  Reorder(tensor_.shape, tensor_.state, dense.get(), host_, staging_.get());
  return OkStatus();
}

Status MappedTensor::WriteStaging() {
  stream_.CountConversion();
  if (!HasGaps()) {
    Reorder(tensor_.shape, host_, staging_.get(), tensor_.state, mapped_);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> dense, AllocateHost(bytes_));
  Reorder(tensor_.shape, host_, staging_.get(), tensor_.state, dense.get());
  const auto rows = bytes_ / static_cast<int64_t>(row_bytes_);
  CopyRows(dense.get(), row_bytes_, mapped_, row_pitch_, row_bytes_, rows);
  return OkStatus();
}

Status MappedTensor::Unmap() {
  if (mapped_ == nullptr) return OkStatus();
  const Status written =
      access_ == MapAccess::kWrite && staging_ != nullptr ? WriteStaging() : OkStatus();
  const Status unmapped = UnmapMemory();
  stream_.device().mapped().Remove(memory().get(), tensor_.offset, bytes_);
  mapped_ = nullptr;
  staging_.reset();
  return written.ok() ? unmapped : written;
}

Status MappedTensor::UnmapMemory() {
  const OpenClApi& api = stream_.device().api();
  if (memory().svm() == nullptr)
    return OpenClStatus(
        api.EnqueueUnmapMemObject(stream_.queue(), memory().get(), mapped_, 0, nullptr, nullptr),
        "OpenCL: unmapping a tensor");
  if (memory().svm_is_fine()) return OkStatus();
  return OpenClStatus(api.EnqueueSVMUnmap(stream_.queue(), mapped_, 0, nullptr, nullptr),
                      "OpenCL: unmapping shared virtual memory");
}

}  // namespace fettle
