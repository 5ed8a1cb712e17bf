// Language models as ONNX, with their caches as inputs and outputs.
#pragma once

#include <memory>
#include <string>

#include "language/generator.h"
#include "language/onnx/onnx_form.h"

namespace fettle::language {

/// A sequence of the ONNX model in the file `path`. Where its caches are read by causal attention
/// alone they are written in place, and one plan holds for every step; else each run makes them
/// anew, for which it is planned. Sequences of a step are one run where caches are in place and the
/// graph takes several sequences; else they run one after another.
/// Fails as runtime::Model::Load and ReadOnnxForm do, kInvalidArgument where options ask for
/// another type of cache than the file's.
Result<std::unique_ptr<SequenceDecoder>> OpenOnnxDecoder(const std::string& path,
                                                         const OnnxFacts& facts,
                                                         const DecoderOptions& options);

}  // namespace fettle::language
