#include "tests/device/fake_opencl.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace fettle {
namespace {

FakeOpenCl* g_fake = nullptr;

constexpr const char kBinaryMark[] = "binary:";

/// Any object that is counted.
template <typename Handle>
Handle NewObject(const std::string& text = "") {
  ++g_fake->live_objects;
  return reinterpret_cast<Handle>(new std::string(text));
}
template <typename Handle>
cl_int Release(Handle handle) {
  --g_fake->live_objects;
  delete reinterpret_cast<std::string*>(handle);
  return CL_SUCCESS;
}
template <typename Handle>
std::string& TextOf(Handle handle) {
  return *reinterpret_cast<std::string*>(handle);
}

void Answer(const void* from, size_t size, size_t room, void* to, size_t* needed) {
  if (needed != nullptr) *needed = size;
  if (to != nullptr) std::memcpy(to, from, std::min(size, room));
}

cl_context CreateContext(const cl_context_properties*, cl_uint, const cl_device_id*,
                         void (*)(const char*, const void*, size_t, void*), void*, cl_int* code) {
  *code = CL_SUCCESS;
  return NewObject<cl_context>();
}

cl_command_queue CreateQueue(cl_context, cl_device_id, cl_command_queue_properties, cl_int* code) {
  *code = CL_SUCCESS;
  return NewObject<cl_command_queue>();
}

cl_mem CreateBuffer(cl_context, cl_mem_flags flags, size_t size, void* from, cl_int* code) {
  *code = g_fake->allocation_result;
  if (*code != CL_SUCCESS) return nullptr;
  const bool copies = (flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)) != 0;
  return NewObject<cl_mem>(copies ? std::string(static_cast<const char*>(from), size)
                                  : std::string(size, '\0'));
}

cl_program CreateFromSource(cl_context, cl_uint, const char** text, const size_t* length,
                            cl_int* code) {
  *code = CL_SUCCESS;
  return NewObject<cl_program>(std::string(*text, *length));
}

cl_program CreateFromBinary(cl_context, cl_uint, const cl_device_id*, const size_t* size,
                            const unsigned char** bytes, cl_int* status, cl_int* code) {
  const std::string text(reinterpret_cast<const char*>(*bytes), *size);
  *code = *status =
      g_fake->takes_binaries && text.starts_with(kBinaryMark) ? CL_SUCCESS : CL_INVALID_BINARY;
  return *code == CL_SUCCESS ? NewObject<cl_program>(text) : nullptr;
}

cl_int Build(cl_program program, cl_uint, const cl_device_id*, const char* options,
             void (*)(cl_program, void*), void*) {
  if (TextOf(program).starts_with(kBinaryMark)) return CL_SUCCESS;
  g_fake->build_options = options;
  ++g_fake->builds;
  if (g_fake->dies_in_build) ::raise(SIGKILL);
  while (g_fake->hangs_in_build) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return g_fake->build_result;
}

cl_int ProgramInfo(cl_program program, cl_program_info what, size_t room, void* to,
                   size_t* needed) {
  std::string binary = TextOf(program);
  if (!binary.starts_with(kBinaryMark)) binary = kBinaryMark + binary;
  const size_t size = binary.size();
  if (what == CL_PROGRAM_BINARY_SIZES) Answer(&size, sizeof(size), room, to, needed);
  if (what == CL_PROGRAM_BINARIES)
    std::memcpy(*static_cast<unsigned char**>(to), binary.data(), size);
  return CL_SUCCESS;
}

cl_int BuildInfo(cl_program, cl_device_id, cl_program_build_info, size_t room, void* to,
                 size_t* needed) {
  constexpr char kLog[] = "the log of the compiler";
  Answer(kLog, sizeof(kLog), room, to, needed);
  return CL_SUCCESS;
}

cl_kernel CreateKernel(cl_program, const char*, cl_int* code) {
  *code = CL_SUCCESS;
  return NewObject<cl_kernel>();
}

