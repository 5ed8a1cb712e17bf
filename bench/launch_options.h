// What benchmarks of single launches on an OpenCL device are given:
//     [--device CHOICE] [--emulate] [--launches N] [--share I/N]
// --emulate computes matrix instructions without them. --share builds every N-th program and times
// nothing, so that several processes fill the driver's cache before one that measures.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "device/opencl/opencl_device.h"
#include "kernels/opencl/probe/mma.h"

namespace fettle::bench {

/// What follows `name`; null where it is not given, or last.
inline const char* OptionOf(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return nullptr;
}

/// The number that follows `name`.
inline int NumberOf(int argc, char** argv, std::string_view name, int otherwise) {
  const char* given = OptionOf(argc, argv, name);
  return given == nullptr ? otherwise : std::atoi(given);
}

struct LaunchOptions {
  std::shared_ptr<OpenClDevice> device;  // probed for matrix instructions
  int launches = 0;
  int share = 0, shares = 0;  // 0 of them: all programs, timed
};

/// `launches`: where they are not given. Ends the program where there is no such device.
inline LaunchOptions ReadLaunchOptions(int argc, char** argv, int launches) {
  LaunchOptions options{.launches = NumberOf(argc, argv, "--launches", launches)};
  OpenClOptions opencl;
  for (int i = 1; i < argc; ++i) opencl.emulate_mma |= argv[i] == std::string_view("--emulate");
  const char* choice = OptionOf(argc, argv, "--device");
  options.device = OpenClDevice::Open(choice == nullptr ? "" : choice, opencl).value();
  options.device->Learn(kernels::ProbeMma(*options.device).value());
  if (const char* share = OptionOf(argc, argv, "--share"); share != nullptr)
    std::sscanf(share, "%d/%d", &options.share, &options.shares);  // NOLINT
  return options;
}

}  // namespace fettle::bench
