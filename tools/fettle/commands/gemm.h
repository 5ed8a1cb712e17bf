// fettle gemm: its options, and the ladder of OpenCL devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/options.h"

namespace fettle::tools {

struct GemmOptions {
  CommonOptions common;
  int64_t m = 1024, n = 1024, k = 1024, batch = 1;
  std::string dtype = "f32";
  int warmup = 10, iters = 20;
  int64_t evals = 16;  // of each search on an OpenCL device; 0: none
  bool ladder = false;
};

/// The command where --device is an OpenCL one; the exit code.
int GemmOnOpenCl(const GemmOptions& options);

}  // namespace fettle::tools
