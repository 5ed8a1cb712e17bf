#include "device/opencl/paper_device.h"

#include <algorithm>

namespace fettle {
namespace {

/// What a device of the paper driver points to.
struct PaperPixels {
  bool half = false;
};
constexpr PaperPixels kPixels[] = {{false}, {true}};

cl_context CL_API_CALL CreateContext(const cl_context_properties*, cl_uint,
                                     const cl_device_id* devices,
                                     void(CL_CALLBACK*)(const char*, const void*, size_t, void*),
                                     void*, cl_int* code) {
  *code = CL_SUCCESS;
  return reinterpret_cast<cl_context>(*devices);
}

cl_int CL_API_CALL ReleaseContext(cl_context) { return CL_SUCCESS; }

cl_int CL_API_CALL GetSupportedImageFormats(cl_context context, cl_mem_flags, cl_mem_object_type,
                                            cl_uint count, cl_image_format* formats,
                                            cl_uint* there_are) {
  const cl_uint known = reinterpret_cast<const PaperPixels*>(context)->half ? 2 : 1;
  if (there_are != nullptr) *there_are = known;
  for (cl_uint i = 0; formats != nullptr && i < std::min(count, known); ++i)
    formats[i] = {CL_RGBA, static_cast<cl_channel_type>(i == 0 ? CL_FLOAT : CL_HALF_FLOAT)};
  return CL_SUCCESS;
}

const OpenClApi& PaperApi() {
  static const OpenClApi api = [] {
    OpenClApi made;
    made.CreateContext = CreateContext;
    made.ReleaseContext = ReleaseContext;
    made.GetSupportedImageFormats = GetSupportedImageFormats;
    return made;
  }();
  return api;
}

}  // namespace

Result<std::shared_ptr<OpenClDevice>> OpenPaperDevice(const OpenClFacts& facts) {
  OpenClListing listing;
  const PaperPixels* pixels = &kPixels[facts.half_images ? 1 : 0];
  listing.device = reinterpret_cast<cl_device_id>(const_cast<PaperPixels*>(pixels));
  listing.facts = facts;
  ASSIGN_OR_RETURN(auto device, OpenClDevice::Open(listing, {.api = &PaperApi()}));
  device->Learn(facts.mma);
  return device;
}

}  // namespace fettle
