// Reading 'KernelSpecification' of T1 files.
#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "io/gzip.h"
#include "io/json.h"
#include "jobs/user_kernel.h"

namespace fettle::tools {
namespace {

std::string TextOrIntegerMember(const Json& json, const char* name, std::string otherwise = "") {
  const Json* const member = Member(json, name);
  if (member == nullptr) return otherwise;
  if (member->is_string()) return member->get<std::string>();
  return member->is_number_integer() ? member->dump() : otherwise;
}

double NumberMember(const Json& json, const char* name, double otherwise) {
  const Json* const member = Member(json, name);
  return member != nullptr && member->is_number() ? member->get<double>() : otherwise;
}

Result<DType> TypeFromName(const std::string& name) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"float", DType::kF32},  {"double", DType::kF64}, {"half", DType::kF16},
      {"int", DType::kI32},    {"int32", DType::kI32},  {"uint", DType::kU32},
      {"uint32", DType::kU32}, {"char", DType::kI8},    {"int8", DType::kI8},
      {"uchar", DType::kU8},   {"uint8", DType::kU8},   {"short", DType::kI16},
      {"ushort", DType::kU16}, {"long", DType::kI64},   {"int64", DType::kI64},
      {"ulong", DType::kU64},  {"uint64", DType::kU64}};
  for (const auto& [known, type] : kTypes)
    if (known == name) return type;
  return InvalidArgument("'Type': expected an OpenCL scalar type, got '{}'", name);
}

Result<UserArgument> ReadArgument(const Json& json) {
  UserArgument argument;
  argument.name = TextOrIntegerMember(json, "Name");
  ASSIGN_OR_RETURN(argument.type, TypeFromName(TextOrIntegerMember(json, "Type")));
  const std::string memory = TextOrIntegerMember(json, "MemoryType");
  if (memory != "Vector" && memory != "Scalar")
    return InvalidArgument("'MemoryType': expected Vector|Scalar, got '{}'", memory);
  argument.is_vector = memory == "Vector";
  const std::string access = TextOrIntegerMember(json, "AccessType", "ReadOnly");
  if (access != "ReadOnly" && access != "WriteOnly" && access != "ReadWrite")
    return InvalidArgument("'AccessType': expected ReadOnly|WriteOnly|ReadWrite, got '{}'", access);
  argument.is_read = access != "WriteOnly";
  argument.is_written = argument.is_vector && access != "ReadOnly";
  const std::string fill = TextOrIntegerMember(json, "FillType", "Constant");
  if (fill != "Constant" && fill != "Random")
    return InvalidArgument("'FillType': expected Constant|Random, got '{}'", fill);
  argument.is_random = fill == "Random";
  argument.fill = NumberMember(json, "FillValue", argument.is_random ? 1 : 0);
  if (!argument.is_vector) return argument;
  const double elements = NumberMember(json, "Size", 0);
  if (!(elements >= 1 && elements <= 1e10))
    return InvalidArgument("'Size': expected a number of elements from 1 to 1e10");
  argument.elements = static_cast<int64_t>(elements);
  return argument;
}

void ReadSizes(const Json* json, std::array<std::string, 3>& sizes) {
  constexpr const char* kAxes[] = {"X", "Y", "Z"};
  for (size_t axis = 0; json != nullptr && axis < 3; ++axis)
    sizes[axis] = TextOrIntegerMember(*json, kAxes[axis], sizes[axis]);
  if (!sizes[0].empty())
    for (std::string& size : sizes)
      if (size.empty()) size = "1";
}

Result<UserFunction> ReadFunction(const Json& json, const std::filesystem::path& folder) {
  UserFunction function;
  function.name = TextOrIntegerMember(json, "KernelName");
  const std::string file = TextOrIntegerMember(json, "KernelFile");
  if (function.name.empty() || file.empty())
    return InvalidArgument("expected 'KernelName' and 'KernelFile'");
  function.file = (folder / file).string();
  ASSIGN_OR_RETURN(function.source, ReadMaybeGzip(function.file));
  if (const Json* options = Member(json, "CompilerOptions"); options && options->is_array())
    for (const Json& option : *options)
      if (option.is_string())
        function.options += (function.options.empty() ? "" : " ") + option.get<std::string>();
  ReadSizes(Member(json, "GlobalSize"), function.global);
  ReadSizes(Member(json, "LocalSize"), function.local);
  function.global_counts_groups = TextOrIntegerMember(json, "GlobalSizeType", "OpenCL") == "CUDA";
  return function;
}

tuner::Value DefaultOf(const Json& parameters, const tuner::Parameter& parameter) {
  for (const Json& json : parameters) {
    const Json* const value = Member(json, "Default");
    if (value == nullptr || TextOrIntegerMember(json, "Name") != parameter.name) continue;
    for (const tuner::Value& known : parameter.values) {
      const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
      if (tuner::PrintValue(known) == text) return known;
    }
  }
  return parameter.values.front();
}

Result<UserKernel> ToUserKernel(const Json& json, const std::filesystem::path& folder,
                                const std::vector<tuner::Parameter>& parameters) {
  const Json* const spec = Member(json, "KernelSpecification");
  if (spec == nullptr) return InvalidArgument("'KernelSpecification' is missing");
  UserKernel kernel;
  ASSIGN_OR_RETURN(kernel.tuned, ReadFunction(*spec, folder));
  const Json* const arguments = Member(*spec, "Arguments");
  if (arguments == nullptr || !arguments->is_array())
    return InvalidArgument("'Arguments': expected a list");
  for (const Json& item : *arguments) {
    auto argument = ReadArgument(item);
    if (!argument.ok())
      return argument.status().WithContext(fmt::format("argument #{}", kernel.arguments.size()));
    kernel.arguments.push_back(std::move(*argument));
    const std::string expected = TextOrIntegerMember(item, "ExpectedFile");
    kernel.expected_files.push_back(expected.empty() ? "" : (folder / expected).string());
  }
  if (const Json* reference = Member(*spec, "Reference")) {
    auto function = ReadFunction(*reference, folder);
    if (!function.ok()) return function.status().WithContext("'Reference'");
    kernel.reference = std::move(*function);
  }
  kernel.tolerance = NumberMember(*spec, "Tolerance", kernel.tolerance);
  const Json& tunables = (*Member(json, "ConfigurationSpace"))["TuningParameters"];
  for (const tuner::Parameter& parameter : parameters)
    kernel.defaults.push_back(DefaultOf(tunables, parameter));
  for (size_t i = 0; kernel.reference && i < parameters.size(); ++i)
    kernel.reference->options +=
        fmt::format(" -D{}={}", parameters[i].name, tuner::PrintValue(kernel.defaults[i]));
  return kernel;
}

}  // namespace

Result<UserKernel> ReadUserKernel(const std::string& path,
                                  const std::vector<tuner::Parameter>& parameters) {
  ASSIGN_OR_RETURN(const std::string text, ReadMaybeGzip(path));
  const Json json = Json::parse(text, nullptr, false);
  auto kernel = ToUserKernel(json, std::filesystem::path(path).parent_path(), parameters);
  if (!kernel.ok()) return kernel.status().WithContext(path);
  return kernel;
}

}  // namespace fettle::tools
