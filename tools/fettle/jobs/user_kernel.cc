#include "jobs/user_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "io/gzip.h"
#include "tuner/search/expression.h"

namespace fettle::tools {
namespace {

using tuner::Point;
using tuner::SearchSpace;

template <size_t kBytes>
KernelArg BytesArg(const std::byte* bytes) {
  std::array<std::byte, kBytes> value;
  std::memcpy(value.data(), bytes, kBytes);
  return value;
}

KernelArg ScalarArg(const Tensor& value) {
  switch (ByteSize(value.dtype())) {
    case 1: return BytesArg<1>(value.data());
    case 2: return BytesArg<2>(value.data());
    case 4: return BytesArg<4>(value.data());
    default: return BytesArg<8>(value.data());
  }
}

/// Expressions over the parameters of one configuration.
class Configuration {
 public:
  Configuration(const SearchSpace& space, const Point& point) {
    for (int i = 0; i < space.dimensions(); ++i) {
      names_.push_back(space.parameters()[static_cast<size_t>(i)].name);
      values_.push_back(&space.ValueOf(point, i));
    }
  }

  std::string Defines() const {
    std::string text;
    for (size_t i = 0; i < names_.size(); ++i)
      text += fmt::format(" -D{}={}", names_[i], tuner::PrintValue(*values_[i]));
    return text;
  }

  Result<size_t> Size(const std::string& text) const {
    ASSIGN_OR_RETURN(const tuner::Expression expression, tuner::Expression::Parse(text, names_));
    const std::optional<int64_t> value = expression.WholeNumber(values_);
    if (!value || *value < 1)
      return InvalidArgument("size '{}': expected a whole number over 0", text);
    return static_cast<size_t>(*value);
  }

  Result<WorkSizes> Sizes(const UserFunction& function) const {
    WorkSizes sizes;
    for (size_t axis = 0; axis < 3; ++axis) {
      ASSIGN_OR_RETURN(sizes.gws[axis], Size(function.global[axis]));
      if (function.local[0].empty()) continue;
      ASSIGN_OR_RETURN(sizes.lws[axis], Size(function.local[axis]));
      if (function.global_counts_groups) sizes.gws[axis] *= sizes.lws[axis];
    }
    return sizes;
  }

 private:
  std::vector<std::string> names_;
  std::vector<const tuner::Value*> values_;
};

}  // namespace

Status UserKernelRunner::MakeArguments(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const UserArgument& argument : kernel_.arguments) {
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(argument.type, {argument.elements}));
    const HostView view = tensor.view();
    for (int64_t i = 0; i < argument.elements; ++i) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      view.SetDouble(i, argument.is_random ? unit * argument.fill : argument.fill);
    }
    std::shared_ptr<DeviceMemory> memory;
    if (argument.is_vector) {
      const auto bytes = static_cast<int64_t>(tensor.bytes().size());
      ASSIGN_OR_RETURN(memory, device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
      RETURN_IF_ERROR(stream_->Write(*memory, 0, tensor.data(), bytes));
    }
    initial_.push_back(std::move(tensor));
    memory_.push_back(std::move(memory));
  }
  return OkStatus();
}

std::vector<KernelArg> UserKernelRunner::Args() const {
  std::vector<KernelArg> args;
  for (size_t i = 0; i < memory_.size(); ++i)
    args.push_back(memory_[i] ? KernelArg(memory_[i]->location()) : ScalarArg(initial_[i]));
  return args;
}

/// Outputs that are not read are filled with bits that are NaN in every float type.
Status UserKernelRunner::ResetOutputs() {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const UserArgument& argument = kernel_.arguments[i];
    if (!argument.is_written) continue;
    const std::span<const std::byte> bytes = initial_[i].bytes();
    const std::vector<std::byte> poison(bytes.size(), std::byte{0xff});
    RETURN_IF_ERROR(stream_->Write(*memory_[i], 0, argument.is_read ? bytes.data() : poison.data(),
                                   static_cast<int64_t>(bytes.size())));
  }
  return OkStatus();
}

