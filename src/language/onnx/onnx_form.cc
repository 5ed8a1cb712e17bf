#include "language/onnx/onnx_form.h"

#include <algorithm>
#include <array>

namespace fettle::language {
namespace {

constexpr std::string_view kPast = "past";

class FormReader {
 public:
  FormReader(const ir::Graph& graph, const OnnxFacts& facts) : graph_(graph), facts_(facts) {}

  Result<OnnxForm> Run() {
    for (ir::ValueId id : graph_.inputs) RETURN_IF_ERROR(TakeInput(graph_.value(id)));
    if (form_.ids.name.empty()) return Unsupported("there is no input 'input_ids'");
    if (form_.caches.empty())
      return Unsupported(
          "there is no cache: no input is called past...; export the model with one");
    RETURN_IF_ERROR(TakeLogits());
    form_.in_place = !form_.mask.name.empty() && form_.cache_branch.empty() && HasOwnCaches() &&
                     MaskOnlyCounts();
    return form_;
  }

 private:
  static std::string ShapeText(const ir::Value& value) {
    return value.shape ? value.shape->ToString() : "of unknown rank";
  }
  static bool IsOneOrOpen(int64_t extent) { return extent == 1 || extent == -1; }

  Status TakeInts(const ir::Value& value, OnnxInts& to, int rank) {
    if (value.dtype != DType::kI64 && value.dtype != DType::kI32)
      return Unsupported("input '{}': expected integers, got {}", value.name,
                         DTypeName(value.dtype));
    if (value.shape &&
        (value.shape->rank() != rank || (rank > 0 && !IsOneOrOpen((*value.shape)[0]))))
      return Unsupported("input '{}': expected [1, tokens], got {}", value.name, ShapeText(value));
    to = {value.name, value.dtype};
    return OkStatus();
  }

  Status TakeCache(const ir::Value& value) {
    const bool fits = value.shape && value.shape->rank() == 4 && IsOneOrOpen((*value.shape)[0]) &&
                      (*value.shape)[2] == -1;
    if (!fits)
      return Unsupported(
          "input '{}': expected a cache [1, heads, any number of tokens, size], got {}", value.name,
          ShapeText(value));
    const auto extent = [&](int axis, int64_t otherwise) {
      return (*value.shape)[axis] > 0 ? (*value.shape)[axis] : otherwise;
    };
    const int64_t heads = extent(1, facts_.key_heads), size = extent(3, facts_.head_size);
    if (heads <= 0 || size <= 0)
      return Unsupported(
          "input '{}': neither its shape {} nor genai_config.json or config.json say how many "
          "heads "
          "it has, and of what size",
          value.name, ShapeText(value));
    if (value.dtype != DType::kF32 && value.dtype != DType::kF16 && value.dtype != DType::kBF16)
      return Unsupported("input '{}': caches of {} are not supported", value.name,
                         DTypeName(value.dtype));
    OnnxCacheForm cache = {value.name, "", value.dtype, heads, size};
    RETURN_IF_ERROR(FindPresent(cache));
    form_.caches.push_back(std::move(cache));
    return OkStatus();
  }

  Status FindPresent(OnnxCacheForm& cache) const {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPairs = {
        {{"past_key_values", "present"},
         {"past_key_values", "present_key_values"},
         {kPast, "present"}}};
    for (const auto& [past, present] : kPairs) {
      if (!cache.past.starts_with(past)) continue;
      const std::string name = std::string(present) + cache.past.substr(past.size());
      for (ir::ValueId id : graph_.outputs) {
        if (graph_.value(id).name != name) continue;
        cache.present = name;
        return OkStatus();
      }
    }
    return Unsupported("input '{}': there is no output present... for it", cache.past);
  }

