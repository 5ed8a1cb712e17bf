#include "ops/docs.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Rules that reach this far have no upper end.
constexpr int kOpenEnd = 99;

struct Opsets {
  int since = 1, until = kOpenEnd;
};

std::string Spell(const Opsets& opsets) {
  if (opsets.until >= kOpenEnd) return fmt::format("{}+", opsets.since);
  if (opsets.since == opsets.until) return fmt::format("{}", opsets.since);
  return fmt::format("{}-{}", opsets.since, opsets.until);
}

/// "Name 7+" for each operator of the rules, adjoining opsets put together, sorted.
std::string SourcesOf(const Operator& op) {
  std::map<std::string, std::vector<Opsets>> sources;
  for (const ImportRule& rule : op.imports) {
    const std::string name = rule.domain.empty() ? std::string(rule.op_type)
                                                 : fmt::format("{}.{}", rule.domain, rule.op_type);
    sources[name].push_back({rule.since, rule.until});
  }
  std::string text;
  for (auto& [name, opsets] : sources) {
    std::sort(opsets.begin(), opsets.end(),
              [](const Opsets& a, const Opsets& b) { return a.since < b.since; });
    std::vector<Opsets> joined;
    for (const Opsets& range : opsets) {
      if (!joined.empty() && joined.back().until + 1 == range.since) {
        joined.back().until = range.until;
      } else {
        joined.push_back(range);
      }
    }
    if (!text.empty()) text += "; ";
    text += name;
    const bool contrib = name.find('.') != std::string::npos;
    for (const Opsets& range : joined)
      if (!contrib) text += fmt::format(" {}", Spell(range));
  }
  return text.empty() ? "emitted for other operators" : text;
}

std::string Row(const Operator& op, std::span<const OperatorsOf> beside_cpu) {
  std::string devices = op.Has(Trait::kControl) ? "CPU (runs its sub-graphs)" : "CPU";
  for (const OperatorsOf& device : beside_cpu) {
    if (!op.Has(Trait::kControl) && std::ranges::binary_search(device.operators, op.name))
      devices += fmt::format(", {}", device.title);
  }
  return fmt::format("| {} | {} | {} | {} | {} |\n", op.name, SourcesOf(op), op.types, devices,
                     op.refused);
}

}  // namespace

std::string OperatorsPage(std::span<const OperatorsOf> beside_cpu) {
  std::string titles;
  for (const OperatorsOf& device : beside_cpu)
    titles += fmt::format("{}{}", titles.empty() ? "" : ", ", device.title);
  std::string page = fmt::format(
      "# Operators\n\n"
      "Rendered from the operator table by `fettle-docs`; do not edit. Each row is a canonical\n"
      "operator: the newest form that ONNX has of it. Older opsets and operators of other domains\n"
      "are raised to it when a model is imported; `7+` means opset 7 and all later ones up to 28.\n"
      "Every operator runs on the CPU, at worst through its scalar reference; `fettle bench\n"
      "--profile` says which kernel ran. {}: some kernel takes the operator in some form; "
      "`--log\n"
      "info` says why others run on the CPU. Strings, sequences, optionals and complex numbers are "
      "not\n"
      "supported by any operator.\n\n"
      "| operator | imported from (opset) | element types | devices | refused, and why |\n"
      "|---|---|---|---|---|\n",
      titles);
  std::vector<const Operator*> ops(AllOps().begin(), AllOps().end());
  std::sort(ops.begin(), ops.end(),
            [](const Operator* a, const Operator* b) { return a->name < b->name; });
  for (const Operator* op : ops) page += Row(*op, beside_cpu);
  page += fmt::format("\n{} operators.\n", ops.size());
  return page;
}

}  // namespace fettle::ops
