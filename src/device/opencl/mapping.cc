#include "device/opencl/mapping.h"

namespace fettle {
namespace {

cl_map_flags FlagsOf(MapAccess access) {
  switch (access) {
    case MapAccess::kRead: return CL_MAP_READ;
    case MapAccess::kWrite: return CL_MAP_WRITE_INVALIDATE_REGION;
    case MapAccess::kReadWrite: break;
  }
  return CL_MAP_READ | CL_MAP_WRITE;
}

}  // namespace

Result<std::unique_ptr<MappedTensor>> OpenClMapping::Map(OpenClStream& stream,
                                                         const DeviceTensor& tensor,
                                                         const HostForm& host, MapAccess access) {
  std::unique_ptr<OpenClMapping> mapping(new OpenClMapping(stream, tensor, host, access));
  RETURN_IF_ERROR(mapping->Start());
  return std::unique_ptr<MappedTensor>(std::move(mapping));
}

Result<MappedTensor::Region> OpenClMapping::Take() {
  MappedRegions& mapped = stream_.device().mapped();
  if (!mapped.Add(memory().get(), tensor().offset, bytes()))
    return Error(StatusCode::kBusy, "OpenCL: mapping a tensor: part of it is mapped already");
  Result<Region> region = TakeMemory();
  if (!region.ok()) mapped.Remove(memory().get(), tensor().offset, bytes());
  return region;
}

Result<MappedTensor::Region> OpenClMapping::TakeCopy() {
  cuda::Copies& copies = stream_.device().graphs()->copies();
  *address_ += static_cast<cuda::Address>(tensor().offset);
  copy_ = copies.HostMemory(std::max<int64_t>(bytes(), 1));
  stream_.CountMap(true, bytes());
  if (access() != MapAccess::kWrite)
    RETURN_IF_ERROR(copies.FromDevice(copy_.get(), *address_, bytes()));
  return Region{.data = copy_.get()};
}

Result<MappedTensor::Region> OpenClMapping::TakeMemory() {
  if (memory().svm() == nullptr && memory().request().kind == MemoryKind::kBuffer) {
    ASSIGN_OR_RETURN(address_, stream_.CopiedByCuda(memory().get()));
    if (address_) return TakeCopy();
  }
  RETURN_IF_ERROR(stream_.TakeTurn());
  // Finely shared memory needs no map.
  if (!memory().svm_is_fine())
    stream_.CountMap(memory().svm() == nullptr && !stream_.device().facts().unified_memory,
                     bytes());
  const cl_map_flags flags = FlagsOf(access());
  return memory().request().kind == MemoryKind::kImage2d ? TakeImage(flags) : TakeBuffer(flags);
}

Result<MappedTensor::Region> OpenClMapping::TakeBuffer(cl_map_flags flags) {
  const OpenClApi& api = stream_.device().api();
  const size_t offset = tensor().offset;
  const size_t size = std::max<int64_t>(bytes(), 1);
  Region region;
  cl_int code = CL_SUCCESS;
  if (memory().svm() == nullptr) {
    region.data = static_cast<std::byte*>(api.EnqueueMapBuffer(
        stream_.queue(), memory().get(), CL_TRUE, flags, offset, size, 0, nullptr, nullptr, &code));
    RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: mapping a buffer"));
    return region;
  }
  region.data = memory().svm() + offset;
  code = memory().svm_is_fine() ? api.Finish(stream_.queue())
                                : api.EnqueueSVMMap(stream_.queue(), CL_TRUE, flags, region.data,
                                                    size, 0, nullptr, nullptr);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: mapping shared virtual memory"));
  return region;
}

Result<MappedTensor::Region> OpenClMapping::TakeImage(cl_map_flags flags) {
  const OpenClApi& api = stream_.device().api();
  const MemoryRequest image = RequestFor(tensor().shape, tensor().state);
  constexpr size_t kOrigin[3] = {0, 0, 0};
  const size_t extent[3] = {static_cast<size_t>(image.width), static_cast<size_t>(image.height), 1};
  Region region{.row_bytes = StorageBytes(image.storage, image.width * 4)};
  cl_int code = CL_SUCCESS;
  size_t pitch = 0;
  region.data = static_cast<std::byte*>(api.EnqueueMapImage(stream_.queue(), memory().get(),
                                                            CL_TRUE, flags, kOrigin, extent, &pitch,
                                                            nullptr, 0, nullptr, nullptr, &code));
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: mapping an image"));
  region.row_pitch = static_cast<int64_t>(pitch);
  return region;
}

Status OpenClMapping::Give(const Region& region) {
  const Status given = GiveMemory(region);
  stream_.device().mapped().Remove(memory().get(), tensor().offset, bytes());
  return given;
}

Status OpenClMapping::GiveMemory(const Region& region) {
  if (address_ && access() == MapAccess::kRead) return OkStatus();
  if (address_)
    return stream_.device().graphs()->copies().ToDevice(*address_, region.data, bytes());
  RETURN_IF_ERROR(stream_.TakeTurn());
  const OpenClApi& api = stream_.device().api();
  if (memory().svm() == nullptr)
    return OpenClStatus(api.EnqueueUnmapMemObject(stream_.queue(), memory().get(), region.data, 0,
                                                  nullptr, nullptr),
                        "OpenCL: unmapping a tensor");
  if (memory().svm_is_fine()) return OkStatus();
  return OpenClStatus(api.EnqueueSVMUnmap(stream_.queue(), region.data, 0, nullptr, nullptr),
                      "OpenCL: unmapping shared virtual memory");
}

Result<std::unique_ptr<MappedTensor>> OpenClStream::Map(const DeviceTensor& tensor,
                                                        const HostForm& host, MapAccess access) {
  return OpenClMapping::Map(*this, tensor, host, access);
}

}  // namespace fettle
