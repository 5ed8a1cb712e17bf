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

std::string DeviceText(const DeviceSet& devices, const Limits& limits) {
  std::string device = devices.fingerprint();
  const std::string policy = limits.policy(devices);
  if (!policy.empty()) device += "|" + policy;
  return device;
}

/// What `made` has otherwise than `asked`.
std::string Difference(const Limits& made, const Limits& asked) {
  std::string text;
  const auto add = [&](std::string_view part) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ", ", part);
  };
  if (made.precision != asked.precision)
    add(fmt::format("precision {}", PrecisionName(made.precision)));
  if (made.threads != asked.threads)
    add(fmt::format("{} thread{}", made.threads, made.threads == 1 ? "" : "s"));
  if (made.memory != asked.memory)
    add(made.memory == MemoryKind::kHost     ? "memory auto"
        : made.memory == MemoryKind::kBuffer ? "memory buffer"
                                             : "memory image");
  if (made.accelerator_only != asked.accelerator_only)
    add(made.accelerator_only ? "the device alone" : "the CPU beside the device");
  return text;
}

/// `limits` as keys tell them apart.
std::vector<Limits> Variants(const Limits& limits) {
  std::vector<Limits> variants;
  for (const Precision precision :
       {limits.precision, Precision::kHigh, Precision::kNormal, Precision::kLow}) {
    for (const MemoryKind memory :
         {limits.memory, MemoryKind::kHost, MemoryKind::kBuffer, MemoryKind::kImage2d}) {
      for (const bool alone : {limits.accelerator_only, !limits.accelerator_only}) {
        Limits& variant = variants.emplace_back(limits);
        variant.precision = precision;
        variant.memory = memory;
        variant.accelerator_only = alone;
      }
    }
  }
  return variants;
}

bool ReadHex(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

DecisionKey KeyOf(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits) {
  return {StructureOf(graph), HashText(ir::Print(graph)), DeviceText(devices, limits),
          limits.threads};
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

std::string MissedSettings(const PlanBook& book, const ir::Graph& graph, const DeviceSet& devices,
                           const Limits& limits) {
  if (!book.FindSimilar(KeyIn(book, graph, devices, limits)).empty()) return {};
  const uint64_t structure = StructureOf(graph);
  const std::vector<BookEntry> entries = book.entries();
  for (Limits& variant : Variants(limits)) {
    const std::string device = DeviceText(devices, variant);
    for (const BookEntry& entry : entries) {
      if (entry.key.structure != structure || entry.key.device != device) continue;
      variant.threads = entry.key.threads;
      return Difference(variant, limits);
    }
  }
  return {};
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
