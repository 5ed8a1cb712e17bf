// Where results go: `-o DIR` and `-o [NAME=]FILE`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/inputs.h"
#include "runtime/model.h"

namespace fettle::tools {

/// What the -o arguments ask for.
struct OutputPlan {
  std::string directory;                     // "" where none; else it ends in '/'
  std::map<std::string, std::string> files;  // by value name
  /// Values that are not outputs of the model: to be asked for from the session.
  std::vector<std::string> extra;
};

/// `NAME=FILE` (NAME an output or any value of the model), FILE for the only output, or a folder,
/// which is made: what ends in '/', is one already, or stands for several outputs. The file `-` is
/// standard output.
Result<OutputPlan> PlanOutputs(const runtime::Model& model,
                               const std::vector<std::string>& arguments);

/// Whether one of the files is standard output.
bool WritesToStandardOutput(const OutputPlan& plan);

/// Writes what the plan asks for of `outputs` and returns the file of each. Names ending in .png,
/// .jpg become pictures. Each file appears whole or not at all.
Result<std::map<std::string, std::string>> WriteOutputs(
    const OutputPlan& plan, const std::map<std::string, Tensor>& outputs, Preprocess preprocess,
    const std::optional<Picture>& source);

/// With a folder: writes inputs that did not come from a tensor file there as `input_NAME.npy`, so
/// that another program can run on the same. Returns the file of each input that has one.
Result<std::map<std::string, std::string>> WriteInputs(const OutputPlan& plan,
                                                       const BoundInputs& bound);

}  // namespace fettle::tools
