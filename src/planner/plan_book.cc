#include "planner/plan_book.h"

#include <fmt/format.h>

#include <charconv>

#include "base/hash.h"
#include "ir/text.h"

namespace fettle::planner {
namespace {

uint64_t StructureOf(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node& node : graph.nodes()) {
    text += node.op;
    for (ir::ValueId id : node.inputs) fmt::format_to(std::back_inserter(text), " {}", id);
    text += " >";
    for (ir::ValueId id : node.outputs) fmt::format_to(std::back_inserter(text), " {}", id);
    text += '\n';
  }
  for (const ir::Value& value : graph.values())
    fmt::format_to(std::back_inserter(text), "{}{} ", DTypeName(value.dtype),
                   value.is_constant() ? "c" : "");
  return HashText(text);
}

bool ReadHex(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

DecisionKey KeyOf(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits) {
  std::string device = devices.fingerprint();
  const std::string policy = limits.policy(devices);
  if (!policy.empty()) device += "|" + policy;
  return {StructureOf(graph), HashText(ir::Print(graph)), std::move(device), limits.threads};
}

DecisionKey KeyIn(const PlanBook& book, const ir::Graph& graph, const DeviceSet& devices,
                  const Limits& limits) {
  DecisionKey key = KeyOf(graph, devices, limits);
  if (devices.beside_cpu().empty() || limits.accelerator_only || !book.FindSimilar(key).empty())
    return key;
  Limits alone = limits;
  alone.accelerator_only = true;
  DecisionKey other = KeyOf(graph, devices, alone);
  return book.FindSimilar(other).empty() ? key : other;
}

std::string PrintKey(const DecisionKey& key) {
  return fmt::format("{:016x} {:016x} {} {}", key.structure, key.graph, key.threads, key.device);
}

Result<DecisionKey> ParseKey(std::string_view text) {
  const std::string_view whole = text;
  std::string_view words[3];
  for (std::string_view& word : words) {
    const size_t end = text.find(' ');
    word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  DecisionKey key;
  const auto [end, error] =
      std::from_chars(words[2].data(), words[2].data() + words[2].size(), key.threads);
  if (!ReadHex(words[0], key.structure) || !ReadHex(words[1], key.graph) || error != std::errc() ||
      end != words[2].data() + words[2].size() || key.threads < 1) {
    return Error(StatusCode::kCorrupt,
                 "decision key: expected 'HASH HASH THREADS DEVICE', got '{}'",
                 whole.substr(0, 80));
  }
  key.device = text;
  return key;
}

void PlanBook::Put(BookEntry entry) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const BookEntry& old) { return old.key == entry.key; });
  entries_.push_back(std::move(entry));
}

std::string PlanBook::Find(const DecisionKey& key) const {
  const std::lock_guard lock(mutex_);
  for (const BookEntry& entry : entries_)
    if (entry.key == key) return entry.text;
  return {};
}

std::string PlanBook::FindSimilar(const DecisionKey& key) const {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->key.structure == key.structure && entry->key.device == key.device &&
        entry->key.threads == key.threads) {
      return entry->text;
    }
  }
  return {};
}

std::vector<BookEntry> PlanBook::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

}  // namespace fettle::planner
