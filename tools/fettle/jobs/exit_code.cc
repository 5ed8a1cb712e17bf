#include "jobs/exit_code.h"

namespace fettle::tools {

ExitCode ExitCodeFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kInvalidModel:
    case StatusCode::kNotFound:
    case StatusCode::kVersionMismatch:
    case StatusCode::kCorrupt: return kExitInvalidInput;
    case StatusCode::kUnsupported:
    case StatusCode::kDeviceUnavailable: return kExitUnsupported;
    case StatusCode::kIo:
    case StatusCode::kOutOfMemory:
    case StatusCode::kDeviceError:
    case StatusCode::kBuildFailed:
    case StatusCode::kCancelled:
    case StatusCode::kBusy:
    case StatusCode::kInternal: return kExitFailed;
  }
  return kExitFailed;
}

Status AsInvalidInput(const Status& status) {
  if (status.code() != StatusCode::kIo) return status;
  return Status(StatusCode::kInvalidArgument, status.message());
}

Status AsWriteFailure(const Status& status) {
  return status.ok() ? status : Status(StatusCode::kIo, status.message());
}

}  // namespace fettle::tools
