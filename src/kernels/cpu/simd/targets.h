// Which vector instruction sets the kernels run with. Highway chooses the best of what the machine
// has; the environment may cap it, and tests go through all of them.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::kernels {

/// Applies FETTLE_CPU_ISA to the run-time dispatch of every kernel. Idempotent, thread-safe.
/// Whoever hands out kernels calls it first.
void ApplyIsaCap();

/// The instruction sets that were compiled in and that this machine (under the cap) runs, best
/// first: "AVX3", "AVX2", "EMU128" ...
std::vector<std::string_view> SimdTargets();

/// Whether `target` is one of SimdTargets(): for functions compiled for it in a file of their own,
/// which tests switch off with Highway's.
bool RunsSimdTarget(std::string_view target);

/// Makes every kernel use `target`, one of SimdTargets(); "" goes back to the best. Process-wide:
/// only for tests and experiments, with no kernel running.
void ForceSimdTarget(std::string_view target);

/// Takes the instruction sets of the processor that AssumeCpu named for those of this machine, so
/// that kernels match and choose as they would there. kUnsupported where this build has none of
/// them. No kernel may run any more.
Status AssumeSimdTargets();

}  // namespace fettle::kernels
