#include "device/opencl/facts.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace fettle {
namespace {

/// No device has more; beyond them a driver errs, and sums of sizes would overflow.
constexpr cl_ulong kMostFactBytes = cl_ulong{1} << 50, kMostFactItems = 1 << 20;
constexpr cl_device_info kHalfFpConfig = 0x1033;  // CL_DEVICE_HALF_FP_CONFIG of cl_ext.h

std::string PlatformText(const OpenClApi& api, cl_platform_id platform, cl_platform_info what) {
  size_t size = 0;
  if (api.GetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (api.GetPlatformInfo(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.c_str();  // up to the terminating zero
}

/// Reads one fact after another; what a device does not know keeps its default.
class Reader {
 public:
  Reader(const OpenClApi& api, cl_device_id device) : api_(api), device_(device) {}

  template <typename T>
  T Get(cl_device_info what, T otherwise) const {
    T value{};
    return api_.GetDeviceInfo(device_, what, sizeof(T), &value, nullptr) == CL_SUCCESS ? value
                                                                                       : otherwise;
  }
  int64_t Size(cl_device_info what) const {
    return static_cast<int64_t>(std::min<cl_ulong>(Get<size_t>(what, 0), kMostFactBytes));
  }
  int64_t Bytes(cl_device_info what) const {
    return static_cast<int64_t>(std::min(Get<cl_ulong>(what, 0), kMostFactBytes));
  }
  bool Bool(cl_device_info what) const { return Get<cl_bool>(what, CL_FALSE) == CL_TRUE; }
  std::string Text(cl_device_info what) const {
    size_t size = 0;
    if (api_.GetDeviceInfo(device_, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::string text(size, '\0');
    if (api_.GetDeviceInfo(device_, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
    return text.c_str();
  }

 private:
  const OpenClApi& api_;
  cl_device_id device_;
};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// What is found first in "device vendor" names the family.
struct FamilyRow {
  std::string_view part;
  std::string_view family;
};
constexpr FamilyRow kFamilies[] = {
    {"adreno", "adreno"}, {"qualcomm", "adreno"}, {"mali", "mali"},
    {"arm", "mali"},      {"powervr", "powervr"}, {"imagination", "powervr"},
    {"nvidia", "nvidia"}, {"intel", "intel"},     {"advanced micro", "amd"},
    {"amd", "amd"},
};

void ReadLimits(const Reader& reader, OpenClFacts& facts) {
  facts.compute_units = static_cast<int>(
      std::clamp<cl_ulong>(reader.Get<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, 1), 1, kMostFactItems));
  facts.max_work_group_size = std::clamp<int64_t>(reader.Size(CL_DEVICE_MAX_WORK_GROUP_SIZE), 1,
                                                  static_cast<int64_t>(kMostFactItems));
  const auto items = reader.Get<std::array<size_t, 3>>(CL_DEVICE_MAX_WORK_ITEM_SIZES, {1, 1, 1});
  for (size_t axis = 0; axis < 3; ++axis)
    facts.max_work_item_sizes[axis] =
        static_cast<int64_t>(std::clamp<cl_ulong>(items[axis], 1, kMostFactBytes));
  facts.global_bytes = reader.Bytes(CL_DEVICE_GLOBAL_MEM_SIZE);
  facts.max_allocation_bytes = reader.Bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  facts.global_cache_bytes = reader.Bytes(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  facts.local_bytes = reader.Bytes(CL_DEVICE_LOCAL_MEM_SIZE);
  facts.local_memory_is_dedicated =
      reader.Get<cl_device_local_mem_type>(CL_DEVICE_LOCAL_MEM_TYPE, CL_GLOBAL) == CL_LOCAL;
  facts.unified_memory = reader.Bool(CL_DEVICE_HOST_UNIFIED_MEMORY);
  facts.base_address_align = reader.Get<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024) / 8;
}

void ReadImages(const Reader& reader, OpenClFacts& facts) {
  facts.images = reader.Bool(CL_DEVICE_IMAGE_SUPPORT);
  if (!facts.images) return;
  facts.image2d_max_width = reader.Size(CL_DEVICE_IMAGE2D_MAX_WIDTH);
  facts.image2d_max_height = reader.Size(CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  facts.image1d_buffer_max_pixels = reader.Size(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
  facts.image_pitch_alignment_pixels =
      std::max<cl_uint>(reader.Get<cl_uint>(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, 1), 1);
}

void ReadAbilities(const Reader& reader, OpenClFacts& facts) {
  std::istringstream words(reader.Text(CL_DEVICE_EXTENSIONS));
  for (std::string word; words >> word;) facts.extensions.push_back(word);
  // Some drivers name the extension and say that no f16 is computed.
  facts.fp16_compute = facts.HasExtension("cl_khr_fp16") &&
                       reader.Get<cl_device_fp_config>(kHalfFpConfig, CL_FP_INF_NAN) != 0;
  facts.int8_dot = facts.HasExtension("cl_khr_integer_dot_product");
  facts.sub_groups = facts.HasExtension("cl_khr_subgroups") ||
                     facts.HasExtension("cl_intel_subgroups") ||
                     reader.Get<cl_uint>(CL_DEVICE_MAX_NUM_SUB_GROUPS, 0) > 0;
  const auto svm = reader.Get<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES, 0);
  facts.svm_coarse = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
  facts.svm_fine = (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  facts.full_profile = reader.Text(CL_DEVICE_PROFILE) != "EMBEDDED_PROFILE";
}

}  // namespace

bool OpenClFacts::HasExtension(std::string_view extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::string FamilyOf(std::string_view device, std::string_view vendor, bool is_cpu) {
  if (is_cpu) return "cpu";
  const std::string names = LowerCase(device) + " " + LowerCase(vendor);
  for (const FamilyRow& row : kFamilies) {
    if (names.find(row.part) != std::string::npos) return std::string(row.family);
  }
  return "other";
}

OpenClFacts ReadFacts(const OpenClApi& api, cl_platform_id platform, cl_device_id device) {
  const Reader reader(api, device);
  OpenClFacts facts;
  facts.platform = PlatformText(api, platform, CL_PLATFORM_NAME);
  facts.name = reader.Text(CL_DEVICE_NAME);
  facts.vendor = reader.Text(CL_DEVICE_VENDOR);
  facts.version = reader.Text(CL_DEVICE_VERSION);
  facts.driver = reader.Text(CL_DRIVER_VERSION);
  // llvmpipe and its like say GPU, though they run on the processor.
  facts.is_cpu = (reader.Get<cl_device_type>(CL_DEVICE_TYPE, 0) & CL_DEVICE_TYPE_CPU) != 0 ||
                 facts.name.find("llvmpipe") != std::string::npos;
  facts.family = FamilyOf(facts.name, facts.vendor, facts.is_cpu);
  ReadLimits(reader, facts);
  ReadImages(reader, facts);
  ReadAbilities(reader, facts);
  return facts;
}

std::string Fingerprint(const OpenClFacts& facts) {
  return fmt::format("opencl|{}|{}|{}|{}|{}|{} units", facts.platform, facts.name, facts.vendor,
                     facts.version, facts.driver, facts.compute_units);
}

Result<std::vector<OpenClListing>> ListOpenClDevices() {
  ASSIGN_OR_RETURN(const OpenClApi* api, LoadOpenCl());
  cl_uint count = 0;
  if (api->GetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return Error(StatusCode::kDeviceUnavailable, "OpenCL: no platform is installed");
  std::vector<cl_platform_id> platforms(count);
  RETURN_IF_ERROR(OpenClStatus(api->GetPlatformIDs(count, platforms.data(), nullptr),
                               "OpenCL: listing platforms"));
  std::vector<OpenClListing> listings;
  for (cl_uint p = 0; p < count; ++p) {
    cl_uint devices = 0;
    if (api->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS)
      continue;  // a platform without devices answers CL_DEVICE_NOT_FOUND
    std::vector<cl_device_id> ids(devices);
    if (api->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr) !=
        CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < devices; ++d)
      listings.push_back({platforms[p], ids[d], static_cast<int>(p), static_cast<int>(d),
                          ReadFacts(*api, platforms[p], ids[d])});
  }
  return listings;
}

}  // namespace fettle
