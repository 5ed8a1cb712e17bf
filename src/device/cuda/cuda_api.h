// The functions of NVIDIA's CUDA driver that replay recorded launches, opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace fettle::cuda {

using Result = int;  // 0: success
using Device = int;
using Context = struct ContextRow*;
using Module = struct ModuleRow*;
using Link = struct LinkRow*;
using Function = struct FunctionRow*;
using Stream = struct StreamRow*;
using Event = struct EventRow*;
using Graph = struct GraphRow*;
using GraphExec = struct GraphExecRow*;
using Address = unsigned long long;  // of the device
using Handle = unsigned long long;   // of physical memory

/// CUmemAllocationProp: memory of a device that others may open by a file descriptor.
struct AllocationProperties {
  int type = 1;          // pinned
  int handle_types = 1;  // POSIX file descriptor
  int location_type = 1, device = 0;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};

/// CUmemAccessDesc: the device reads and writes.
struct AccessDescription {
  int location_type = 1, device = 0;
  int flags = 3;
};

struct Uuid {
  unsigned char bytes[16];
};

// clang-format off
#define FETTLE_CUDA_FUNCTIONS(X)                                                                      \
  X(Init, "cuInit", unsigned)                                                                         \
  X(GetErrorName, "cuGetErrorName", Result, const char**)                                             \
  X(DeviceGetCount, "cuDeviceGetCount", int*)                                                         \
  X(DeviceGet, "cuDeviceGet", Device*, int)                                                           \
  X(DeviceGetUuid, "cuDeviceGetUuid", Uuid*, Device)                                                  \
  X(PrimaryContextRetain, "cuDevicePrimaryCtxRetain", Context*, Device)                               \
  X(PrimaryContextRelease, "cuDevicePrimaryCtxRelease_v2", Device)                                    \
  X(ContextPush, "cuCtxPushCurrent_v2", Context)                                                      \
  X(ContextPop, "cuCtxPopCurrent_v2", Context*)                                                       \
  X(ContextSynchronize, "cuCtxSynchronize")                                                           \
  X(ModuleLoadData, "cuModuleLoadData", Module*, const void*)                                         \
  X(LinkCreate, "cuLinkCreate_v2", unsigned, const int*, void**, Link*)                       \
  X(LinkAddData, "cuLinkAddData_v2", Link, int, const void*, size_t, const char*, unsigned,   \
    const int*, void**)                                                                               \
  X(LinkComplete, "cuLinkComplete", Link, void**, size_t*)                                    \
  X(LinkDestroy, "cuLinkDestroy", Link)                                                       \
  X(ModuleUnload, "cuModuleUnload", Module)                                                           \
  X(ModuleGetFunction, "cuModuleGetFunction", Function*, Module, const char*)                         \
  X(FunctionSetAttribute, "cuFuncSetAttribute", Function, int, int)                                   \
  X(StreamCreate, "cuStreamCreate", Stream*, unsigned)                                                \
  X(StreamDestroy, "cuStreamDestroy_v2", Stream)                                                      \
  X(StreamSynchronize, "cuStreamSynchronize", Stream)                                                 \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", Stream, int)                                       \
  X(StreamEndCapture, "cuStreamEndCapture", Stream, Graph*)                                           \
  X(LaunchKernel, "cuLaunchKernel", Function, unsigned, unsigned, unsigned, unsigned, unsigned,       \
    unsigned, unsigned, Stream, void**, void**)                                                       \
  X(CopyToDeviceAsync, "cuMemcpyHtoDAsync_v2", Address, const void*, size_t, Stream)                  \
  X(CopyToHostAsync, "cuMemcpyDtoHAsync_v2", void*, Address, size_t, Stream)                          \
  X(EventCreate, "cuEventCreate", Event*, unsigned)                                                   \
  X(EventRecord, "cuEventRecord", Event, Stream)                                                      \
  X(EventSynchronize, "cuEventSynchronize", Event)                                                    \
  X(EventDestroy, "cuEventDestroy_v2", Event)                                                         \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", GraphExec*, Graph, unsigned long long)           \
  X(GraphLaunch, "cuGraphLaunch", GraphExec, Stream)                                                  \
  X(GraphExecDestroy, "cuGraphExecDestroy", GraphExec)                                                \
  X(GraphDestroy, "cuGraphDestroy", Graph)                                                            \
  X(MemGranularity, "cuMemGetAllocationGranularity", size_t*, const AllocationProperties*, int)       \
  X(MemCreate, "cuMemCreate", Handle*, size_t, const AllocationProperties*, unsigned long long)       \
  X(MemRelease, "cuMemRelease", Handle)                                                               \
  X(MemReserve, "cuMemAddressReserve", Address*, size_t, size_t, Address, unsigned long long)         \
  X(MemAddressFree, "cuMemAddressFree", Address, size_t)                                              \
  X(MemMap, "cuMemMap", Address, size_t, size_t, Handle, unsigned long long)                          \
  X(MemUnmap, "cuMemUnmap", Address, size_t)                                                          \
  X(MemSetAccess, "cuMemSetAccess", Address, size_t, const AccessDescription*, size_t)                \
  X(MemExport, "cuMemExportToShareableHandle", void*, Handle, int, unsigned long long)                \
  X(MemAllocHost, "cuMemAllocHost_v2", void**, size_t)                                                \
  X(MemFreeHost, "cuMemFreeHost", void*)                                                              \
  X(CopyToDevice, "cuMemcpyHtoD_v2", Address, const void*, size_t)                                    \
  X(CopyFromDevice, "cuMemcpyDtoH_v2", void*, Address, size_t)
// clang-format on

/// A table, so that tests have a driver of their own. Thread-safe, as the driver is.
struct Api {
#define FETTLE_MEMBER(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  FETTLE_CUDA_FUNCTIONS(FETTLE_MEMBER)
#undef FETTLE_MEMBER
};

/// The driver of this process, opened once. kDeviceUnavailable where there is none, or one that is
/// too old. Thread-safe.
fettle::Result<const Api*> Load();

/// OK, or kDeviceError: what failed, and the driver's name for why.
Status StatusOf(const Api& api, Result code, std::string_view what);

}  // namespace fettle::cuda
