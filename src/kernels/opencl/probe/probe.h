// The ceilings of an OpenCL device, measured: what its kernels' times are compared with.
#pragma once

#include <string_view>

#include "base/status.h"
#include "device/device.h"

namespace fettle::kernels {

/// Of the whole device, the best repeats.
struct OpenClCeilings {
  double flops = 0;        // fp32 operations per second, a multiply-add counts two
  double read_rate = 0;    // bytes per second from the nearest cache that a small buffer stays in
  double global_rate = 0;  // bytes per second from a buffer larger than the caches
  double launch_us = 0;    // microseconds that a launch without work adds to a full queue
  double to_device_rate = 0, to_host_rate = 0;  // bytes per second of large writes and reads
  /// How far the worst repeat of each lay below the best, as a share of that.
  double flops_spread = 0, read_spread = 0, global_spread = 0, launch_spread = 0,
         to_device_spread = 0, to_host_spread = 0;
};

/// The ceilings by name, for tables and for the database.
struct OpenClCeilingRow {
  std::string_view name, unit;
  double OpenClCeilings::*value;
  double OpenClCeilings::*spread;
};
inline constexpr OpenClCeilingRow kOpenClCeilings[] = {
    {"fp32 fma", "FLOP/s", &OpenClCeilings::flops, &OpenClCeilings::flops_spread},
    {"cached read", "B/s", &OpenClCeilings::read_rate, &OpenClCeilings::read_spread},
    {"global read", "B/s", &OpenClCeilings::global_rate, &OpenClCeilings::global_spread},
    {"launch us", "us", &OpenClCeilings::launch_us, &OpenClCeilings::launch_spread},
    {"host to device", "B/s", &OpenClCeilings::to_device_rate, &OpenClCeilings::to_device_spread},
    {"device to host", "B/s", &OpenClCeilings::to_host_rate, &OpenClCeilings::to_host_spread}};

/// Runs about 100 ms on a GPU, besides building two programs. Fails as building and launching do.
Result<OpenClCeilings> ProbeOpenCl(const Device& device);

}  // namespace fettle::kernels
