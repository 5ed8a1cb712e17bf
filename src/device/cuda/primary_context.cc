#include "device/cuda/primary_context.h"

#include <cstring>

namespace fettle::cuda {
namespace {

fettle::Result<Device> DeviceOf(const Uuid& wanted, const Api& api) {
  int devices = 0;
  RETURN_IF_ERROR(StatusOf(api, api.DeviceGetCount(&devices), "counting devices"));
  for (int i = 0; i < devices; ++i) {
    Device device = 0;
    Uuid uuid{};
    if (api.DeviceGet(&device, i) == 0 && api.DeviceGetUuid(&uuid, device) == 0 &&
        std::memcmp(&uuid, &wanted, sizeof(uuid)) == 0)
      return device;
  }
  return Error(StatusCode::kDeviceUnavailable, "CUDA: the device is not among the {} there are",
               devices);
}

}  // namespace

fettle::Result<std::shared_ptr<PrimaryContext>> PrimaryContext::Open(const Uuid& uuid,
                                                                     const Api& api) {
  ASSIGN_OR_RETURN(const Device device, DeviceOf(uuid, api));
  Context context = nullptr;
  RETURN_IF_ERROR(StatusOf(api, api.PrimaryContextRetain(&context, device), "opening the device"));
  return std::shared_ptr<PrimaryContext>(new PrimaryContext(api, device, context));
}

}  // namespace fettle::cuda