cl_int GroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t room, void* to,
                 size_t* needed) {
  if (g_fake->most_items == 0) return CL_INVALID_VALUE;
  Answer(&g_fake->most_items, sizeof(size_t), room, to, needed);
  return CL_SUCCESS;
}

/// In order behind the others; `event` may be null.
void Add(FakeOpenCl::Command command, cl_event* event) {
  g_fake->commands.push_back(std::move(command));
  const auto unfinished =
      std::count_if(g_fake->commands.begin(), g_fake->commands.end(),
                    [](const FakeOpenCl::Command& other) { return !other.finished; });
  g_fake->most_unfinished = std::max(g_fake->most_unfinished, static_cast<size_t>(unfinished));
  // An event is the number of its command.
  if (event != nullptr) *event = NewObject<cl_event>(std::to_string(g_fake->commands.size() - 1));
}

cl_int SetArgument(cl_kernel, cl_uint, size_t, const void*) { return CL_SUCCESS; }

cl_int Enqueue(cl_command_queue, cl_kernel, cl_uint, const size_t* offset, const size_t* gws,
               const size_t* lws, cl_uint, const cl_event*, cl_event* event) {
  if (g_fake->dies_in_launch) ::raise(SIGKILL);
  if (lws != nullptr && g_fake->refuses_above > 0 &&
      lws[0] * lws[1] * lws[2] > g_fake->refuses_above) {
    ++g_fake->refusals;
    return g_fake->refusal;
  }
  FakeOpenCl::Command command;
  for (size_t axis = 0; axis < 3; ++axis) {
    command.offset[axis] = offset == nullptr ? 0 : offset[axis];
    command.gws[axis] = gws[axis];
    command.lws[axis] = lws == nullptr ? 0 : lws[axis];
  }
  command.ns = static_cast<double>(gws[0] * gws[1] * gws[2]) * g_fake->ns_per_item;
  if (g_fake->commands.empty()) command.ns += g_fake->first_ns;
  command.finished = g_fake->runs_at_once;
  Add(command, event);
  return CL_SUCCESS;
}

FakeOpenCl::Command& CommandOf(cl_event event) {
  return g_fake->commands[std::stoul(TextOf(event))];
}

/// Where it fails nothing has run.
cl_int WaitForEvents(cl_uint count, const cl_event* events) {
  if (g_fake->wait_result != CL_SUCCESS) return g_fake->wait_result;
  for (cl_uint i = 0; i < count; ++i) g_fake->FinishUpTo(&CommandOf(events[i]));
  return CL_SUCCESS;
}

cl_int EventInfo(cl_event event, cl_event_info, size_t room, void* to, size_t* needed) {
  const cl_int state = CommandOf(event).finished ? CL_COMPLETE : CL_QUEUED;
  Answer(&state, sizeof(state), room, to, needed);
  return CL_SUCCESS;
}

cl_int ProfilingInfo(cl_event event, cl_profiling_info what, size_t room, void* to,
                     size_t* needed) {
  const bool is_end = what == CL_PROFILING_COMMAND_END && g_fake->knows_times;
  const cl_ulong time = 1000 + (is_end ? static_cast<cl_ulong>(CommandOf(event).ns) : 0);
  Answer(&time, sizeof(time), room, to, needed);
  return CL_SUCCESS;
}

cl_int Finish(cl_command_queue) {
  ++g_fake->finishes;
  if (!g_fake->commands.empty()) g_fake->FinishUpTo(&g_fake->commands.back());
  return g_fake->wait_result;
}

/// What waits is over when it returns, and leaves no command.
cl_int Transfer(cl_command_queue queue, cl_bool waits, cl_event* event,
                std::function<void()> copies) {
  if (waits == CL_FALSE) {
    Add({.copies = std::move(copies)}, event);
    return CL_SUCCESS;
  }
  const cl_int code = Finish(queue);
  copies();
  return code;
}