Result<std::vector<Tensor>> UserKernelRunner::ReadOutputs() {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!kernel_.arguments[i].is_written) continue;
    ASSIGN_OR_RETURN(Tensor output,
                     Tensor::Create(kernel_.arguments[i].type, {kernel_.arguments[i].elements}));
    RETURN_IF_ERROR(
        stream_->Read(output.data(), *memory_[i], 0, static_cast<int64_t>(output.bytes().size())));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Status UserKernelRunner::MakeExpected() {
  if (kernel_.reference) {
    const UserFunction& reference = *kernel_.reference;
    ASSIGN_OR_RETURN(const auto function,
                     device_->BuildKernel({reference.file, reference.source, reference.options},
                                          reference.name));
    // Its sizes name no parameters, so that any space of one point will do.
    ASSIGN_OR_RETURN(const SearchSpace none, SearchSpace::Create({{"reference", {int64_t{1}}}}));
    ASSIGN_OR_RETURN(const WorkSizes sizes, Configuration(none, {0}).Sizes(reference));
    RETURN_IF_ERROR(ResetOutputs());
    RETURN_IF_ERROR(stream_->Launch(*function, sizes, Args()));
    ASSIGN_OR_RETURN(expected_, ReadOutputs());
    return OkStatus();
  }
  for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
    const UserArgument& argument = kernel_.arguments[i];
    if (!argument.is_written) continue;
    if (kernel_.expected_files[i].empty())
      return InvalidArgument("output '{}': expected a 'Reference' kernel or an 'ExpectedFile'",
                             argument.name);
    ASSIGN_OR_RETURN(const std::string bytes, ReadMaybeGzip(kernel_.expected_files[i]));
    ASSIGN_OR_RETURN(Tensor expected, Tensor::Create(argument.type, {argument.elements}));
    if (bytes.size() != expected.bytes().size())
      return InvalidArgument("{}: expected {} bytes, got {}", kernel_.expected_files[i],
                             expected.bytes().size(), bytes.size());
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    expected_.push_back(std::move(expected));
  }
  return OkStatus();
}

Result<std::unique_ptr<UserKernelRunner>> UserKernelRunner::Create(
    UserKernel kernel, std::shared_ptr<OpenClDevice> device, const StreamOptions& stream,
    uint64_t seed) {
  std::unique_ptr<UserKernelRunner> runner(new UserKernelRunner());
  runner->kernel_ = std::move(kernel);
  runner->device_ = std::move(device);
  ASSIGN_OR_RETURN(runner->stream_, OpenClStream::Create(runner->device_, stream));
  RETURN_IF_ERROR(runner->MakeArguments(seed));
  RETURN_IF_ERROR(runner->MakeExpected());
  if (runner->expected_.empty())
    return InvalidArgument(
        "no argument is written: expected one with 'AccessType' WriteOnly or "
        "ReadWrite");
  return runner;
}

Status UserKernelRunner::CheckOutputs() {
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, ReadOutputs());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const HostView want = expected_[i].view();
    double largest = 0;
    for (int64_t e = 0; e < expected_[i].elements(); ++e)
      if (std::isfinite(want.GetDouble(e)))
        largest = std::max(largest, std::abs(want.GetDouble(e)));
    const double slack = IsFloat(want.dtype) ? kernel_.tolerance * largest : 0;
    const Difference difference = Compare(outputs[i].view(), want, {.atol = slack});
    if (!difference.ok())
      return InvalidArgument("wrong result: {}", difference.ToString(outputs[i].shape()));
  }
  return OkStatus();
}

Result<LaunchTimes> UserKernelRunner::Run(const SearchSpace& space, const Point& point,
                                          bool* is_wrong) {
  *is_wrong = false;
  const Configuration configuration(space, point);
  const UserFunction& tuned = kernel_.tuned;
  ASSIGN_OR_RETURN(const WorkSizes sizes, configuration.Sizes(tuned));
  ASSIGN_OR_RETURN(
      const auto function,
      device_->BuildKernel({tuned.file, tuned.source, tuned.options + configuration.Defines()},
                           tuned.name));
  const std::vector<KernelArg> args = Args();
  const auto launch = [&] { return stream_->Launch(*function, sizes, args); };
  RETURN_IF_ERROR(ResetOutputs());
  RETURN_IF_ERROR(launch());
  RETURN_IF_ERROR(stream_->Synchronise());
  const Status right = CheckOutputs();
  if (!right.ok()) {
    *is_wrong = true;
    return right;
  }
  constexpr int kRuns = 5;
  constexpr double kMostSeconds = 2;
  return TimeLaunches(launch, *stream_, 1, kRuns, kMostSeconds);
}

}  // namespace fettle::tools
