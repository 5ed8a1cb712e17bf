// The OpenCL functions of the ICD loader, opened at run time: a machine without OpenCL still runs.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue works on 1.2 devices too
#include <CL/cl.h>

#include "base/status.h"

namespace fettle {

/// Every OpenCL function that Fettle calls. Those of OpenCL 2.0 and later are null where the
/// loader is older.
#define FETTLE_OPENCL_FUNCTIONS(X)  \
  X(GetPlatformIDs)                 \
  X(GetPlatformInfo)                \
  X(GetDeviceIDs)                   \
  X(GetDeviceInfo)                  \
  X(CreateContext)                  \
  X(ReleaseContext)                 \
  X(CreateCommandQueue)             \
  X(ReleaseCommandQueue)            \
  X(CreateBuffer)                   \
  X(CreateSubBuffer)                \
  X(CreateBufferWithProperties)     \
  X(CreateImage)                    \
  X(GetSupportedImageFormats)       \
  X(RetainMemObject)                \
  X(ReleaseMemObject)               \
  X(SetMemObjectDestructorCallback) \
  X(CreateProgramWithSource)        \
  X(CreateProgramWithBinary)        \
  X(BuildProgram)                   \
  X(GetProgramInfo)                 \
  X(GetProgramBuildInfo)            \
  X(ReleaseProgram)                 \
  X(CreateKernel)                   \
  X(ReleaseKernel)                  \
  X(SetKernelArg)                   \
  X(GetKernelWorkGroupInfo)         \
  X(EnqueueNDRangeKernel)           \
  X(EnqueueReadBuffer)              \
  X(EnqueueWriteBuffer)             \
  X(EnqueueCopyBuffer)              \
  X(EnqueueFillBuffer)              \
  X(EnqueueReadImage)               \
  X(EnqueueWriteImage)              \
  X(EnqueueMapBuffer)               \
  X(EnqueueMapImage)                \
  X(EnqueueUnmapMemObject)          \
  X(WaitForEvents)                  \
  X(GetEventInfo)                   \
  X(GetEventProfilingInfo)          \
  X(ReleaseEvent)                   \
  X(Finish)                         \
  X(Flush)                          \
  X(SVMAlloc)                       \
  X(SVMFree)                        \
  X(SetKernelArgSVMPointer)         \
  X(EnqueueSVMMap)                  \
  X(EnqueueSVMUnmap)

struct OpenClApi {
#define FETTLE_MEMBER(name) decltype(&cl##name) name = nullptr;
  FETTLE_OPENCL_FUNCTIONS(FETTLE_MEMBER)
#undef FETTLE_MEMBER
};

/// The loader of this process, opened once: libOpenCL.so.1, or what FETTLE_OPENCL_LIBRARY names.
/// kDeviceUnavailable with the reason where there is none. Thread-safe.
Result<const OpenClApi*> LoadOpenCl();

/// "CL_OUT_OF_RESOURCES (-5)".
std::string OpenClErrorName(cl_int code);

/// OK, or what failed: kOutOfMemory where memory ran out, else kDeviceError.
Status OpenClStatus(cl_int code, std::string_view what);

}  // namespace fettle
