// fettle.h: the library itself, and the names of codes and types.
#include <array>
#include <utility>

#include "base/log.h"
#include "capi/handles.h"

namespace fettle::capi {
namespace {

constexpr std::pair<DType, fettle_dtype> kTypes[] = {
    {DType::kF32, FETTLE_F32},       {DType::kU8, FETTLE_U8},
    {DType::kI8, FETTLE_I8},         {DType::kU16, FETTLE_U16},
    {DType::kI16, FETTLE_I16},       {DType::kI32, FETTLE_I32},
    {DType::kI64, FETTLE_I64},       {DType::kBool, FETTLE_BOOL},
    {DType::kF16, FETTLE_F16},       {DType::kF64, FETTLE_F64},
    {DType::kU32, FETTLE_U32},       {DType::kU64, FETTLE_U64},
    {DType::kBF16, FETTLE_BF16},     {DType::kF8E4M3FN, FETTLE_F8E4M3FN},
    {DType::kF8E5M2, FETTLE_F8E5M2}, {DType::kU4, FETTLE_U4},
    {DType::kI4, FETTLE_I4},
};

std::string& LastError() {
  thread_local std::string message;
  return message;
}

fettle_status CodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return FETTLE_OK;
    case StatusCode::kInvalidArgument: return FETTLE_INVALID_ARGUMENT;
    case StatusCode::kInvalidModel: return FETTLE_INVALID_MODEL;
    case StatusCode::kUnsupported: return FETTLE_UNSUPPORTED;
    case StatusCode::kNotFound: return FETTLE_NOT_FOUND;
    case StatusCode::kVersionMismatch: return FETTLE_VERSION_MISMATCH;
    case StatusCode::kCorrupt: return FETTLE_CORRUPT;
    case StatusCode::kIo: return FETTLE_IO;
    case StatusCode::kOutOfMemory: return FETTLE_OUT_OF_MEMORY;
    case StatusCode::kDeviceUnavailable: return FETTLE_DEVICE_UNAVAILABLE;
    case StatusCode::kDeviceError: return FETTLE_DEVICE_ERROR;
    case StatusCode::kBuildFailed: return FETTLE_BUILD_FAILED;
    case StatusCode::kCancelled: return FETTLE_CANCELLED;
    case StatusCode::kBusy: return FETTLE_BUSY;
    case StatusCode::kInternal: return FETTLE_INTERNAL;
  }
  return FETTLE_INTERNAL;
}

}  // namespace

fettle_dtype ToC(DType dtype) {
  for (const auto& [mine, theirs] : kTypes)
    if (mine == dtype) return theirs;
  return FETTLE_UNDEFINED;
}

DType FromC(fettle_dtype dtype) {
  for (const auto& [mine, theirs] : kTypes)
    if (theirs == dtype) return mine;
  return DType::kUndefined;
}

fettle_status Report(const Status& status) {
  if (!status.ok()) LastError() = status.message();
  return CodeOf(status.code());
}

}  // namespace fettle::capi

using fettle::capi::FromC;

const char* fettle_version(void) { return FETTLE_VERSION; }

const char* fettle_last_error(void) { return fettle::capi::LastError().c_str(); }

// Names are literals, so that their views end in a zero.
const char* fettle_status_name(fettle_status status) {
  if (status < FETTLE_OK || status > FETTLE_INTERNAL) return "unknown";
  return fettle::StatusCodeName(static_cast<fettle::StatusCode>(status)).data();
}

const char* fettle_dtype_name(fettle_dtype dtype) {
  const fettle::DType mine = FromC(dtype);
  return mine == fettle::DType::kUndefined ? "undefined" : fettle::DTypeName(mine).data();
}

size_t fettle_dtype_size(fettle_dtype dtype) { return fettle::StorageBytes(FromC(dtype), 1); }

void fettle_set_log(fettle_log_function function, void* user, fettle_log_level level) {
  if (function == nullptr) {
    fettle::SetLogSink(nullptr, fettle::LogLevel::kError);
    return;
  }
  const auto sink = [function, user](fettle::LogLevel line_level, std::string_view line) {
    function(static_cast<fettle_log_level>(line_level), std::string(line).c_str(), user);
  };
  fettle::SetLogSink(sink, static_cast<fettle::LogLevel>(level));
}
