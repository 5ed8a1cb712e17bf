// A user's OpenCL kernel as a T1 file describes it ('KernelSpecification'), and running it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/opencl/opencl_stream.h"
#include "jobs/opencl_timing.h"
#include "tensor/compare.h"
#include "tuner/search/space.h"

namespace fettle::tools {

struct UserArgument {
  std::string name;
  DType type = DType::kF32;
  bool is_vector = false;
  bool is_read = true, is_written = false;
  bool is_random = false;  // uniform in [-fill, fill], else every element is `fill`
  double fill = 0;
  int64_t elements = 1;
};

/// A function and how it is launched; sizes are expressions over the parameters.
struct UserFunction {
  std::string name, file, source, options;
  std::array<std::string, 3> global{"1", "1", "1"}, local{"", "", ""};
  bool global_counts_groups = false;  // 'GlobalSizeType': 'CUDA'
};

struct UserKernel {
  UserFunction tuned;
  /// What makes the expected output from the same arguments, built with the defaults; else files,
  /// one per written argument, raw.
  std::optional<UserFunction> reference;
  std::vector<std::string> expected_files;  // by argument; "" where there is none
  std::vector<UserArgument> arguments;
  /// Of the largest expected magnitude; integers are exact.
  double tolerance = 1e-4;
  /// 'Default' of each parameter; where left out, its first value.
  std::vector<tuner::Value> defaults;
};

/// Reads the part of a T1 file that ReadKernelSpec leaves. Files are found beside it. Fails with
/// kInvalidArgument naming file and place.
Result<UserKernel> ReadUserKernel(const std::string& path,
                                  const std::vector<tuner::Parameter>& parameters);

/// Runs configurations. Belongs to one thread.
class UserKernelRunner {
 public:
  /// Fills the arguments from `seed` and makes the expected outputs.
  static Result<std::unique_ptr<UserKernelRunner>> Create(UserKernel kernel,
                                                          std::shared_ptr<OpenClDevice> device,
                                                          const StreamOptions& stream,
                                                          uint64_t seed);
  /// The time of a configuration, or why it has none; `*is_wrong`: it ran and its output differs.
  Result<LaunchTimes> Run(const tuner::SearchSpace& space, const tuner::Point& point,
                          bool* is_wrong);
  const OpenClDevice& device() const { return *device_; }

 private:
  UserKernelRunner() = default;
  Status MakeArguments(uint64_t seed);
  Status MakeExpected();
  Status ResetOutputs();
  Result<std::vector<Tensor>> ReadOutputs();
  Status CheckOutputs();
  std::vector<KernelArg> Args() const;

  UserKernel kernel_;
  std::shared_ptr<OpenClDevice> device_;
  std::unique_ptr<OpenClStream> stream_;
  std::vector<Tensor> initial_;  // by argument
  std::vector<std::shared_ptr<DeviceMemory>> memory_;
  std::vector<Tensor> expected_;  // by written argument
};

}  // namespace fettle::tools
