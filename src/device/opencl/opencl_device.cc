#include "device/opencl/opencl_device.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/memory_budget.h"
#include "device/opencl/launch_graphs.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

/// An index or a part of a name.
bool Matches(std::string_view wanted, int index, std::string_view name) {
  int number = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (error == std::errc() && end == wanted.data() + wanted.size()) return number == index;
  return Contains(name, wanted);
}

std::string NamesOf(std::span<const OpenClListing> listings) {
  std::string names;
  for (const OpenClListing& listing : listings)
    names += fmt::format("{}{}:{} '{}' ({})", names.empty() ? "" : ", ", listing.platform_index,
                         listing.device_index, listing.facts.name, listing.facts.platform);
  return names.empty() ? "none" : names;
}

/// `context` for as long as its memory lives, which takes `bytes` of the host's where the device is
/// the host or shares its memory. Fails as MemoryBudget::Take does.
Result<std::shared_ptr<void>> Counted(const std::shared_ptr<void>& context,
                                      const OpenClFacts& facts, int64_t bytes) {
  if (bytes == 0 || !(facts.is_cpu || facts.unified_memory)) return context;
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::Current();
  RETURN_IF_ERROR(budget->Take(bytes));
  return std::shared_ptr<void>(context.get(),
                               [context, budget, bytes](void*) { budget->GiveBack(bytes); });
}

cl_image_format RgbaFormat(DType storage) {
  return {CL_RGBA, static_cast<cl_channel_type>(storage == DType::kF16 ? CL_HALF_FLOAT : CL_FLOAT)};
}

cl_image_desc Image2d(const MemoryRequest& request) {
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = std::max<int64_t>(request.width, 1);
  desc.image_height = std::max<int64_t>(request.height, 1);
  return desc;
}

bool CanReadAndWrite(const OpenClApi& api, cl_context context, DType storage) {
  cl_uint count = 0;
  if (api.GetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr,
                                   &count) != CL_SUCCESS)
    return false;
  std::vector<cl_image_format> formats(count);
  if (count == 0 || api.GetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D,
                                                 count, formats.data(), nullptr) != CL_SUCCESS)
    return false;
  const cl_image_format wanted = RgbaFormat(storage);
  return std::any_of(formats.begin(), formats.end(), [&](const cl_image_format& format) {
    return format.image_channel_order == wanted.image_channel_order &&
           format.image_channel_data_type == wanted.image_channel_data_type;
  });
}

Status CheckShared(const OpenClFacts& facts, SharedVirtualMemory svm) {
  const bool coarse = svm == SharedVirtualMemory::kCoarse, fine = svm == SharedVirtualMemory::kFine;
  if ((!coarse || facts.svm_coarse) && (!fine || facts.svm_fine)) return OkStatus();
  return Unsupported("OpenCL: '{}' has no {} shared virtual memory", facts.name,
                     fine ? "fine" : "coarse");
}

}  // namespace

Result<const OpenClListing*> ChooseOpenClDevice(std::span<const OpenClListing> listings,
                                                std::string_view choice) {
  const auto colon = choice.find(':');
  const std::string_view platform = choice.substr(0, colon);
  const std::string_view device =
      colon == std::string_view::npos ? std::string_view() : choice.substr(colon + 1);
  const OpenClListing* chosen = nullptr;
  for (const OpenClListing& listing : listings) {
    if (!platform.empty() && !Matches(platform, listing.platform_index, listing.facts.platform))
      continue;
    if (!device.empty() && !Matches(device, listing.device_index, listing.facts.name)) continue;
    if (chosen == nullptr || (chosen->facts.is_cpu && !listing.facts.is_cpu)) chosen = &listing;
  }
  if (chosen == nullptr)
    return Error(StatusCode::kDeviceUnavailable, "OpenCL: no device is named '{}'; known: {}",
                 choice.empty() ? "any" : choice, NamesOf(listings));
  return chosen;
}

OpenClKernel::OpenClKernel(const OpenClApi& api, const OpenClFacts& facts, cl_kernel kernel,
                           std::shared_ptr<OpenClProgram> program, std::string function,
                           size_t most_items)
    : api_(api),
      facts_(facts),
      kernel_(kernel),
      program_(std::move(program)),
      function_(std::move(function)),
      most_items_(most_items) {}
OpenClKernel::~OpenClKernel() { api_.ReleaseKernel(kernel_); }

