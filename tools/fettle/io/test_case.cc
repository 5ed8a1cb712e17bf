#include "io/test_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/file.h"
#include "importers/onnx/tensor_file.h"
#include "io/gzip.h"
#include "io/tensor_io.h"
#include "runtime/model.h"
#include "tensor/compare.h"

namespace fettle::tools {
namespace {

namespace fs = std::filesystem;

/// The numbered files `PREFIX_0.pb`, `PREFIX_1.pb` ... of a data set.
std::vector<std::string> NumberedFiles(const std::string& directory, const char* prefix) {
  std::vector<std::string> files;
  while (true) {
    const std::string file = fmt::format("{}/{}_{}.pb", directory, prefix, files.size());
    if (!FileExists(file)) return files;
    files.push_back(file);
  }
}

std::vector<std::string> DataSets(const std::string& directory) {
  std::vector<std::string> sets;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory(error) && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path().string());
  std::sort(sets.begin(), sets.end());
  return sets;
}

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

Result<NamedTensor> ReadNamed(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  NamedTensor named;
  auto tensor = onnx::ReadTensorProto(file->bytes());
  if (!tensor.ok()) return tensor.status().WithContext(path);
  named.tensor = *std::move(tensor);
  ASSIGN_OR_RETURN(named.name, onnx::ReadTensorProtoName(file->bytes()));
  return named;
}

Tolerance ToleranceFor(DType dtype, const TestTolerance& tolerance) {
  switch (dtype) {
    case DType::kF16: return {tolerance.atol, std::max(tolerance.rtol, 0x1p-9)};
    case DType::kBF16: return {tolerance.atol, std::max(tolerance.rtol, 0x1p-6)};
    case DType::kF8E4M3FN: return {tolerance.atol, std::max(tolerance.rtol, 0x1p-3)};
    case DType::kF8E5M2: return {tolerance.atol, std::max(tolerance.rtol, 0x1p-2)};
    default: break;
  }
  if (!IsFloat(dtype)) return {};
  return {tolerance.atol, tolerance.rtol};
}

Status CompareOutput(const std::string& name, const Tensor& got, const Tensor& want,
                     const TestTolerance& tolerance) {
  if (got.dtype() != want.dtype()) {
    return InvalidArgument("output '{}': expected {}, got {}", name, DTypeName(want.dtype()),
                           DTypeName(got.dtype()));
  }
  if (got.shape() != want.shape()) {
    return InvalidArgument("output '{}': expected shape {}, got {}", name, want.shape().ToString(),
                           got.shape().ToString());
  }
  const Difference difference =
      Compare(got.view(), want.view(), ToleranceFor(want.dtype(), tolerance));
  if (difference.ok()) return OkStatus();
  return InvalidArgument("output '{}': {}", name, difference.ToString(want.shape()));
}

Result<std::map<std::string, Tensor>> ReadInputs(const ir::Graph& graph, const std::string& set) {
  std::map<std::string, Tensor> inputs;
  const std::vector<std::string> files = NumberedFiles(set, "input");
  if (files.size() > graph.inputs.size()) {
    return InvalidArgument("{} input files for {} inputs of the model", files.size(),
                           graph.inputs.size());
  }
  for (size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(NamedTensor named, ReadNamed(files[i]));
    const auto known = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](ir::ValueId id) {
      return graph.value(id).name == named.name;
    });
    const ir::Value& value = graph.value(known != graph.inputs.end() ? *known : graph.inputs[i]);
    inputs.insert_or_assign(value.name, onnx::AsDeclared(named.tensor, value.dtype));
  }
  return inputs;
}

Status RunDataSet(runtime::Session& session, const std::string& set,
                  const TestTolerance& tolerance) {
  const ir::Graph& graph = session.model().graph();
  ASSIGN_OR_RETURN(const auto inputs, ReadInputs(graph, set));
  std::map<std::string, Tensor> outputs;
  RETURN_IF_ERROR(session.Run(inputs, &outputs));
  const std::vector<std::string> files = NumberedFiles(set, "output");
  if (files.empty()) return InvalidArgument("{}: no expected outputs", set);
  if (files.size() > graph.outputs.size()) {
    return InvalidArgument("{} output files for {} outputs of the model", files.size(),
                           graph.outputs.size());
  }
  for (size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(const NamedTensor want, ReadNamed(files[i]));
    const std::string& name = graph.value(graph.outputs[i]).name;
    const auto got = outputs.find(name);
    if (got == outputs.end()) return InvalidArgument("output '{}' is missing", name);
    const Tensor expected = onnx::AsDeclared(want.tensor, got->second.dtype());
    RETURN_IF_ERROR(CompareOutput(name, got->second, expected, tolerance));
  }
  return OkStatus();
}

void Collect(const fs::path& directory, std::vector<TestCase>& cases) {
  std::error_code error;
  if (fs::exists(directory / "model.onnx", error) && !DataSets(directory.string()).empty()) {
    const fs::path clean = directory.lexically_normal();
    const fs::path name = clean.has_filename() ? clean.filename() : clean.parent_path().filename();
    cases.push_back({name.string(), directory.string()});
    return;
  }
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory(error) && !entry.is_symlink(error)) below.push_back(entry.path());
  for (const fs::path& path : below) Collect(path, cases);
}

}  // namespace

Result<std::vector<TestCase>> FindTestCases(const std::vector<std::string>& roots) {
  std::vector<TestCase> cases;
  for (const std::string& root : roots) {
    if (!IsDirectory(root)) return Error(StatusCode::kNotFound, "{}: no such folder", root);
    const size_t before = cases.size();
    Collect(root, cases);
    if (cases.size() == before) {
      return Error(StatusCode::kNotFound, "{}: no folder with model.onnx and test_data_set_* below",
                   root);
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const TestCase& a, const TestCase& b) { return a.name < b.name; });
  return cases;
}

Status RunTestCase(const TestCase& test_case, const TestTolerance& tolerance,
                   const runtime::SessionOptions& options) {
  ASSIGN_OR_RETURN(const auto model, runtime::Model::Load(test_case.directory + "/model.onnx"));
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(model, options));
  for (const std::string& set : DataSets(test_case.directory)) {
    const Status status = RunDataSet(*session, set, tolerance);
    if (!status.ok()) return status.WithContext(fs::path(set).filename().string());
  }
  return OkStatus();
}

Result<SkipList> SkipList::Read(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadMaybeGzip(path));
  std::istringstream file(std::move(text));
  SkipList list;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const size_t end = line.find_first_of(" \t", begin);
    const size_t reason = line.find_first_not_of(" \t", end);
    if (reason == std::string::npos)
      return InvalidArgument("{}:{}: expected `NAME reason`", path, number);
    Entry entry{line.substr(begin, end - begin), false, line.substr(reason)};
    if (entry.name.ends_with('*')) {
      entry.prefix = true;
      entry.name.pop_back();
    }
    list.entries_.push_back(std::move(entry));
  }
  return list;
}

const std::string* SkipList::Find(const std::string& name) const {
  for (const Entry& entry : entries_) {
    if (entry.prefix ? name.starts_with(entry.name) : name == entry.name) return &entry.reason;
  }
  return nullptr;
}

}  // namespace fettle::tools
