// The device beside the CPU that --device names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobs/options.h"
#include "report/report.h"
#include "runtime/session.h"

namespace fettle::tools {

/// Opens it; null for the CPU alone. Where it cannot be opened: a warning, and null; with
/// --strict-device the failure (kDeviceUnavailable).
Result<std::shared_ptr<const Device>> OpenAccelerator(const CommonOptions& options,
                                                      std::vector<std::string>& warnings);

/// What --device, --precision, --memory, --queue-window, --kernel-ms and --threads mean for a
/// session.
Result<runtime::SessionOptions> MakeSessionOptions(const CommonOptions& options,
                                                   std::vector<std::string>& warnings);

/// The device that a package was made for beside the CPU, where `--device auto` leaves the choice
/// and it is there; else null.
std::shared_ptr<const Device> AcceleratorOf(const runtime::PackageInfo& package,
                                            const CommonOptions& options);

struct AsideOptions {
  double limit_seconds = 60;
  /// As many processes as there are threads, and no more than that: each has the device open.
  int most_at_once = 11;
  /// This process compiles too, so that few programs start no other.
  bool first_here = true;
};

/// Compiles programs of the accelerator that `options` name, which need not be open yet, in
/// processes while the returned object lives. Null where they name none: a device that a package
/// asked for is known here by no name.
std::shared_ptr<void> CompileAside(const CommonOptions& options, const AsideOptions& aside);

/// {built, from_cache, from_package, failed, build_seconds, load_seconds} of the programs that the
/// accelerator of `session` was asked for; null without one.
Json ProgramsJson(const runtime::SessionOptions& session);

/// "57 programs loaded in 31.0 ms, 2 programs built in 800.0 ms": the same for people; "" without
/// programs.
std::string ProgramsText(const runtime::SessionOptions& session);

}  // namespace fettle::tools
