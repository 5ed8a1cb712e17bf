// What `fettle devices` says of the OpenCL devices of this machine.
#pragma once

#include "device/opencl/opencl_device.h"
#include "report/report.h"

namespace fettle::tools {

/// The OpenCL devices of this machine, opened; `reason` where there is none, or for one that cannot
/// be opened.
struct OpenClInventory {
  struct Entry {
    OpenClListing listing;  // facts as read from the open device
    std::string fingerprint;
    std::string error;  // why it cannot be opened; empty where it can
  };
  std::vector<Entry> devices;
  std::string reason;
};
OpenClInventory TakeOpenClInventory();

/// One object per device: choice (as --device takes it), identity, limits and abilities.
Json OpenClJson(const OpenClInventory& inventory);
/// The same as tables.
std::string OpenClText(const OpenClInventory& inventory);

}  // namespace fettle::tools
