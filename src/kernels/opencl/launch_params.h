// Parameters of how programs are built and launched, whatever they compute: work-groups, relaxed
// arithmetic, fma against multiply and add, unrolling. Shared by all recorded kernels.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "device/opencl/programs.h"
#include "device/opencl/work_groups.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// Work-items along each axis of a work-group; absent or 0: as the kernel has it.
inline constexpr std::string_view kGroupAxes[] = {"group_x", "group_y", "group_z"};
/// 1: -cl-fast-relaxed-math, which takes all values for finite.
inline constexpr std::string_view kFastMath = "fast_math";
/// multiply_add.clh: 1: fma(), 2: a product, then a sum.
inline constexpr std::string_view kMultiplyAdd = "multiply_add";
/// 1: loops that ask to be unrolled stay loops.
inline constexpr std::string_view kLoops = "loops";

/// What `params` say of a launch; 0: nothing.
int64_t LaunchValue(const Params& params, std::string_view name);

/// `source` as `params` have it built; equal to `source` where they change nothing.
ProgramSource VariantOf(const ProgramSource& source, const Params& params);

/// What of a program may be varied.
std::vector<Tunable> ProgramTunables(const ProgramSource& source);

/// The work-groups that the rules of MACE, MNN and the Arm Compute Library propose for a launch
/// over `gws`, and ours: their whole lists, as far as they fit, from the usual size on outwards;
/// one of each rule in turn, each size once for a rule.
struct GroupProposal {
  std::string_view rule;
  WorkShape lws;
};
std::vector<GroupProposal> ProposeGroups(const OpenClFacts& facts, const WorkShape& gws,
                                         int64_t kernel_limit);

}  // namespace fettle::kernels