std::shared_ptr<LaunchPace> OpenClKernel::PaceOf(uint64_t sizes) const {
  std::shared_ptr<LaunchPace>& pace = paces_[sizes];
  if (pace == nullptr) pace = std::make_shared<LaunchPace>();
  return pace;
}

OpenClDevice::OpenClDevice() = default;
OpenClDevice::~OpenClDevice() = default;

std::vector<ProgramBinary> OpenClDevice::ExportPrograms() const { return programs_->Export(); }
void OpenClDevice::ImportPrograms(std::vector<ProgramBinary> binaries) const {
  programs_->Import(std::move(binaries));
}

Result<std::shared_ptr<OpenClDevice>> OpenClDevice::Open(std::string_view choice,
                                                         const OpenClOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<OpenClListing> listings, ListOpenClDevices());
  ASSIGN_OR_RETURN(const OpenClListing* listing, ChooseOpenClDevice(listings, choice));
  return Open(*listing, options);
}

Result<std::shared_ptr<OpenClDevice>> OpenClDevice::Open(const OpenClListing& listing,
                                                         const OpenClOptions& options) {
  std::shared_ptr<OpenClDevice> device(new OpenClDevice());
  device->api_ = options.api;
  if (device->api_ == nullptr) {
    ASSIGN_OR_RETURN(device->api_, LoadOpenCl());
  }
  const OpenClApi& api = *device->api_;
  device->id_ = listing.device;
  device->facts_ = listing.facts;
  device->facts_.unified_memory = listing.facts.unified_memory && !options.own_memory;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(listing.platform), 0};
  cl_int code = CL_SUCCESS;
  cl_context context = api.CreateContext(properties, 1, &listing.device, nullptr, nullptr, &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: opening '" + listing.facts.name + "'"));
  device->context_ = std::shared_ptr<void>(
      context, [&api](void* c) { api.ReleaseContext(static_cast<cl_context>(c)); });
  if (device->facts_.images) {
    device->facts_.images = CanReadAndWrite(api, context, DType::kF32);
    device->facts_.half_images = CanReadAndWrite(api, context, DType::kF16);
  }
  device->fingerprint_ = Fingerprint(device->facts_);
  if (options.emulate_fp16 && !device->facts_.fp16_compute) {
    device->facts_.fp16_compute = device->facts_.fp16_emulated = true;
    device->fingerprint_ += " (f16 emulated)";
  }
  if (options.emulate_mma) {
    device->facts_.mma = {.available = true,
                          .bits = true,
                          .emulated = true,
                          .warpgroups = true,
                          .float_warpgroups = true,
                          .byte_warpgroups = true,
                          .local_bytes = device->facts_.local_bytes};
    device->fingerprint_ += " (mma emulated)";
  }
  device->svm_ = options.svm;
  device->pacing_ = options.pacing;
  RETURN_IF_ERROR(CheckShared(device->facts_, options.svm));
  device->programs_ =
      std::make_unique<OpenClPrograms>(api, device->context_, listing.device, device->fingerprint_,
                                       options.cache, !options.only_compiles);
  device->uploads_ = std::make_unique<UploadQueue>(api, device->context_, listing.device);
  device->pinned_ = std::make_shared<PinnedPool>(api, device->context_, listing.device);
  return device;
}

