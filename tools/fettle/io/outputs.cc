#include "io/outputs.h"

#include <fmt/core.h>
#include <stdio_ext.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/nearest.h"
#include "io/named_argument.h"
#include "io/tensor_io.h"
#include "ir/value_text.h"
#include "jobs/exit_code.h"

namespace fettle::tools {
namespace {

bool IsOutput(const ir::Graph& graph, const std::string& name) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](ir::ValueId id) { return graph.value(id).name == name; });
}

Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !IsDirectory(path))
    return Error(StatusCode::kIo, "{}: cannot make the folder: {}", path, error.message());
  return OkStatus();
}

/// Takes `file` for a value that has none yet.
Status TakeFile(const std::string& name, const std::string& file, OutputPlan& plan) {
  const auto [taken, is_new] = plan.files.try_emplace(name, file);
  if (is_new) return OkStatus();
  return InvalidArgument("-o: '{}' has two files, {} and {}", name, taken->second, file);
}

/// NAME=FILE, of an output or of a value inside the network. False where no value has such a name.
Result<bool> TakeNamed(const runtime::Model& model, const std::string& argument, OutputPlan& plan) {
  const auto named = SplitNamed(argument, [&](const NamedText& split) {
    return IsOutput(model.graph(), split.name) || model.imported_graph().FindValue(split.name);
  });
  if (!named) return false;
  if (named->text.empty()) return InvalidArgument("-o {}: a file name is missing", argument);
  if (!IsOutput(model.graph(), named->name)) plan.extra.push_back(named->name);
  RETURN_IF_ERROR(TakeFile(named->name, named->text, plan));
  return true;
}

/// A folder for all outputs, or the file of the only one.
Status TakeUnnamed(const ir::Graph& graph, const std::string& argument, OutputPlan& plan) {
  const bool is_folder = argument.ends_with('/') || IsDirectory(argument);
  if (const std::string name = FirstName(argument); name != argument && !is_folder)
    return InvalidArgument("-o {}: the model has no such value; its outputs are {}", argument,
                           NearestNames(name, ir::NamesOfValues(graph, graph.outputs)));
  if (!is_folder && graph.outputs.size() == 1)
    return TakeFile(graph.value(graph.outputs[0]).name, argument, plan);
  if (!is_folder &&
      (argument == "-" || FileKindOf(argument) != FileKind::kRaw || FileExists(argument)))
    return InvalidArgument("-o {}: the model has {} outputs, give NAME=FILE or a folder", argument,
                           graph.outputs.size());
  if (!plan.directory.empty())
    return InvalidArgument("-o: there are two folders, {} and {}", plan.directory, argument);
  RETURN_IF_ERROR(MakeDirectory(argument));
  plan.directory = argument + (argument.ends_with('/') ? "" : "/");
  return OkStatus();
}

/// A name in the folder that no other value has taken.
std::string Unused(const std::string& directory, const std::string& stem,
                   std::set<std::string>& taken) {
  std::string name = stem;
  for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return fmt::format("{}{}.npy", directory, name);
}

}  // namespace

Result<OutputPlan> PlanOutputs(const runtime::Model& model,
                               const std::vector<std::string>& arguments) {
  OutputPlan plan;
  for (const std::string& argument : arguments) {
    if (argument.empty()) return InvalidArgument("-o: a file name is missing");
    ASSIGN_OR_RETURN(const bool is_named, TakeNamed(model, argument, plan));
    if (!is_named) RETURN_IF_ERROR(TakeUnnamed(model.graph(), argument, plan));
  }
  for (const auto& [name, file] : plan.files)
    if (IsForeignPictureName(file))
      return InvalidArgument("-o {}: pictures are written as .png or .jpg", file);
  return plan;
}

bool WritesToStandardOutput(const OutputPlan& plan) {
  return std::any_of(plan.files.begin(), plan.files.end(),
                     [](const auto& entry) { return entry.second == "-"; });
}

Result<std::map<std::string, std::string>> WriteOutputs(
    const OutputPlan& plan, const std::map<std::string, Tensor>& outputs, Preprocess preprocess,
    const std::optional<Picture>& source) {
  std::map<std::string, std::string> written;
  std::set<std::string> taken;
  for (const auto& [name, tensor] : outputs) {
    const auto named = plan.files.find(name);
    if (named == plan.files.end() && plan.directory.empty()) continue;
    const std::string file = named != plan.files.end()
                                 ? named->second
                                 : Unused(plan.directory, FileNameFor(name), taken);
    if (file == "-") {
      const std::span<const std::byte> bytes = tensor.bytes();
      if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
        const int why = errno;
        // What is left would be tried, and reported, once more at the end.
        __fpurge(stdout);
        std::clearerr(stdout);
        return Error(StatusCode::kIo, "cannot write to standard output: {}", std::strerror(why));
      }
    } else if (FileKindOf(file) == FileKind::kPicture) {
      auto picture = TensorToPicture(tensor, preprocess, source);
      if (!picture.ok())
        return picture.status().WithContext(fmt::format("output '{}' as {}", name, file));
      RETURN_IF_ERROR(AsWriteFailure(WritePicture(file, *picture)));
    } else {
      RETURN_IF_ERROR(AsWriteFailure(WriteTensor(file, tensor, name)));
    }
    written.emplace(name, file);
  }
  return written;
}

Result<std::map<std::string, std::string>> WriteInputs(const OutputPlan& plan,
                                                       const BoundInputs& bound) {
  std::map<std::string, std::string> files;
  std::set<std::string> taken;
  for (const BoundInput& input : bound.inputs) {
    const bool is_tensor_file =
        !input.source.empty() && FileKindOf(input.source) != FileKind::kPicture;
    if (is_tensor_file || plan.directory.empty()) {
      if (!input.source.empty()) files.emplace(input.name, input.source);
      continue;
    }
    const std::string file = Unused(plan.directory, "input_" + FileNameFor(input.name), taken);
    RETURN_IF_ERROR(AsWriteFailure(WriteTensor(file, input.tensor, input.name)));
    files.emplace(input.name, file);
  }
  return files;
}

}  // namespace fettle::tools
