// A convolution by strips made ready: packed weights, and tasks of output rows.
#pragma once

#include <memory>

#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv_strips/strip.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// A convolution of one or two spatial axes without dilation. Its output is channels-last, and so
/// is its input unless that is row-major (StripForm::kPlanes).
struct StripProblem {
  ConvOperands operands;
  ConvGeometry g;
  StripForm form = StripForm::kVectorsInGroup;

  /// Of a group.
  int64_t inputs() const { return g.ic / g.groups; }
  int64_t outputs() const { return g.oc / g.groups; }
  /// Vectors of output channels: all of them, and those that read the same spread inputs.
  int64_t vectors() const;
  int64_t vectors_together() const;
  /// Weights of a vector of output channels in one kernel row, and in all of them.
  int64_t row_floats() const;
  int64_t vector_floats() const { return g.kernel[1] * row_floats(); }
};

/// Requirements of all forms; kUnsupported with the reason.
Status CheckStrips(const ConvGeometry& g, StripForm form);

/// Family::params and Family::prepare: "rows", the output rows of a task.
ParamSpace StripParams(const Problem& problem, const StripProblem& conv, const Device& device);
Result<std::unique_ptr<PreparedKernel>> PrepareStrips(const Problem& problem,
                                                      const StripProblem& conv,
                                                      const Params& params, const Device& device);

}  // namespace fettle::kernels
