#include "device/opencl/launch_graphs.h"

#include <cstdlib>
#include <cstring>

#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

constexpr cl_device_info kDeviceUuid = 0x106A;  // CL_DEVICE_UUID_KHR
constexpr size_t kMostGroups[3] = {0x7fffffff, 65535, 65535};
constexpr size_t kMostFreeItems = 256;  // of work-groups that OpenCL's driver would choose

/// The work-groups of a launch, as OpenClStream::Enqueue has them.
std::array<size_t, 3> GroupOf(const ChainCall& call) {
  std::array<size_t, 3> lws = call.sizes.lws;
  if (lws[0] == 0) {
    lws = {kMostFreeItems, 1, 1};
    while (call.sizes.gws[0] % lws[0] != 0) lws[0] /= 2;
  }
  const size_t most = call.kernel->most_items(), items = lws[0] * lws[1] * lws[2];
  return call.sizes.any_group && most > 0 && items > most ? SmallerGroup(lws, most) : lws;
}

constexpr cl_int kValues = 256, kGroup = 64;

/// Adds a number, and 100 for each work-group of the launch.
constexpr std::string_view kSource = R"(
__kernel void fettle_graph_probe(__global int* values, const int added) {
  __local int place[64];
  place[get_local_id(0)] = (int)get_global_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  values[place[get_local_id(0)]] += added + 100 * (int)get_num_groups(0);
})";

/// A queue of OpenCL's beside that of the graphs.
class ProbeQueue {
 public:
  explicit ProbeQueue(const OpenClDevice& device) : api_(device.api()) {
    cl_int code = CL_SUCCESS;
    queue_ = api_.CreateCommandQueue(device.context(), device.id(), 0, &code);
  }
  ~ProbeQueue() {
    if (queue_ != nullptr) api_.ReleaseCommandQueue(queue_);
  }
  ProbeQueue(const ProbeQueue&) = delete;
  ProbeQueue& operator=(const ProbeQueue&) = delete;

  cl_int Launch(const OpenClKernel& kernel, std::span<const KernelArg> args) {
    const std::lock_guard lock(kernel.mutex());
    for (cl_uint i = 0; i < args.size(); ++i)
      if (const cl_int code = api_.SetKernelArg(kernel.get(), i, args[i].size(), args[i].data());
          code != CL_SUCCESS)
        return code;
    const size_t gws = kValues, lws = kGroup;
    const cl_int code = api_.EnqueueNDRangeKernel(queue_, kernel.get(), 1, nullptr, &gws, &lws, 0,
                                                  nullptr, nullptr);
    return code == CL_SUCCESS ? api_.Finish(queue_) : code;
  }
  cl_int Write(cl_mem memory, std::span<const cl_int> values) {
    return api_.EnqueueWriteBuffer(queue_, memory, CL_TRUE, 0, values.size_bytes(), values.data(),
                                   0, nullptr, nullptr);
  }
  cl_int Read(cl_mem memory, std::span<cl_int> values) {
    return api_.EnqueueReadBuffer(queue_, memory, CL_TRUE, 0, values.size_bytes(), values.data(), 0,
                                  nullptr, nullptr);
  }

 private:
  const OpenClApi& api_;
  cl_command_queue queue_ = nullptr;
};

}  // namespace

Result<cuda::Launch> LaunchGraphs::LaunchOf(const ChainCall& call) const {
  const OpenClKernel& kernel = *call.kernel;
  cuda::Launch launch{.program = kernel.program().key(),
                      .function = kernel.function(),
                      .ptx = [&kernel] { return kernel.program().Binary(); }};
  const std::array<size_t, 3> group = GroupOf(call);
  for (size_t axis = 0; axis < 3; ++axis) {
    const size_t groups = call.sizes.gws[axis] / group[axis];
    if (groups > kMostGroups[axis])
      return Unsupported("'{}': {} work-groups along axis {}", launch.function, groups, axis);
    launch.groups[axis] = static_cast<unsigned>(groups);
    launch.items[axis] = static_cast<unsigned>(group[axis]);
  }
  for (const KernelArg& arg : call.args) {
    std::array<std::byte, 64>& bytes = launch.parameters.emplace_back();
    if (!arg.is_memory() || arg.memory() == nullptr) {
      std::memcpy(bytes.data(), arg.data(), arg.size());
      continue;
    }
    const std::optional<cuda::Address> address = memory_->AddressOf(arg.memory());
    if (!address) return Unsupported("'{}' reads an image", launch.function);
    std::memcpy(bytes.data(), &*address, sizeof(*address));
  }
  return launch;
}