  Status TakeInput(const ir::Value& value) {
    if (value.name == "input_ids") return TakeInts(value, form_.ids, 2);
    if (value.name == "attention_mask") return TakeInts(value, form_.mask, 2);
    if (value.name == "position_ids") return TakeInts(value, form_.positions, 2);
    if (value.name == "num_logits_to_keep") return TakeInts(value, form_.kept_logits, 0);
    if (value.name.starts_with(kPast)) return TakeCache(value);
    if (value.name == "use_cache_branch" && value.dtype == DType::kBool) {
      form_.cache_branch = value.name;
      return OkStatus();
    }
    return Unsupported(
        "input '{}' is not supported; a language model has input_ids, attention_mask, "
        "position_ids, "
        "past..., use_cache_branch and num_logits_to_keep",
        value.name);
  }

  Status TakeLogits() {
    for (ir::ValueId id : graph_.outputs) {
      const ir::Value& value = graph_.value(id);
      if (value.name != "logits") continue;
      const bool fits =
          value.shape && value.shape->rank() == 3 && (*value.shape)[2] > 0 &&
          (value.dtype == DType::kF32 || value.dtype == DType::kF16 || value.dtype == DType::kBF16);
      if (!fits)
        return Unsupported("output 'logits': expected floats [1, tokens, vocabulary], got {} {}",
                           DTypeName(value.dtype), ShapeText(value));
      form_.vocabulary = (*value.shape)[2];
      form_.one_row = (*value.shape)[1] == 1;
      form_.logits = value.dtype;
      return OkStatus();
    }
    return Unsupported("there is no output 'logits'");
  }

  /// Whether each cache is that of a GroupQueryAttention, which gives it back.
  bool HasOwnCaches() const {
    const auto consumers = graph_.Consumers();
    const auto producers = graph_.Producers();
    return std::ranges::all_of(form_.caches, [&](const OnnxCacheForm& cache) {
      const auto past = graph_.FindValue(cache.past), present = graph_.FindValue(cache.present);
      if (!past || !present || consumers[*past].size() != 1) return false;
      const ir::NodeId at = consumers[*past][0];
      const ir::Node& node = graph_.node(at);
      if (node.op->name != "GroupQueryAttention" || producers[*present] != at) return false;
      return (node.input(3) == *past && node.output(1) == *present) ||
             (node.input(4) == *past && node.output(2) == *present);
    });
  }

  /// Whether what the mask makes goes nowhere but to the counts of GroupQueryAttention, by sums of
  /// it and its size, and to positions that it counts itself.
  bool MaskOnlyCounts() const {
    constexpr std::string_view kArithmetic[] = {
        "Add",     "Cast",  "Equal",   "Expand", "Gather",    "Identity", "ReduceSum",
        "Reshape", "Shape", "Squeeze", "Sub",    "Unsqueeze", "Where"};
    const auto consumers = graph_.Consumers();
    std::vector<ir::ValueId> open = {*graph_.FindValue(form_.mask.name)};
    std::vector<bool> seen(graph_.values().size());
    while (!open.empty()) {
      const ir::ValueId value = open.back();
      open.pop_back();
      if (seen[value]) continue;
      seen[value] = true;
      if (std::ranges::find(graph_.outputs, value) != graph_.outputs.end()) return false;
      for (ir::NodeId at : consumers[value]) {
        const ir::Node& node = graph_.node(at);
        const auto only_at = [&](std::initializer_list<size_t> operands) {
          for (size_t i = 0; i < node.inputs.size(); ++i)
            if (node.inputs[i] == value && std::ranges::find(operands, i) == operands.end())
              return false;
          return true;
        };
        const std::string_view op = node.op->name;
        if (op == "GroupQueryAttention" && only_at({5, 6})) continue;
        if (op == "RotaryEmbedding" && only_at({3})) continue;
        if (std::ranges::find(kArithmetic, op) == std::end(kArithmetic)) return false;
        open.insert(open.end(), node.outputs.begin(), node.outputs.end());
      }
    }
    return true;
  }

  const ir::Graph& graph_;
  const OnnxFacts& facts_;
  OnnxForm form_;
};

}  // namespace

Result<OnnxForm> ReadOnnxForm(const ir::Graph& graph, const OnnxFacts& facts) {
  return FormReader(graph, facts).Run();
}

}  // namespace fettle::language