cl_int WriteBuffer(cl_command_queue queue, cl_mem to, cl_bool waits, size_t offset, size_t size,
                   const void* from, cl_uint, const cl_event*, cl_event* event) {
  return Transfer(queue, waits, event,
                  [=] { std::memcpy(TextOf(to).data() + offset, from, size); });
}

cl_int ReadBuffer(cl_command_queue queue, cl_mem from, cl_bool waits, size_t offset, size_t size,
                  void* to, cl_uint, const cl_event*, cl_event* event) {
  return Transfer(queue, waits, event,
                  [=] { std::memcpy(to, TextOf(from).data() + offset, size); });
}

/// No command of its own: builds that mark memory fill what others would not.
cl_int FillBuffer(cl_command_queue, cl_mem to, const void* pattern, size_t, size_t offset,
                  size_t size, cl_uint, const cl_event*, cl_event*) {
  std::memset(TextOf(to).data() + offset, *static_cast<const unsigned char*>(pattern), size);
  return CL_SUCCESS;
}

cl_int Flush(cl_command_queue) { return CL_SUCCESS; }

void* MapBuffer(cl_command_queue queue, cl_mem memory, cl_bool, cl_map_flags, size_t offset, size_t,
                cl_uint, const cl_event*, cl_event*, cl_int* code) {
  *code = g_fake->map_result == CL_SUCCESS ? Finish(queue) : g_fake->map_result;
  return *code == CL_SUCCESS ? TextOf(memory).data() + offset : nullptr;
}

cl_int Unmap(cl_command_queue, cl_mem, void*, cl_uint, const cl_event*, cl_event*) {
  return CL_SUCCESS;
}

}  // namespace

FakeOpenCl::FakeOpenCl() {
  g_fake = this;
  api_.CreateContext = CreateContext;
  api_.ReleaseContext = Release<cl_context>;
  api_.CreateCommandQueue = CreateQueue;
  api_.ReleaseCommandQueue = Release<cl_command_queue>;
  api_.CreateBuffer = CreateBuffer;
  api_.ReleaseMemObject = Release<cl_mem>;
  api_.CreateProgramWithSource = CreateFromSource;
  api_.CreateProgramWithBinary = CreateFromBinary;
  api_.BuildProgram = Build;
  api_.GetProgramInfo = ProgramInfo;
  api_.GetProgramBuildInfo = BuildInfo;
  api_.ReleaseProgram = Release<cl_program>;
  api_.CreateKernel = CreateKernel;
  api_.ReleaseKernel = Release<cl_kernel>;
  api_.GetKernelWorkGroupInfo = GroupInfo;
  api_.SetKernelArg = SetArgument;
  api_.EnqueueNDRangeKernel = Enqueue;
  api_.EnqueueWriteBuffer = WriteBuffer;
  api_.EnqueueReadBuffer = ReadBuffer;
  api_.EnqueueFillBuffer = FillBuffer;
  api_.EnqueueMapBuffer = MapBuffer;
  api_.EnqueueUnmapMemObject = Unmap;
  api_.WaitForEvents = WaitForEvents;
  api_.GetEventInfo = EventInfo;
  api_.GetEventProfilingInfo = ProfilingInfo;
  api_.ReleaseEvent = Release<cl_event>;
  api_.Finish = Finish;
  api_.Flush = Flush;
}

FakeOpenCl::~FakeOpenCl() { g_fake = nullptr; }

std::shared_ptr<OpenClDevice> FakeOpenCl::Open(std::shared_ptr<ProgramCache> cache,
                                               const std::string& driver) const {
  OpenClListing listing;
  listing.facts.name = "fake";
  listing.facts.driver = driver;
  return OpenClDevice::Open(listing, {.cache = std::move(cache), .api = &api_}).value();
}

void FakeOpenCl::FinishUpTo(const Command* last) {
  for (Command& command : commands) {
    if (!command.finished && command.copies) command.copies();
    command.finished = true;
    if (&command == last) return;
  }
}

}  // namespace fettle
