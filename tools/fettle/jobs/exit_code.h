// The exit codes of docs/cli.md.
#pragma once

#include "base/status.h"

namespace fettle::tools {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitInvalidInput = 3,
  kExitUnsupported = 4,
  kExitDiffers = 5,
};

/// The exit code for a failure: what the user can change about it decides.
ExitCode ExitCodeFor(const Status& status);

/// A failure to read something that the user named is an invalid input, whatever made it fail; out
/// of memory and unsupported stay what they are.
Status AsInvalidInput(const Status& status);

/// A failure to write a result is none of the input's fault, whatever made it fail.
Status AsWriteFailure(const Status& status);

}  // namespace fettle::tools
