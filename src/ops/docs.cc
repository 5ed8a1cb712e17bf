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
      "The operators that Fettle runs, with the opsets and element types that it takes. `fettle\n"
      "inspect MODEL` names all operators of a model that are not here. No operator takes "
      "strings,\n"
      "optionals or complex numbers, and sequences are taken apart when a model is imported:\n"
      "SplitToSequence, SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase, "
      "SequenceAt,\n"
      "SequenceLength and ConcatFromSequence become Slice, Gather, Concat and the like. Positions\n"
      "must be constants there, but for those in parts of extent 1; sequences do not go into or "
      "out\n"
      "of models, branches and loops.\n\n"
      "Each row is the newest form of an operator. Older opsets and operators of other domains\n"
      "become this form when a model is imported; `7+` means opset 7 and all later ones up to 28.\n"
      "The CPU runs every operator, some by their scalar reference alone; `fettle bench "
      "--profile`\n"
      "says which kernel ran. {}: some kernel there takes the operator in some form; `--log info`\n"
      "says why others run on the CPU. `fettle-docs` prints this page; do not edit it.\n\n"
      "An index out of range ends a run on the CPU, with the index in the message. Kernels of\n"
      "accelerators, which cannot refuse while they run, take the nearest element in its place\n"
      "and leave out what would be written there;\n"
      "nodes whose indices are constants and out of range run on the CPU, which refuses them.\n\n"
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
