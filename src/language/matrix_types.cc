#include "language/matrix_types.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "importers/gguf/encode_blocks.h"
#include "importers/gguf/rewrite.h"

namespace fettle::language {
namespace {

constexpr std::pair<std::string_view, std::string_view> kStandIns[] = {
    {"Q2_K", "Q4_0"}, {"Q3_K", "Q4_0"}, {"Q4_K", "Q5_0"},
    {"Q5_K", "Q5_1"}, {"Q6_K", "Q8_0"}, {"TQ2_0", "Q4_0"}};

/// As llama.cpp numbers files.
constexpr std::pair<std::string_view, uint32_t> kFileTypes[] = {
    {"F32", 0},   {"F16", 1},    {"Q4_0", 2},   {"Q4_1", 3},  {"Q8_0", 7},  {"Q5_0", 8},
    {"Q2_K", 10}, {"Q3_K", 11},  {"Q5_1", 9},   {"Q4_K", 14}, {"Q5_K", 16}, {"Q6_K", 18},
    {"BF16", 32}, {"TQ1_0", 36}, {"TQ2_0", 37}, {"MXFP4", 38}};

}  // namespace

bool IsMatrix(const gguf::TensorInfo& tensor) {
  // Routers, norms, convolutions of states, and rows that are added to the embedding, are small and
  // stay as they are.
  const bool stays =
      tensor.name.find("ffn_gate_inp") != std::string::npos ||
      tensor.name.ends_with("_norm.weight") || tensor.name.ends_with("conv1d.weight") ||
      tensor.name.ends_with("shortconv.conv.weight") || tensor.name.starts_with("position_embd");
  return tensor.rows > 1 && tensor.name.ends_with(".weight") && !stays;
}

const gguf::TensorType* Fitting(const gguf::TensorInfo& tensor, const gguf::TensorType& type) {
  if (tensor.columns % type.elements == 0) return &type;
  const auto found = std::ranges::find(kStandIns, type.name,
                                       &std::pair<std::string_view, std::string_view>::first);
  const std::string_view name = found == std::end(kStandIns) ? "F16" : found->second;
  return Fitting(tensor, *gguf::FindEncodedType(name));
}

std::vector<const gguf::TensorType*> UniformTypes(const gguf::File& file,
                                                  const gguf::TensorType& type) {
  std::vector<const gguf::TensorType*> types;
  for (const gguf::TensorInfo& tensor : file.tensors())
    types.push_back(IsMatrix(tensor) ? Fitting(tensor, type) : tensor.type);
  return types;
}

uint32_t FileTypeOf(const gguf::File& file, std::span<const gguf::TensorType* const> types) {
  std::map<std::string_view, int64_t> elements;
  for (size_t i = 0; i < types.size(); ++i)
    elements[types[i]->name] += file.tensors()[i].rows * file.tensors()[i].columns;
  const auto most =
      std::ranges::max_element(elements, {}, &std::pair<const std::string_view, int64_t>::second);
  for (const auto& [name, number] : kFileTypes) {
    if (most != elements.end() && name == most->first) return number;
  }
  return 0;
}

TensorSize SizeOf(const gguf::File& file, std::span<const gguf::TensorType* const> types) {
  TensorSize size;
  double elements = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const gguf::TensorInfo& tensor = file.tensors()[i];
    size.bytes += gguf::BytesAs(tensor, *types[i]);
    elements += static_cast<double>(tensor.rows) * static_cast<double>(tensor.columns);
  }
  size.bits = elements > 0 ? 8 * static_cast<double>(size.bytes) / elements : 0;
  return size;
}

}  // namespace fettle::language