Result<std::vector<cuda::Launch>> LaunchGraphs::LaunchesOf(std::span<const ChainCall> calls) const {
  std::vector<cuda::Launch> launches;
  for (const ChainCall& call : calls) {
    ASSIGN_OR_RETURN(launches.emplace_back(), LaunchOf(call));
  }
  return launches;
}

/// OpenCL adds 1, a graph 10 and 1000, OpenCL 1.
Status LaunchGraphs::Try(const OpenClDevice& device) const {
  constexpr std::string_view kWhat = "OpenCL: trying launch graphs";
  const std::string name = "fettle_graph_probe";
  ASSIGN_OR_RETURN(const auto kernel,
                   device.BuildKernel({.name = name, .text = std::string(kSource)}, name));
  std::array<cl_int, kValues> values{};
  for (cl_int i = 0; i < kValues; ++i) values[i] = i;
  ASSIGN_OR_RETURN(const SharedBlocks::Buffer buffer, memory_->Allocate(sizeof(values)));
  const OpenClMemory memory({.kind = MemoryKind::kBuffer, .bytes = sizeof(values)}, device.api(),
                            buffer.memory, buffer.owner);
  const auto args = [&](cl_int added) {
    return std::vector<KernelArg>{KernelArg(memory.location()), KernelArg(added)};
  };
  const WorkSizes sizes{.gws = {kValues, 1, 1}, .lws = {kGroup, 1, 1}};
  const ChainCall calls[] = {{kernel.get(), sizes, args(10)}, {kernel.get(), sizes, args(1000)}};
  ASSIGN_OR_RETURN(const auto queue, NewQueue());
  ASSIGN_OR_RETURN(const std::vector<cuda::Launch> launches, LaunchesOf(calls));
  ASSIGN_OR_RETURN(const auto graph, queue->Record(launches));
  ProbeQueue opencl(device);
  RETURN_IF_ERROR(OpenClStatus(opencl.Write(buffer.memory, values), kWhat));
  RETURN_IF_ERROR(OpenClStatus(opencl.Launch(*kernel, args(1)), kWhat));
  RETURN_IF_ERROR(graph->Launch());
  RETURN_IF_ERROR(queue->Wait());
  RETURN_IF_ERROR(OpenClStatus(opencl.Launch(*kernel, args(1)), kWhat));
  RETURN_IF_ERROR(OpenClStatus(opencl.Read(buffer.memory, values), kWhat));
  constexpr cl_int kAdded = 1 + 10 + 1000 + 1 + 4 * 100 * (kValues / kGroup);
  for (cl_int i = 0; i < kValues; ++i)
    if (values[i] != i + kAdded)
      return Error(StatusCode::kDeviceError, "OpenCL and CUDA see different values: {} and {}",
                   values[i], i + kAdded);
  return OkStatus();
}

Result<std::shared_ptr<LaunchGraphs>> LaunchGraphs::Open(const OpenClDevice& device) {
  const OpenClFacts& facts = device.facts();
  const char* wanted = std::getenv("FETTLE_LAUNCH_GRAPHS");
  if (wanted != nullptr && std::string_view(wanted) == "off")
    return Unsupported("FETTLE_LAUNCH_GRAPHS is off");
  if (facts.family != "nvidia") return Unsupported("not an NVIDIA device");
  for (const std::string_view name : {"cl_khr_external_memory_opaque_fd", "cl_khr_device_uuid"})
    if (!facts.HasExtension(name)) return Unsupported("the driver has no {}", name);
  if (device.api().CreateBufferWithProperties == nullptr)
    return Unsupported("the OpenCL loader is older than OpenCL 3.0");
  ASSIGN_OR_RETURN(const cuda::Api* api, cuda::Load());
  cuda::Uuid uuid{};
  RETURN_IF_ERROR(OpenClStatus(
      device.api().GetDeviceInfo(device.id(), kDeviceUuid, sizeof(uuid), &uuid, nullptr),
      "OpenCL: the device's UUID"));
  ASSIGN_OR_RETURN(const std::shared_ptr<cuda::PrimaryContext> context,
                   cuda::PrimaryContext::Open(uuid, *api));
  auto memory = std::make_shared<SharedBlocks>(device.api(), device.shared_context(), context,
                                               std::max<int64_t>(facts.base_address_align, 512));
  std::shared_ptr<LaunchGraphs> graphs(new LaunchGraphs(context, std::move(memory)));
  RETURN_IF_ERROR(graphs->Try(device));
  return graphs;
}

}  // namespace fettle