Status OpenClDevice::CheckLimits(const MemoryRequest& request) const {
  if (request.kind == MemoryKind::kHost) return Unsupported("'{}' has no host memory", facts_.name);
  if (request.kind == MemoryKind::kBuffer) {
    if (facts_.max_allocation_bytes == 0 || request.bytes <= facts_.max_allocation_bytes)
      return OkStatus();
    return Error(StatusCode::kOutOfMemory, "a buffer of {} bytes: '{}' allocates at most {}",
                 request.bytes, facts_.name, facts_.max_allocation_bytes);
  }
  if (request.storage != DType::kF32 && request.storage != DType::kF16)
    return Unsupported("images hold f32 or f16, not {}", DTypeName(request.storage));
  if (!facts_.images || (request.storage == DType::kF16 && !facts_.half_images))
    return Unsupported("'{}' has no RGBA images of {}", facts_.name, DTypeName(request.storage));
  if (request.kind == MemoryKind::kImage1d) {
    if (request.width <= facts_.image1d_buffer_max_pixels) return OkStatus();
    return Unsupported("a buffer of {} pixels read as an image: '{}' has at most {}", request.width,
                       facts_.name, facts_.image1d_buffer_max_pixels);
  }
  if (request.width <= facts_.image2d_max_width && request.height <= facts_.image2d_max_height)
    return OkStatus();
  return Unsupported("an image of {}x{} pixels: '{}' has at most {}x{}", request.width,
                     request.height, facts_.name, facts_.image2d_max_width,
                     facts_.image2d_max_height);
}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::Allocate(const MemoryRequest& request) const {
  RETURN_IF_ERROR(CheckLimits(request));
  const auto plain = [&](const MemoryRequest& wanted) -> Result<std::shared_ptr<DeviceMemory>> {
    ASSIGN_OR_RETURN(std::shared_ptr<void> owned, Counted(context_, facts_, wanted.bytes));
    cl_int code = CL_SUCCESS;
    cl_mem memory =
        api_->CreateBuffer(context(), Flags(), std::max<int64_t>(wanted.bytes, 1), nullptr, &code);
    RETURN_IF_ERROR(OpenClStatus(code, fmt::format("OpenCL: allocating {} bytes", wanted.bytes)));
    using Made = std::shared_ptr<DeviceMemory>;
    return Made(std::make_shared<OpenClMemory>(wanted, *api_, memory, std::move(owned)));
  };
  if (request.kind == MemoryKind::kImage1d) {
    const MemoryRequest bytes{.kind = MemoryKind::kBuffer,
                              .bytes = StorageBytes(request.storage, request.width * 4)};
    // The image retains its buffer. Kernels read no image of imported memory.
    ASSIGN_OR_RETURN(const std::shared_ptr<DeviceMemory> buffer,
                     svm_ != SharedVirtualMemory::kOff ? MakeSharedBuffer(bytes) : plain(bytes));
    return ViewAsImage1d(*buffer, request.width, request.storage);
  }
  if (request.kind == MemoryKind::kImage2d) return MakeImage(request, Image2d(request), Flags());
  if (svm_ != SharedVirtualMemory::kOff) return MakeSharedBuffer(request);
  return graphs() == nullptr ? plain(request) : MakeGraphBuffer(request);
}

