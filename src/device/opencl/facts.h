// What matters of an OpenCL device: identity, limits and abilities, read once.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "device/opencl/api.h"

namespace fettle {

/// Instructions by which 32 neighbouring work-items multiply matrices (mma.sync, ldmatrix
/// and cp.async of PTX). Drivers do not report them: whoever opens the device runs them and says so
/// (kernels/opencl/probe/mma.h).
struct MmaFacts {
  bool available = false;
  bool bits = false;      // they count pairs of ones, too (kernels/opencl/probe/bit_mma.h)
  bool emulated = false;  // computed without them, which only tests ask for
  /// Also those by which 128 work-items do so from local memory (wgmma): of f16 and bf16, of
  /// TF32, and of bytes.
  bool warpgroups = false, float_warpgroups = false, byte_warpgroups = false;
  int64_t local_bytes = 0;  // what a work-group may declare: more than is reported, where it works
};

/// Sizes in bytes, extents in pixels; 0 where the device says nothing.
struct OpenClFacts {
  std::string platform, name, vendor, version, driver;
  /// "adreno", "mali", "powervr", "intel", "amd", "nvidia", "cpu" or "other": by name and type.
  std::string family;
  bool is_cpu = false;  // CL_DEVICE_TYPE_CPU
  int compute_units = 1;
  int64_t max_work_group_size = 1;
  std::array<int64_t, 3> max_work_item_sizes{1, 1, 1};
  int64_t global_bytes = 0, max_allocation_bytes = 0, global_cache_bytes = 0, local_bytes = 0;
  bool local_memory_is_dedicated = false;  // else it lies in global memory
  bool unified_memory = false;
  int64_t base_address_align = 128;
  bool images = false;
  int64_t image2d_max_width = 0, image2d_max_height = 0, image1d_buffer_max_pixels = 0;
  int64_t image_pitch_alignment_pixels = 1;
  bool half_images = false;    // RGBA CL_HALF_FLOAT can be read and written
  bool fp16_storage = true;    // vload_half and vstore_half are part of OpenCL 1.0
  bool fp16_compute = false;   // cl_khr_fp16, or
  bool fp16_emulated = false;  // f32 rounded to f16 after each operation, which only tests ask for
  MmaFacts mma;
  bool int8_dot = false;  // cl_khr_integer_dot_product
  bool svm_coarse = false, svm_fine = false;
  bool sub_groups = false;
  bool full_profile = true;
  std::vector<std::string> extensions;

  bool HasExtension(std::string_view extension) const;
};

/// Reads the facts of a device.
OpenClFacts ReadFacts(const OpenClApi& api, cl_platform_id platform, cl_device_id device);

/// "adreno", "mali", ...: the family of a device by its names.
std::string FamilyOf(std::string_view device, std::string_view vendor, bool is_cpu);

/// Text that changes whenever timings or program binaries may: device, driver and versions.
std::string Fingerprint(const OpenClFacts& facts);

/// A device that can be opened.
struct OpenClListing {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  int platform_index = 0, device_index = 0;
  OpenClFacts facts;
};

/// All devices of all platforms, in the loader's order. Empty where platforms have none;
/// kDeviceUnavailable where there is no loader or no platform.
Result<std::vector<OpenClListing>> ListOpenClDevices();

}  // namespace fettle
