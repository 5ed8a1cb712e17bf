#include "kernels/opencl/sources.h"

#include <algorithm>
#include <set>

namespace fettle::kernels {
namespace {

constexpr std::string_view kInclude = "#include \"kernels/opencl/";

void Append(std::string_view path, std::set<std::string_view>& done, std::string& out) {
  const auto sources = EmbeddedSources();
  const auto source = std::find_if(sources.begin(), sources.end(),
                                   [&](const EmbeddedSource& s) { return s.path == path; });
  FETTLE_CHECK(source != sources.end(), "an OpenCL source is not part of this build");
  if (!done.insert(source->path).second) return;
  std::string_view text = source->text;
  for (;;) {
    const size_t at = text.find(kInclude);
    if (at == std::string_view::npos) break;
    out += text.substr(0, at);
    text.remove_prefix(at + kInclude.size());
    const size_t end = text.find('"');
    Append(text.substr(0, end), done, out);
    text.remove_prefix(end + 1);
  }
  out += text;
}

}  // namespace

std::string KernelText(std::string_view path) {
  std::set<std::string_view> done;
  std::string text;
  Append(path, done, text);
  return text;
}

BuildOptions& BuildOptions::Define(std::string_view name, int64_t value) {
  return Add(fmt::format("-D{}={}", name, value));
}

BuildOptions& BuildOptions::Add(std::string_view option) {
  text_ += (text_.empty() ? "" : " ") + std::string(option);
  return *this;
}

std::string_view UnsignedName(int64_t bytes) {
  return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : "ulong";
}

ProgramSource MakeProgram(std::string_view path, const BuildOptions& options,
                          std::string_view before) {
  return {std::string(path), std::string(before) + KernelText(path), options.text()};
}

BuildOptions AccessOptions(const State& state) {
  BuildOptions options;
  options.Define("FETTLE_IMAGE", state.memory == MemoryKind::kImage2d ? 1 : 0);
  options.Define("FETTLE_HALF", state.storage == DType::kF16 ? 1 : 0);
  return options;
}

void DefineArithmetic(Arithmetic arithmetic, const Device& device, BuildOptions& options) {
  if (arithmetic != Arithmetic::kF16) return;
  options.Define("FETTLE_COMPUTE",
                 static_cast<const OpenClDevice&>(device).facts().fp16_emulated ? 2 : 1);
}

}  // namespace fettle::kernels
