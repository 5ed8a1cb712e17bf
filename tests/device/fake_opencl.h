// An OpenCL driver of our own for tests of what drivers do badly: it fails, crashes, hangs and
// loses its device where a test says so, its clock is exact, and no command runs before it is
// waited for.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/opencl/opencl_stream.h"

namespace fettle {

/// One at a time; the functions of api() work on it. Buffers are host memory. A "program" is its
/// source, a "binary" the source with a word in front. Belongs to one thread.
class FakeOpenCl {
 public:
  FakeOpenCl();
  ~FakeOpenCl();
  const OpenClApi& api() const { return api_; }
  std::shared_ptr<OpenClDevice> Open(std::shared_ptr<ProgramCache> cache = nullptr,
                                     const std::string& driver = "1.0") const;

  // What a test says.
  cl_int build_result = CL_SUCCESS;
  bool takes_binaries = true;
  bool dies_in_build = false, dies_in_launch = false, hangs_in_build = false;
  cl_int allocation_result = CL_SUCCESS, map_result = CL_SUCCESS;
  cl_int wait_result = CL_SUCCESS;  // of WaitForEvents and Finish: a lost device
  size_t most_items = 0;            // CL_KERNEL_WORK_GROUP_SIZE; 0: it does not say
  size_t refuses_above = 0;         // items of a work-group; 0: takes any
  cl_int refusal = CL_OUT_OF_RESOURCES;
  double ns_per_item = 0;     // of every kernel
  double first_ns = 0;        // of the first command, beside its items
  bool runs_at_once = false;  // else commands finish when somebody waits
  bool knows_times = true;    // else events are 0 long

  // What happened.
  struct Command {
    std::array<size_t, 3> offset{}, gws{}, lws{};
    bool finished = false;
    double ns = 0;
    std::function<void()> copies;  // of a transfer: what happens when it runs
  };
  std::deque<Command> commands;  // in order
  int builds = 0, finishes = 0, refusals = 0, live_objects = 0;
  size_t most_unfinished = 0;
  std::string build_options;  // of the last build of a source

  void FinishUpTo(const Command* last);

 private:
  OpenClApi api_;
};

}  // namespace fettle
