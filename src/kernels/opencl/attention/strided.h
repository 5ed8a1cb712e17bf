// What kernels of attention over strided operands (attention/strided.clh) have in common.
#pragma once

#include "kernels/match/attention.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"

namespace fettle::kernels {

/// The group's attention where strided.clh can say it: matrices in three nested loops at most, one
/// mask at most, no fill, operands of floats. Fails with kUnsupported and the reason.
Result<Attention> ReadStrided(const ir::Graph& group);

/// Whether columns are neighbours and matrices and rows begin at multiples of `lanes` elements.
bool IsAligned(const AttentionOperand& operand, int64_t lanes);

/// All of strided.clh.
void DefineStrided(const Attention& attention, BuildOptions& options);

/// Adds the operands, the scale, and what is added to scores, in the order of strided.clh, to the
/// kernel's launch, and to its packs; `state`: of all operands.
void AddStrided(const ir::Graph& group, const Attention& attention, const State& state,
                RecordedKernel& kernel, RecordedLaunch& launch);

}  // namespace fettle::kernels
