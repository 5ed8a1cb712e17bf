// Whether a device runs chains of launches: one of three launches, each item of the last of which
// reads what other work-groups have written in the second, and what it has read before that.
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

constexpr const char* kProbeSource = R"(
__kernel void write_places(__global uint* out) {
  const uint i = get_global_id(0);
  out[i] = i * 3u + 1u;
}
__kernel void read_others(__global const uint* in, __global uint* out, const int count) {
  const uint i = get_global_id(0);
  out[i] = in[(uint)count - 1u - i] ^ i;
})";

constexpr size_t kProbeItems = 32, kGroupsOfAUnit = 3;

Result<std::vector<cl_uint>> RunChain(OpenClStream& stream, size_t count) {
  const OpenClDevice& device = stream.device();
  const ProgramSource source{"chain_probe", kProbeSource, ""};
  ASSIGN_OR_RETURN(const auto write, device.BuildKernel(source, "write_places"));
  ASSIGN_OR_RETURN(const auto read, device.BuildKernel(source, "read_others"));
  const auto bytes = static_cast<int64_t>(count * sizeof(cl_uint));
  ASSIGN_OR_RETURN(const auto first,
                   device.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
  ASSIGN_OR_RETURN(const auto second,
                   device.Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
  const WorkSizes sizes{.gws = {count, 1, 1}, .lws = {kProbeItems, 1, 1}};
  const std::vector<KernelArg> reads = {first->location(), second->location(),
                                        static_cast<cl_int>(count)};
  ASSIGN_OR_RETURN(const auto chain,
                   stream.BuildChain(
                       [&]() -> Status {
                         RETURN_IF_ERROR(stream.Launch(*read, sizes, reads));
                         RETURN_IF_ERROR(stream.Launch(*write, sizes, {first->location()}));
                         return stream.Launch(*read, sizes, reads);
                       },
                       device.facts().compute_units));
  RETURN_IF_ERROR(chain->Enqueue());
  std::vector<cl_uint> result(count);
  RETURN_IF_ERROR(stream.ReadBuffer(result.data(), second->location(), bytes));
  ASSIGN_OR_RETURN(const bool met, stream.ChainsMet());
  if (!met) return Unsupported("the work-groups of a launch do not run at the same time");
  return result;
}

Status Probe(std::shared_ptr<const OpenClDevice> device) {
  const size_t count = kProbeItems * kGroupsOfAUnit * device->facts().compute_units;
  ASSIGN_OR_RETURN(const auto stream, OpenClStream::Create(std::move(device)));
  ASSIGN_OR_RETURN(const std::vector<cl_uint> result, RunChain(*stream, count));
  for (size_t i = 0; i < count; ++i)
    if (result[i] != (static_cast<cl_uint>((count - 1 - i) * 3 + 1) ^ static_cast<cl_uint>(i)))
      return Unsupported("work-groups of a launch do not see what others have written");
  return OkStatus();
}

}  // namespace

Status OpenClDevice::CheckChains() const {
  std::call_once(chains_tried_,
                 [this] { chains_ = Probe(shared_from_this()).WithContext("chains of launches"); });
  return chains_;
}

Status OpenClDevice::ChainsMayPay() const {
  if (facts_.is_cpu)
    return Unsupported(
        "chains of launches: the cores of a CPU have other work, and all work-groups wait for one "
        "that has none");
  if (replays_launches())
    return Unsupported(
        "chains of launches: the driver replays whole runs, but only without chains");
  return CheckChains();
}

}  // namespace fettle