/// A device that is the host, or shares its memory, takes the bytes as they are. To others they are
/// written: a driver that is handed them while a buffer is made may keep a copy of its own, and
/// bring that over when a kernel first reads it.
Result<std::shared_ptr<DeviceMemory>> OpenClDevice::Upload(
    const std::shared_ptr<const std::byte>& data, int64_t bytes) const {
  if (bytes == 0) return Device::Upload(data, bytes);
  const MemoryRequest request{.kind = MemoryKind::kBuffer, .bytes = bytes};
  RETURN_IF_ERROR(CheckLimits(request));
  const bool writes = !facts_.is_cpu && !facts_.unified_memory;
  const std::string what = fmt::format("OpenCL: uploading {} bytes", bytes);
  if (writes && svm_ == SharedVirtualMemory::kOff && graphs() != nullptr) {
    ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> made, MakeGraphBuffer(request));
    RETURN_IF_ERROR(
        OpenClStatus(uploads_->Write(static_cast<cl_mem>(made->base()), data.get(), bytes), what));
    return made;
  }
  // A device that is the host reads what is there.
  ASSIGN_OR_RETURN(std::shared_ptr<void> owned,
                   Counted(context_, facts_, facts_.is_cpu ? 0 : bytes));
  cl_int code = CL_SUCCESS;
  const cl_mem_flags how = facts_.is_cpu ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
  cl_mem memory = api_->CreateBuffer(context(), CL_MEM_READ_ONLY | (writes ? 0 : how), bytes,
                                     writes ? nullptr : const_cast<std::byte*>(data.get()), &code);
  RETURN_IF_ERROR(OpenClStatus(code, what));
  std::shared_ptr<DeviceMemory> made = std::make_shared<OpenClMemory>(
      request, *api_, memory, std::move(owned), facts_.is_cpu ? data : nullptr);
  if (writes) RETURN_IF_ERROR(OpenClStatus(uploads_->Write(memory, data.get(), bytes), what));
  return made;
}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::MakeSharedBuffer(
    const MemoryRequest& request) const {
  ASSIGN_OR_RETURN(std::shared_ptr<void> counted, Counted(context_, facts_, request.bytes));
  const bool is_fine = svm_ == SharedVirtualMemory::kFine;
  const size_t bytes = std::max<int64_t>(request.bytes, 1);
  void* svm = api_->SVMAlloc(
      context(), CL_MEM_READ_WRITE | (is_fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0), bytes, 0);
  const std::string what = fmt::format("OpenCL: allocating {} shared bytes", request.bytes);
  if (svm == nullptr) return OpenClStatus(CL_MEM_OBJECT_ALLOCATION_FAILURE, what);
  struct Owned {
    const OpenClApi* api;
    std::shared_ptr<void> context;
    void* svm;
    void Free() { api->SVMFree(static_cast<cl_context>(context.get()), svm); }
  };
  auto owned = std::make_unique<Owned>(Owned{api_, context_, svm});
  cl_int code = CL_SUCCESS;
  cl_mem memory =
      api_->CreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, svm, &code);
  if (code != CL_SUCCESS) owned->Free();
  RETURN_IF_ERROR(OpenClStatus(code, what));
  // Launches may still use the buffer when its last owner lets go of it.
  code = api_->SetMemObjectDestructorCallback(
      memory,
      [](cl_mem, void* data) {
        const std::unique_ptr<Owned> last(static_cast<Owned*>(data));
        last->Free();
      },
      owned.get());
  if (code == CL_SUCCESS) static_cast<void>(owned.release());
  RETURN_IF_ERROR(OpenClStatus(code, what));
  return std::shared_ptr<DeviceMemory>(std::make_shared<OpenClMemory>(
      request, *api_, memory, std::move(counted), static_cast<std::byte*>(svm), is_fine));
}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::MakeImage(const MemoryRequest& request,
                                                              const cl_image_desc& desc,
                                                              cl_mem_flags flags) const {
  // An image of one axis lies in a buffer, which is counted.
  const int64_t pixels = request.kind == MemoryKind::kImage2d ? request.width * request.height : 0;
  ASSIGN_OR_RETURN(std::shared_ptr<void> owned,
                   Counted(context_, facts_, StorageBytes(request.storage, pixels * 4)));
  const cl_image_format format = RgbaFormat(request.storage);
  cl_int code = CL_SUCCESS;
  cl_mem memory = api_->CreateImage(context(), flags, &format, &desc, nullptr, &code);
  RETURN_IF_ERROR(OpenClStatus(
      code, fmt::format("OpenCL: an image of {}x{} pixels", request.width, request.height)));
  return std::shared_ptr<DeviceMemory>(
      std::make_shared<OpenClMemory>(request, *api_, memory, std::move(owned)));
}

Result<std::shared_ptr<DeviceMemory>> OpenClDevice::ViewAsImage1d(const DeviceMemory& buffer,
                                                                  int64_t pixels,
                                                                  DType storage) const {
  const MemoryRequest request{.kind = MemoryKind::kImage1d,
                              .bytes = StorageBytes(storage, pixels * 4),
                              .width = pixels,
                              .height = 1,
                              .storage = storage};
  RETURN_IF_ERROR(CheckLimits(request));
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  desc.image_width = pixels;
  desc.buffer = static_cast<cl_mem>(buffer.base());
  return MakeImage(request, desc, CL_MEM_READ_WRITE);
}

Result<std::unique_ptr<Stream>> OpenClDevice::NewStream(const StreamOptions& options) const {
  ASSIGN_OR_RETURN(std::unique_ptr<OpenClStream> stream,
                   OpenClStream::Create(shared_from_this(), options));
  return std::unique_ptr<Stream>(std::move(stream));
}

Result<std::shared_ptr<OpenClKernel>> OpenClDevice::BuildKernel(const ProgramSource& source,
                                                                const std::string& kernel) const {
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClProgram> program, programs_->Get(source));
  cl_int code = CL_SUCCESS;
  cl_kernel made = api_->CreateKernel(program->get(), kernel.c_str(), &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: kernel '" + kernel + "'"));
  size_t most_items = 0;
  if (api_->GetKernelWorkGroupInfo(made, id_, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most_items),
                                   &most_items, nullptr) != CL_SUCCESS)
    most_items = 0;
  return std::make_shared<OpenClKernel>(*api_, facts_, made, std::move(program), kernel,
                                        most_items);
}

}  // namespace fettle
